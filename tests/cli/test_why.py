"""`fim-lsp complete --why`: the rule, the place, the gate or the model, from the real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from fim_lsp.__main__ import main
from fim_lsp.suggest import reasons
from tests.cli.test_commands import STORE

TYPING, BY_HAND = "while typing", "by hand"


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return a place and settings into the report's lines by their titles, and the exit code."""
    config = tmp_path / "home" / "fim-lsp" / "config.toml"
    config.parent.mkdir(parents=True)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def ask(place: str, settings: str = "", *more: str) -> tuple[dict[str, str], int]:
        config.write_text(f'backend.kind = "embedded"\n{settings}')
        code = main(["complete", place, "--why", *more])
        _, *rows = capsys.readouterr().out.splitlines()
        return {row[2:15].strip(): row[16:] for row in rows}, code

    return ask


def test_a_suggestion_has_a_source_and_a_toy_is_called_one(report, tmp_path: Path) -> None:
    """The model that made it, and where it runs."""
    text = STORE.read_text("utf-8")
    line = text[: text.index("self.owner = owner\n")].count("\n") + 1
    (tmp_path / "shop.py").write_text(text.replace("self.owner = owner\n", "self.owner = \n"))
    found, code = report(f"shop.py:{line}")
    assert "by fim-tiny-q8_0.gguf (inside this package)" in found[BY_HAND]
    assert "fim-lsp setup" in found["the model"]
    assert code == 0


def test_silence_has_a_reason(report, tmp_path: Path) -> None:
    """Privacy counts while typing and by hand."""
    (tmp_path / ".env").write_text("total = width * height\n")
    found, _ = report(".env:1")
    assert "the file is private" in found[TYPING]
    assert "the file is private" in found[BY_HAND]


@pytest.mark.parametrize(("by_hand", "hint"), [(False, True), (True, False)])
def test_asking_by_hand_is_named_where_it_may_help(*, by_hand: bool, hint: bool) -> None:
    """Not to a user who did that."""
    said = reasons.report("", "parses", "it broke off", by_hand=by_hand)
    assert ("ask by hand" in said) == hint
