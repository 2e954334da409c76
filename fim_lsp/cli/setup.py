"""
`fim-lsp setup`: a few answers, or flags, into the user's config.toml.

Writes the four settings that say where completions come from and leaves all others as they are.
Nothing is started or downloaded here; the command to start a server is printed, and `doctor` runs at
the end.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from fim_lsp.cli.terminal import Screen, screen_on
from fim_lsp.cli.toml_edit import CannotEdit, edited

Ask = Callable[[str], str]
Values = Mapping[str, str]

FOUND, FILE, ADDRESS = "1", "2", "3"
QUESTION = """\
Where do completions come from?
  1  a llama.cpp server on this machine, found by itself; the tiny bundled model until there is one
  2  a GGUF file
  3  a server, by its address
1, 2 or 3 [1]: """
NEXT = {
    FOUND: "Start a server for real work with: fim-lsp serve --qwen   (asks before it downloads)",
    FILE: "The engine inside this package runs it; llama-server is faster: fim-lsp serve",
    ADDRESS: "",
}
NO_TERMINAL = """\
fim-lsp: there is no terminal to ask in; use flags:
  fim-lsp setup --auto
  fim-lsp setup --model FILE.gguf
  fim-lsp setup --url URL [--openai [--model NAME]] [--key-env VARIABLE]"""


def run(given: Namespace, path: Path) -> int:
    """Ask what the flags leave open, and write *path*; returns the exit code."""
    screen = screen_on(sys.stdout)
    choice, values = said(given)
    if not choice and not sys.stdin.isatty():
        screen.line(NO_TERMINAL)
        return 2
    if not choice:
        choice, values = asked(input)
    try:
        _write(path, values, screen)
    except (OSError, ValueError, CannotEdit) as error:
        screen.line(f"fim-lsp: {path}: {error}")
        return 1
    if NEXT[choice]:
        screen.line(NEXT[choice])
    return 0


def said(given: Namespace) -> tuple[str, Values]:
    """The choice that the flags make, "" for none, and the settings of `fim.backend`."""
    if given.url:
        kind = "openai" if given.openai else ""
        return ADDRESS, _values(given.url, kind, given.model or "", given.key_env or "")
    if given.model:
        return FILE, _values(model=_file(given.model))
    return (FOUND if given.auto else ""), _values()


def asked(ask: Ask) -> tuple[str, Values]:
    """The user's choice and its settings; a question is repeated until its answer is valid."""
    choice = ""
    while choice not in NEXT:
        choice = ask(QUESTION).strip() or FOUND
    if choice == FILE:
        return choice, _values(model=_file(_needed(ask, "The file: ")))
    if choice == FOUND:
        return choice, _values()
    url = _needed(ask, "Its address, like http://127.0.0.1:8012: ")
    kind = "openai" if ask("Is it llama.cpp's own server? [Y/n] ").strip()[:1] in {*"nN"} else ""
    model = ask("The model's name, if it has several []: ").strip()
    key = ask("The environment variable that holds its API key, if it wants one []: ").strip()
    return choice, _values(url, kind, model, key)


def _values(url: str = "", kind: str = "", model: str = "", key_env: str = "") -> Values:
    """All four settings; "" resets one to its default."""
    return {"kind": kind, "url": url, "model": model, "apiKeyEnv": key_env}


def _needed(ask: Ask, question: str) -> str:
    while not (answer := ask(question).strip()):
        pass
    return answer


def _file(name: str) -> str:
    return str(Path(name).expanduser().resolve())


def _write(path: Path, values: Values, screen: Screen) -> None:
    """Put *values* into the file; a crash leaves the old one or the new one."""
    before = path.read_text("utf-8") if path.exists() else ""
    after = edited(before, "backend", values)
    if after == before:
        screen.line(f"{path} has these settings already." if before else "These are the defaults.")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(after, "utf-8")
    if before:
        beside.chmod(path.stat().st_mode)
    os.replace(beside, path)  # noqa: PTH105 (it replaces on Windows, too)
    screen.line(f"Written to {path}.")
