"""
`fim-lsp setup`: a few answers, or flags, into the user's config.toml; a model is downloaded if it
is wanted.

Writes the four settings that say where completions come from and leaves all others as they are. A
server or model that the user names is tried first: an answer that cannot work is not written.
`doctor` runs at the end.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from fim_lsp.cli.terminal import Screen, fit, screen_on
from fim_lsp.session.state import state_file
from fim_lsp.settings import files
from fim_lsp.settings.keys import flatten
from server_bridge.machine.addresses import port_of


def forget(cache: Path, *, has_server: bool) -> int:
    """
    Delete, and print how much; returns the exit code. *has_server*: the user has one that may keep
    files of its own.
    """
    n_bytes = state_file.forget(cache)
    files.client_key_file().unlink(missing_ok=True)
    screen = screen_on(sys.stdout)
    if left := [*state_file.list_kept(cache)]:
        screen.line(f"{len(left)} files could not be deleted: {left[0]}, …")
        return 1
    deleted = f"Deleted {n_bytes / 1e6:.1f} MB" if n_bytes else "Nothing was kept"
    screen.line(f"{deleted} in {cache}.")
    if has_server:
        screen.line("A llama-server with --slot-save-path keeps files of its own, fim-lsp-*.bin.")
    return 0


BYTE_ORDER_MARK = "\ufeff"  # editors on Windows begin a file with it


class CannotEdit(Exception):
    """The text is no TOML, or cannot be changed; the message has the lines to write by hand."""


def set_values(text: str, section: str, values: Mapping[str, str]) -> str:
    """
    Return *text* with *values* set in *section*; "" removes a setting.

    Raises CannotEdit, also where *text* is no TOML.
    """
    mark = text[: text.startswith(BYTE_ORDER_MARK)]
    text = text.removeprefix(mark)
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CannotEdit(f"it cannot be read: {error}") from error
    before = _read_values(tables)
    wanted = {f"{section}.{key}": value for key, value in values.items()}
    after = {key: value for key, value in {**before, **wanted}.items() if value != ""}
    for is_beside in (True, False):
        with suppress(TOMLKitError, ValueError):  # not TOML any more, or a table in an inline one
            changed = _edit(text, section, wanted, beside=is_beside)
            if _read_values(tomllib.loads(changed)) == after:
                return mark + changed
    lines = "".join(f"\n    {key} = {json.dumps(value)}" for key, value in wanted.items())
    raise CannotEdit(f"it cannot be changed automatically; write into it{lines}")


def _edit(text: str, section: str, wanted: Mapping[str, str], *, beside: bool) -> str:
    """Set each key once, where it stands or in its section; a new one is made *beside* `fim`'s."""
    document = tomlkit.parse(text)
    for key, value in wanted.items():
        places = [place for place in _list_places(document) if place[0] == key]
        if value and places:
            _, table, name = places.pop(0)
            table[name] = value
        elif value:
            table = next((t[n] for k, t, n in _list_places(document) if k == section), None)
            if table is None:
                fim = document.get("fim")
                outer = fim if beside and isinstance(fim, dict) else document
                table = outer.setdefault(section, tomlkit.table())
            if not isinstance(table, dict):
                raise TOMLKitError(f"{section} is no table")
            table[key.removeprefix(f"{section}.")] = value
        for _, table, name in places:
            table.pop(name)
    return tomlkit.dumps(document)


def _list_places(table: Any, prefix: str = "") -> list[tuple[str, Any, str]]:
    """Return the keys of a table and of those in it: in one form, with where each stands."""
    places = []
    for name, value in table.items():
        [(key, _)] = flatten({f"{prefix}{name}": 0}, ours=True) or [("", 0)]
        places.append((key, table, name))
        if isinstance(value, dict):
            places += _list_places(value, f"{prefix}{name}.")
    return places


def _read_values(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings by key, without those that are ""."""
    return {key: value for key, value in flatten(tables, ours=True) if value != ""}


Ask = Callable[[str], str]
Get = Callable[[], str]  # the path of a model that was downloaded, "" for none
Values = Mapping[str, str]
Try = Callable[[Values], tuple[str, str]]  # why it does not work; why a model is second best

MODEL = "1"
FOUND = "2"
FILE = "3"
ADDRESS = "4"
QUESTION = """\
Where do completions come from?
  1  a model for this machine: downloaded once, run by the embedded engine
  2  a llama.cpp server on this machine, which fim-lsp finds; until there is one, the bundled toy \
model
  3  a GGUF file
  4  a server, by its address
1, 2, 3 or 4 [1]: """
NEXT = {
    MODEL: "Your editors use it from now on, and share one engine. With llama.cpp and a GPU, "
    "larger models are fast, too: fim-lsp setup --get NAME, then fim-lsp serve",
    FOUND: "To get a model and start a server with it: fim-lsp setup --get, then fim-lsp serve",
    FILE: "The embedded engine runs it, one for all your editors; fim-lsp serve is faster with "
    "llama.cpp and a GPU.",
    ADDRESS: "",
}
NO_TERMINAL = """\
fim-lsp: there is no terminal to ask in; use flags:
  fim-lsp setup --get [NAME] --yes
  fim-lsp setup --auto
  fim-lsp setup --model FILE.gguf
  fim-lsp setup --url URL [--openai [--model NAME]] [--key-env VARIABLE]"""


def run(arguments: Namespace, path: Path, get: Get, try_out: Try) -> int:
    """Ask what the flags leave open, and write *path*; returns the exit code."""
    screen = screen_on(sys.stdout)
    choice, values = read_flags(arguments)
    if not choice and not sys.stdin.isatty():
        screen.say(NO_TERMINAL)
        return 2
    if not choice:
        choice, values = ask_user(lambda question: input(fit(question, screen.width)))
    if choice == MODEL:
        values = _values(model=get())
        if not values["model"]:
            screen.line("Nothing was changed.")
            return 1
    elif problem := choice != FOUND and (_problem(choice, values) or _try(values, try_out, screen)):
        screen.say(f"fim-lsp: {problem}")
        screen.line("Nothing was changed.")
        return 1
    problem = ""
    try:
        _write(path, values, screen)
        if files.read(())[0].backend.endpoints:
            problem = "fim.backend.endpoints counts in place of what was written: remove it"
    except (OSError, ValueError, CannotEdit) as error:
        problem = str(error)
    if problem:
        screen.say(f"fim-lsp: {path}: {problem}")
        return 1
    if NEXT[choice]:
        screen.say(NEXT[choice])
    return 0


def read_flags(arguments: Namespace) -> tuple[str, Values]:
    """Return the choice that the flags make, "" for none, and the settings of `fim.backend`."""
    if arguments.url:
        kind = "openai" if arguments.openai else ""
        return ADDRESS, _values(arguments.url, kind, arguments.model or "", arguments.key_env or "")
    if arguments.get:
        return MODEL, _values()
    if arguments.model:
        return FILE, _values(model=_file(arguments.model))
    return (FOUND if arguments.auto else ""), _values()


def ask_user(ask: Ask) -> tuple[str, Values]:
    """
    Return the user's choice and its settings; a question is repeated until its answer can work.
    """
    choice = ""
    while choice not in NEXT:
        choice = ask(QUESTION).strip() or MODEL
    if choice == FILE:
        return choice, _values(model=_file(_answer(ask, "The file: ", wrong_file)))
    if choice != ADDRESS:
        return choice, _values()
    url = _answer(ask, "The server's address, like http://127.0.0.1:8012: ", wrong_address)
    kind = "openai" if ask("Is it llama.cpp's own server? [Y/n] ").strip()[:1] in {*"nN"} else ""
    model = ask("The model's name, if it has several []: ").strip()
    question = "The environment variable that holds its API key, if it needs one []: "
    return choice, _values(url, kind, model, _answer(ask, question, wrong_variable))


def wrong_file(name: str) -> str:
    """Return why *name* is no model's file, "" if it may be one."""
    try:
        with Path(_file(name)).open("rb") as file:
            is_gguf = file.read(4) == b"GGUF"
    except OSError as error:
        return f"{name or 'it'} cannot be read: {error.strerror}"
    return "" if is_gguf else f"{name} is not a GGUF file"


def wrong_address(url: str) -> str:
    """Return why *url* is no server's address, "" if it may be one."""
    if re.match(r"https?://\S+$", url, re.IGNORECASE) and port_of(url):
        return ""
    return f"{url!r} is not a valid address: it should look like http://127.0.0.1:8012"


def wrong_variable(name: str) -> str:
    """
    Return why *name* names no environment variable, "" for none; a name that may be the key itself
    is not repeated.
    """
    if re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)?", name):
        return ""
    return "that is not a valid variable name: the key itself stays out of the settings"


def _problem(choice: str, values: Values) -> str:
    """Return what is wrong with the settings that the flags gave."""
    if choice == FILE:
        return wrong_file(values["model"])
    if choice == ADDRESS:
        return wrong_address(values["url"]) or wrong_variable(values["apiKeyEnv"])
    return ""


def _try(values: Values, try_out: Try, screen: Screen) -> str:
    """Return why the file or the server that is named does not work; says if it is second best."""
    screen.status(f"trying {values['url'] or values['model']} …")
    problem, note = try_out(values)
    screen.status("")
    if note:
        screen.say(f"This model is second best: {note}.")
    return problem


def _values(url: str = "", kind: str = "", model: str = "", key_env: str = "") -> Values:
    """Return all four settings; "" resets one to its default."""
    return {"kind": kind, "url": url, "model": model, "apiKeyEnv": key_env}


def _answer(ask: Ask, question: str, wrong: Callable[[str], str]) -> str:
    """Return an answer that is not *wrong*; the next question begins with why the last one was."""
    answer = ask(question).strip()
    while problem := wrong(answer):
        answer = ask(f"{problem}\n{question}").strip()
    return answer


def _file(name: str) -> str:
    return str(Path.cwd() / Path(name).expanduser())


def _write(path: Path, values: Values, screen: Screen) -> None:
    before = path.read_bytes().decode() if path.exists() else ""
    after = set_values(before, "backend", values)
    if after == before:
        screen.line(f"{path} has these settings already." if before else "These are the defaults.")
        return
    _replace(path, after)
    screen.line(f"Written to {path}.")


def _replace(path: Path, text: str) -> None:
    """
    Put *text* into the file, or the one that it links to; a crash leaves the old one or the new
    one.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_bytes((text or "\n").encode())  # an empty file may be one that is being written
    if path.exists():
        beside.chmod(path.stat().st_mode)
    os.replace(beside, path)  # noqa: PTH105 (it replaces on Windows, too)
