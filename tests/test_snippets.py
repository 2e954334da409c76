"""Settings and commands of the pages: the server and the command line take them."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.cli import options
from fim_lsp.settings import files
from fim_lsp.settings.merge import SCHEMA, Layer, merge_layers
from server_bridge.fim.tokens import find_by_name
from tests.llama_server import PROGRAM
from tests.snippets import ROOT, SNIPPETS, STATEMENT, Snippet, completed, each
from tests.test_extension import EXTENSION

# Blocks in these are diagrams, and these languages have a test of their own.
DIAGRAMS = ("README.md", "docs/ARCHITECTURE.md")
TESTED = {
    "sh", "toml", "json", "jsonc", "python",  # here
    "lua", "vim", "elisp", "kak",  # tests/editors/*_snippets.py
    "ini", "xml",  # tests/test_offline.py
    "js",  # tests/editors/codemirror.py
}  # fmt: skip


INI = ("docs/offline.md", "docs/editors/geany.md")  # Geany was run by hand


def test_a_block_has_a_language_with_a_test() -> None:
    """Else no test would run a new one; in backticks, too, an editor's setting is known as one."""
    for snippet in SNIPPETS:
        where = f"{snippet.page}:{snippet.line}: {snippet.text}"
        if snippet.is_block:
            assert snippet.language in TESTED or snippet.page in DIAGRAMS, where
            assert snippet.language not in {"ini", "xml"} or snippet.page in INI, where
        elif snippet.page.startswith(
            ("docs/editors", "docs/quieter", "docs/configuration", "editors")
        ):
            assert snippet.language or not STATEMENT.search(snippet.text), where


def check_settings(raw: Mapping[str, Any]) -> None:
    """The server takes all of *raw*, by names that it has."""
    config, problems = merge_layers([Layer("page", raw)])
    assert problems == ()
    assert {*config.completion.quiet_in} <= {"comment", "string"}
    for key in flattened(raw):
        name = key.removeprefix("fim.")
        assert any(f"{name}.".startswith(f"{known}.") for known in SCHEMA), key


def flattened(raw: Mapping[str, Any], before: str = "") -> Iterator[str]:
    """Yield the dotted names of all values in *raw*."""
    for key, value in raw.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{before}{key}.")
        else:
            yield before + key


@each("toml")
def test_the_server_reads_a_settings_file(snippet: Snippet, tmp_path, monkeypatch) -> None:
    """As `config.toml`, without a complaint; a setting alone is in its section or named in full."""
    text = snippet.text if re.match(r"\[|fim\.", snippet.text) else f"[backend]\n{snippet.text}"
    file = tmp_path / "config.toml"
    file.write_text(text, "utf-8")
    monkeypatch.setattr(files, "user_file", lambda: file)
    assert files.read(())[1] == ()


def objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield *value* and all that is in it, where it is an object."""
    if isinstance(value, dict):
        yield value
    for inner in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from objects(inner)


@each("json")
def test_json_is_whole_and_what_is_ours_in_it_is_known(snippet: Snippet) -> None:
    """The server's and the extension's settings, arguments, and how Zed calls a format."""
    text = completed(snippet, "").replace('"token": ""', '"token": "x"')
    for found in objects(json.loads(text if text.startswith("{") else f"{{{text}}}")):
        named = {key: value for key, value in found.items() if re.match(r"fim\.\w", key)}
        check_settings(named)
        if snippet.page.endswith("vscode.md") or snippet.page.startswith("editors/vscode"):
            assert {*named} <= {*EXTENSION}
        if isinstance(found.get("settings"), dict):
            check_settings(found["settings"])
        if isinstance(found.get("initializationOptions"), dict):
            assert [*found["initializationOptions"]["fim"]] == ["token"]
        if found.get("command") == "fim-lsp":
            assert options.parser().parse_args(found["args"]).stdio
        if "prompt_format" in found:
            assert find_by_name(found["prompt_format"])


@each("jsonc")
def test_a_message_is_balanced(snippet: Snippet) -> None:
    """Names stand for values there; without comments its brackets and quotes are whole."""
    text = re.sub(r"\s//.*", "", snippet.text)
    assert text.count('"') % 2 == 0
    assert [text.count(each) for each in "{[("] == [text.count(each) for each in "}])"]


@each("python")
def test_an_example_is_python(snippet: Snippet) -> None:
    """It is whole."""
    ast.parse(snippet.text)


PLACEHOLDERS = {
    "FILE:LINE": "app.py:12", "~/src/shop": ".", "HOST:PORT": "127.0.0.1:8012", "[NAME]": "",
    "…": "1",
}  # fmt: skip


def lines_of(snippet: Snippet) -> Iterator[list[str]]:
    """Yield the commands of a shell snippet, as words, without the variables before them."""
    for text in re.sub(r"\\\n", " ", snippet.text).splitlines():
        for command in re.split(r"&&|\||;", re.sub(r"\s#.*|^#.*", "", text)):
            for placeholder, value in PLACEHOLDERS.items():
                command = command.replace(placeholder, value)  # noqa: PLW2901
            words = shlex.split(command)
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if words:
                yield words


@each("sh", blocks=True)
def test_a_shell_takes_a_block(snippet: Snippet) -> None:
    """It complains of no line."""
    argv = ["/bin/sh", "-n"]
    done = subprocess.run(argv, input=snippet.text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@each("sh")
def test_commands_of_this_repository_take_their_arguments(snippet: Snippet) -> None:
    """`fim-lsp` by its parser; scripts and modules that exist, by options that their source has."""
    for program, *arguments in lines_of(snippet):
        name = Path(program).name
        if name == "fim-lsp":
            check_arguments(arguments)
        elif name == "sh" and not arguments[0].startswith("-"):
            assert (ROOT / arguments[0]).is_file(), arguments
        elif name.startswith("python") and arguments[1].startswith("benchmarks"):
            check_module(*arguments[1:])


def check_arguments(arguments: list[str]) -> None:
    """The command line takes *arguments*, where the last option may wait for its value."""
    options_and_value = [arguments, [*arguments, "x"]]
    for given in options_and_value if arguments[-1].startswith("-") else options_and_value[:1]:
        try:
            options.parser().parse_args(given)
        except SystemExit:
            continue
        return
    raise AssertionError(arguments)


def check_module(module: str, *arguments: str) -> None:
    """There is such a module of the benchmarks, and its source names the options."""
    path = ROOT.joinpath(*module.split("."))
    sources = [*path.glob("*.py")] or [path.with_suffix(".py")]
    text = "".join(source.read_text("utf-8") for source in sources)
    for option in arguments:
        assert not option.startswith("--") or f'"{option}"' in text, (module, option)


@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server")
def test_llama_server_knows_the_options() -> None:
    """Of each command line of its own on the pages."""
    argv = [PROGRAM, "--help"]
    said = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    known = {*re.findall(r"(?<![\w-])--?[a-z][\w-]*", said)}
    lines = [words for s in SNIPPETS if s.language == "sh" for words in lines_of(s)]
    used = {word for words in lines if words[0] == "llama-server" for word in words[1:]}
    assert {word for word in used if re.match("--?[a-z]", word)} - known == set()
