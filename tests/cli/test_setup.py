"""`fim-lsp setup`: answers or flags into config.toml, and what the doctor says of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fim_lsp import __main__, model_server
from fim_lsp.cli.setup import ask_user
from fim_lsp.settings.files import user_file
from tests.models import BUNDLED

NOTHING = {"kind": "", "url": "", "model": "", "apiKeyEnv": ""}
URL = "http://127.0.0.1:8012"
TOY = str(BUNDLED)


@pytest.mark.parametrize(
    ("answers", "values"),
    [
        ([""], {}),
        (["x", "2"], {}),
        (["3", "", "/nonexistent.gguf", __file__, TOY], {"model": TOY}),
        (["4", URL, "", "", ""], {"url": URL}),
        (
            ["4", "", "foo bar", "127.0.0.1:8012", f" {URL} ", "y", "", "KEY"],
            {"url": URL, "apiKeyEnv": "KEY"},
        ),
        (["4", URL, "y", "", "sk-12 34", "KEY"], {"url": URL, "apiKeyEnv": "KEY"}),
        (["4", URL, "n", "qwen", ""], {"url": URL, "kind": "openai", "model": "qwen"}),
    ],
)
def test_answers_become_settings(answers: list[str], values: Mapping[str, str]) -> None:
    """Enter takes the usual choice, an answer that cannot work is asked for again, the rest keeps its default."""
    left = iter(answers)
    _, found = ask_user(lambda _: next(left))
    assert found == {**NOTHING, **values}
    assert next(left, None) is None


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's file, in a place of its own; the doctor is not called."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(__main__, "_doctor", lambda given: 7 if not given.json else 8)
    monkeypatch.setattr(model_server, "getter", lambda _: lambda name: f"/got/{name}")
    return user_file()


@pytest.mark.parametrize(
    ("arguments", "before", "after"),
    [
        (["--url", URL], None, f'[backend]\nurl = "{URL}"\n'),
        (["--url", URL, "--key-env", "KEY"], "", f'[backend]\nurl = "{URL}"\napiKeyEnv = "KEY"\n'),
        (["--auto"], None, None),
        (["--auto"], '# mine\n[backend]\nurl = "a"\n[ring]\n', "# mine\n[backend]\n[ring]\n"),
        (["--model", TOY], "", f'[backend]\nmodel = "{TOY}"\n'),
        (["--get", "qwen-1.5b"], "", '[backend]\nmodel = "/got/qwen-1.5b"\n'),
        (["--qwen"], "", '[backend]\nmodel = "/got/auto"\n'),
        (
            ["--url", URL, "--openai", "--model", "qwen"],
            '[backend]\nkind = "embedded" # for now\n',
            f'[backend]\nkind = "openai" # for now\nurl = "{URL}"\nmodel = "qwen"\n',
        ),
    ],
)
def test_flags_write_the_file_and_the_exit_code_is_doctors(
    config: Path, arguments: list[str], before: str | None, after: str | None
) -> None:
    """Other settings in the file stay; doctor runs at the end."""
    if before is not None:
        config.parent.mkdir(parents=True)
        config.write_text(before)
    assert __main__.main(["setup", *arguments]) == 7
    assert (config.read_text() if config.exists() else None) == after


@pytest.mark.parametrize(
    ("arguments", "before", "code", "says"),
    [
        ([], "", 2, "use flags"),
        (["--model", "/nonexistent.gguf"], "", 1, "cannot be read: No such file"),
        (["--model", __file__], "", 1, "is not a GGUF file"),
        (["--url", "foo bar"], "", 1, "'foo bar' is not a valid address"),
        (["--url", URL, "--key-env", "sk-1234"], "", 1, "the key itself stays out"),
        (["--auto"], "[backend", 1, "it cannot be read"),
        (["--url", URL], '[[backend]]\nkind = "auto"\n', 1, f'backend.url = "{URL}"'),
    ],
)
def test_a_file_that_cannot_be_written_stays_as_it_was(
    config: Path, capsys: pytest.CaptureFixture[str],
    arguments: list[str], before: str, code: int, says: str,
) -> None:  # fmt: skip
    """No terminal to ask in, a broken file, or one whose section is no table: a message says so."""
    config.parent.mkdir(parents=True)
    config.write_text(before)
    assert __main__.main(["setup", *arguments]) == code
    assert says in capsys.readouterr().out
    assert config.read_text() == before
