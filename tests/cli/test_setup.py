"""`fim-lsp setup`: answers or flags into config.toml, and what the doctor says of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from fim_lsp import __main__, models_command
from fim_lsp.cli.setup import ask_user
from fim_lsp.settings import files
from fim_lsp.settings.files import user_file
from tests.llama_server import free_port
from tests.models import BUNDLED, SPECIALS, write_model

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


def _try(
    really: Callable[..., tuple[str, str]], open_backend: object, values: Mapping[str, str]
) -> tuple[str, str]:
    """Try what is there to be tried."""
    is_known = URL in values.values() or TOY in values.values()
    return ("", "") if is_known else really(open_backend, values)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's file, in a place of its own; the doctor is not called."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(__main__, "_doctor", lambda given: 7 if not given.json else 8)
    monkeypatch.setattr(models_command, "try_backend", partial(_try, models_command.try_backend))
    monkeypatch.setattr(models_command, "get_model", lambda given: f"/got/{given.get}")
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
        (["--get"], "", '[backend]\nmodel = "/got/auto"\n'),
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
    ("arguments", "says"),
    [
        (["--model", TOY, "--get"], "--model and --get contradict each other"),
        (["--model", TOY, "--auto"], "--model and --auto contradict each other"),
        (["--model", TOY, "--openai"], "--openai only counts with --url"),
        (["--model", TOY, "--key-env", "KEY"], "--key-env only counts with --url"),
        (["--model", TOY, "--mirror", URL], "--mirror only counts with --get"),
        (["--model", TOY, "--yes"], "--yes only counts with --get"),
        (["--get", "--key-env", "KEY"], "--key-env only counts with --url"),
        (["--auto", "--openai"], "--openai only counts with --url"),
        (["--url", URL, "--mirror", URL], "--mirror only counts with --get"),
        (["--openai"], "--openai only counts with --url"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(
    config: Path, capsys, arguments: list[str], says: str
) -> None:
    """No flag is ignored: exit code 2, one sentence, and nothing is written."""
    assert __main__.main(["setup", *arguments]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert (printed.out, config.exists()) == ("", False)


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
        (["--url", URL], "backend = 3\n", 1, "it cannot be changed automatically"),
    ],
)
def test_a_file_that_cannot_be_written_stays_as_it_was(
    config: Path, capsys, arguments: list[str], before: str, code: int, says: str
) -> None:
    """No terminal to ask in, a broken file, or one whose section is no table: a message says so."""
    config.parent.mkdir(parents=True)
    config.write_text(before)
    assert __main__.main(["setup", *arguments]) == code
    assert says in capsys.readouterr().out
    assert config.read_text() == before


@pytest.mark.parametrize(
    ("n_bytes", "says"),
    [
        (100_000, "its end is missing, or this llama.cpp does not know its kind"),
        (4, "its end is missing"),
    ],
)
def test_a_model_that_does_not_load_replaces_none_that_does(
    config: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, n_bytes: int, says: str
) -> None:
    """It is tried before the settings are written, and what is wrong with it is said."""
    config.parent.mkdir(parents=True)
    config.write_text(before := f'[backend]\nmodel = "{TOY}"\n')
    path = tmp_path / "mine.gguf"
    path.write_bytes(BUNDLED.read_bytes()[:n_bytes])
    assert __main__.main(["setup", "--model", str(path)]) == 1
    printed = capsys.readouterr().out
    assert says in printed
    assert "Nothing was changed." in printed
    assert config.read_text() == before


def test_a_server_that_does_not_answer_replaces_nothing(config: Path, capsys) -> None:
    """The message has its address."""
    url = f"http://127.0.0.1:{free_port()}"
    assert __main__.main(["setup", "--url", url]) == 1
    assert f"cannot connect to {url}" in capsys.readouterr().out
    assert not config.exists()


def test_a_model_that_cannot_fill_in_is_said_to_be_second_best(config: Path, capsys, tmp_path):
    """It works, so it is written."""
    path = write_model(tmp_path / "chat.gguf", specials=[""] * len(SPECIALS))
    assert __main__.main(["setup", "--model", str(path)]) == 7
    printed = capsys.readouterr().out
    assert printed.index("second best") < printed.index("Written")
    assert str(path) in config.read_text()


def test_what_does_not_count_is_an_error(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code would go to the old server although the new one stands in the file."""
    config.parent.mkdir(parents=True)
    config.write_text("[fim.ring]\nchunks = 8\n[[fim.backend.endpoints]]\nurl = 'http://old'\n")
    assert __main__.main(["setup", "--url", URL]) == 1
    assert "fim.backend.endpoints counts in place of what was written" in capsys.readouterr().out


@pytest.mark.parametrize("others", ["[fim.ring]\n", "[ring]\n[fim.nextEdit]\n"])
@pytest.mark.parametrize("old", ["[backend]\nurl = 'http://old'\n", "backend.url = 'http://old'\n"])
@pytest.mark.parametrize("arguments", [["--url", URL], ["--model", TOY], ["--auto"]])
def test_no_code_goes_to_the_old_server(config: Path, arguments: list[str], old: str, others: str):
    """Wherever its address stands in the file, with `fim` before it or without."""
    config.parent.mkdir(parents=True)
    config.write_text(old + others if old[0] == "b" else others + old)
    assert __main__.main(["setup", *arguments]) == 7
    backend = files.read(())[0].backend
    assert (backend.url, backend.model) == (
        URL if "--url" in arguments else "",
        TOY if "--model" in arguments else "",
    )


@pytest.mark.promise("odd-input")
def test_a_file_that_is_a_link_stays_one(config: Path, tmp_path: Path) -> None:
    """As those who keep their dotfiles elsewhere have it."""
    theirs = tmp_path / "dotfiles.toml"
    theirs.write_text("")
    config.parent.mkdir(parents=True)
    config.symlink_to(theirs)
    assert __main__.main(["setup", "--url", URL]) == 7
    assert config.is_symlink()
    assert theirs.read_text() == f'[backend]\nurl = "{URL}"\n'
