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
        ("ring.chunks = 8", f"ring.chunks = 8\n[backend]\n{SET}"),
        ("[ring]\nchunks = 8\n", f"[ring]\nchunks = 8\n\n[backend]\n{SET}"),
        ("[ring]\n[backend]\nkind='auto'\n", f"[ring]\n[backend]\nkind='auto'\n{SET}"),
        ("[backend] # mine\n\n[ring]\n", f"[backend] # mine\n{SET}\n[ring]\n"),
        ('backend.kind = "auto"\n[ring]\n', f'backend.kind = "auto"\nbackend.{SET}[ring]\n'),
        ('[backend]\nurl = "a"  # why\n', '[backend]\nurl = "http://127.0.0.1:8012"  # why\n'),
        ("[backend]\nurl='a#b'\n", f"[backend]\n{SET.replace(' = ', '=')}"),
        ('[backend]\r\nurl = "a"\r\n', f"[backend]\r\n{SET[:-1]}\r\n"),
        ("\ufeff", f"\ufeff[backend]\n{SET}"),
        ("\ufeff[ring]\nchunks = 8\n", f"\ufeff[ring]\nchunks = 8\n\n[backend]\n{SET}"),
        ('\ufeff[backend]\r\nurl = "a"\r\n', f"\ufeff[backend]\r\n{SET[:-1]}\r\n"),
        ('backend.url = "a\\"b"', f"backend.{SET[:-1]}"),
        ('"backend.url" = "a"\n', '"backend.url" = "http://127.0.0.1:8012"\n'),
        ("[fim.ring]\nchunks = 8\n", f"[fim.ring]\nchunks = 8\n\n[fim.backend]\n{SET}"),
        # the key that is there is changed, in whatever form, and there is no second one
        ('[fim.ring]\n[backend]\nurl = "a"\n', f"[fim.ring]\n[backend]\n{SET}"),
        ('[backend]\nurl = "a"\n[fim.ring]\n', f"[backend]\n{SET}[fim.ring]\n"),
        ('[fim.backend]\nurl = "a"\n[ring]\n', f"[fim.backend]\n{SET}[ring]\n"),
        ('["fim.backend"]\nurl = "a"\n', f'["fim.backend"]\n{SET}'),
        ('[FIM.backend]\nurl = "a"\n', f"[FIM.backend]\n{SET}"),
        ('"fim.backend.url" = "a"\n', '"fim.backend.url" = "http://127.0.0.1:8012"\n'),
        (
            '[backend]\nurl = "a"\n[fim.backend]\nurl = "b"\nkind = "auto"\n',
            f'[backend]\n{SET}[fim.backend]\nkind = "auto"\n',
        ),
        ('backend = {url = "a"}\n', f"backend = {{{SET[:-1]}}}\n"),
        ('[backend]\nurl = """\na"""\n', f"[backend]\n{SET}"),
        ('note = """\n[backend]\n"""\n', f'note = """\n[backend]\n"""\n\n[backend]\n{SET}'),
        ("# [backend]\n", f"# [backend]\n\n[backend]\n{SET}"),
        (
            '[[backend.endpoints]]\nurl = "a"\n',
            f'[backend]\n{SET}[[backend.endpoints]]\nurl = "a"\n',
        ),
    ],
)
def test_a_setting_is_written_into_its_section(before: str, after: str) -> None:
    """Into its section if there is one, over its old value if there is one; comments stay."""
    assert set_values(before, "backend", URL) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('[backend]\nurl = "a"\nkind = "auto"\n', '[backend]\nkind = "auto"\n'),
        ("[ring]\nchunks = 8\n", "[ring]\nchunks = 8\n"),
    ],
)
def test_an_empty_value_is_removed(before: str, after: str) -> None:
    """A setting without a value leaves no line."""
    assert set_values(before, "backend", {"url": ""}) == after


@pytest.mark.parametrize(
    "text", ["[backend\n", "backend = 3\n", "\ufeff\ufeff", "[[backend]]\nkind = 'auto'\n"]
)
def test_a_file_that_cannot_be_changed_is_left_alone(text: str) -> None:
    """Better no change than a wrong one."""
    with pytest.raises(CannotEdit):
        set_values(text, "backend", URL)


@given(
    st.dictionaries(st.sampled_from(["url", "kind", "model", "template"]), st.text(), min_size=1),
    st.dictionaries(st.sampled_from(["url", "kind", "model"]), st.text()),
    st.sampled_from(["", "[ring]\nchunks = 8\n", 'backend.caFile = "x"\n', "[fim.ring]\n"]),
)
def test_written_settings_are_read_back(
    values: dict[str, str], others: dict[str, str], start: str
) -> None:
    """TOML reads any value as it was set, twice in a row, or the text is refused."""
    try:
        text = set_values(set_values(start, "backend", others), "backend", values)
    except CannotEdit:
        return
    found = tomllib.loads(text)
    found = found.get("fim", found).get("backend", {})
    wanted = {key: value for key, value in {**others, **values}.items() if value}
    assert {key: value for key, value in found.items() if key != "caFile"} == wanted
