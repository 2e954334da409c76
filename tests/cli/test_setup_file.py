"""A config.toml with other settings, and all else as it was."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.cli.setup import CannotEdit, set_values

URL = {"url": "http://127.0.0.1:8012"}
SET = 'url = "http://127.0.0.1:8012"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"[backend]\n{SET}"),
        ("[ring]\nchunks = 8\n", f"[ring]\nchunks = 8\n\n[backend]\n{SET}"),
        ('backend.kind = "auto"\n[ring]\n', f'backend.kind = "auto"\nbackend.{SET}[ring]\n'),
        ('[backend]\nurl = "a"  # why\n', '[backend]\nurl = "http://127.0.0.1:8012"  # why\n'),
        ('[backend]\r\nurl = "a"\r\n', f"[backend]\r\n{SET[:-1]}\r\n"),
        ("\ufeff[ring]\nchunks = 8\n", f"\ufeff[ring]\nchunks = 8\n\n[backend]\n{SET}"),
        ('"backend.url" = "a"\n', '"backend.url" = "http://127.0.0.1:8012"\n'),
        ("[fim.ring]\nchunks = 8\n", f"[fim.ring]\nchunks = 8\n\n[fim.backend]\n{SET}"),
        # the key that is there is changed, in whatever form, and there is no second one
        ('[fim.ring]\n[backend]\nurl = "a"\n', f"[fim.ring]\n[backend]\n{SET}"),
        ('[FIM.backend]\nurl = "a"\n', f"[FIM.backend]\n{SET}"),
        (
            '[backend]\nurl = "a"\n[fim.backend]\nurl = "b"\nkind = "auto"\n',
            f'[backend]\n{SET}[fim.backend]\nkind = "auto"\n',
        ),
        ('backend = {url = "a"}\n', f"backend = {{{SET[:-1]}}}\n"),
        ('[backend]\nurl = """\na"""\n', f"[backend]\n{SET}"),
        (
            '[[backend.endpoints]]\nurl = "a"\n',
            f'[backend]\n{SET}[[backend.endpoints]]\nurl = "a"\n',
        ),
        # a table beside these would take in the keys that follow, or cannot stand there
        (
            "fim.ring.chunks = 8\nfim.completion.auto = false\n",
            f"fim.ring.chunks = 8\nfim.completion.auto = false\n\n[backend]\n{SET}",
        ),
        ("fim = {ring = {chunks = 8}}\n", f"fim = {{ring = {{chunks = 8}}}}\n\n[backend]\n{SET}"),
        ("fim = 3\n", f"fim = 3\n\n[backend]\n{SET}"),
    ],
)
def test_a_setting_is_written_into_its_section(before: str, after: str) -> None:
    """Into its section if there is one, over its old value if there is one; comments stay."""
    assert set_values(before, "backend", URL) == after


@given(
    st.dictionaries(st.sampled_from(["url", "kind", "model", "template"]), st.text(), min_size=1),
    st.dictionaries(st.sampled_from(["url", "kind", "model"]), st.text()),
    st.sampled_from(
        ["", "[ring]\nchunks = 8\n", 'backend.caFile = "x"\n', "[fim.ring]\n", "fim = {}\n"]
    ),
)
def test_written_settings_are_read_back(values: dict[str, str], others: dict[str, str], start: str):
    """TOML reads any value as it was set, twice in a row, or the text is refused."""
    try:
        text = set_values(set_values(start, "backend", others), "backend", values)
    except CannotEdit:
        return
    found = tomllib.loads(text)
    found = {**found, **found.get("fim", {})}.get("backend", {})
    wanted = {key: value for key, value in {**others, **values}.items() if value}
    assert {key: value for key, value in found.items() if key != "caFile"} == wanted
