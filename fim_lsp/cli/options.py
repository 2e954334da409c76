"""The command line into options. Imports nothing heavy: an editor waits for it."""

from __future__ import annotations

import argparse
import functools
import os
import pkgutil
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from fim_lsp import __version__
from server_bridge.weights.table import NAMES

RAW = argparse.RawDescriptionHelpFormatter


class Parser(argparse.ArgumentParser):
    """A parser that says which option may be meant, and complains as the command that was given."""

    def parse_known_args(self, *arguments: Any, **named: Any) -> Any:
        """Return the namespace, and nothing that is not known."""
        namespace, unknown = super().parse_known_args(*arguments, **named)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Print *message* with what may be meant, and exit."""
        if unknown := re.match(r"unrecognized arguments: ([^\s=]*)", message):
            message += _guess(unknown[1], self._option_string_actions)
        elif unknown := re.match(r"argument COMMAND: invalid choice: '([^']*)'", message):
            message = (
                f"there is no command {unknown[1]!r}{_guess(unknown[1], load_texts()['commands'])}"
            )
        super().error(message)


# Flags, each with the flag that it says nothing without: --model names a file, or with --url a
# model of that server.
_BELONGS = {"openai": "--url", "key_env": "--url", "yes": "--get", "mirror": "--get"}


def find_contradiction(arguments: argparse.Namespace) -> str:
    """Return why the flags cannot all count, "" where they can."""
    given = {f"--{name}" for name in ("get", "auto", "url") if getattr(arguments, name)}
    if arguments.model and given - {"--url"}:
        return f"--model and {given.pop()} contradict each other: leave one out"
    asks = not given and not arguments.model
    for name, other in _BELONGS.items():
        if getattr(arguments, name) and other not in given and not (asks and other == "--get"):
            return f"--{name.replace('_', '-')} only counts with {other}: add it, or leave both out"
    return ""


def _guess(word: str, there_are: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 (an editor does not wait for it)

    closest = get_close_matches(word, there_are, n=1)
    return f" (did you mean {closest[0]}?)" if closest else ""


def parser(*, for_editor: bool = False) -> argparse.ArgumentParser:
    """Return all commands with their options; without them *for_editor*, which waits meanwhile."""
    texts = {} if for_editor else load_texts()
    parser = Parser("fim-lsp", formatter_class=RAW, **texts.get("fim-lsp", {}))
    parser.add_argument("--version", action="version", version=f"fim-lsp {__version__}")
    server = parser.add_argument_group("the server")
    server.add_argument("--stdio", action="store_true", help="serve one editor on stdin and stdout")
    server.add_argument("--log-file", metavar="FILE", help="write the log there instead of stderr")
    server.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    if for_editor:
        parser.set_defaults(command=None)
        return parser
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, about in texts["commands"].items():
        _add_command(subparsers, name, about)
    return parser


@functools.cache
def load_texts() -> dict[str, Any]:
    """Return what there is to say of the program and of each of its commands."""
    return tomllib.loads((pkgutil.get_data(__package__ or "", "commands.toml") or b"").decode())


def _add_command(commands: Any, name: str, about: dict[str, Any]) -> None:
    texts = {key: about.get(key) for key in ("help", "description", "epilog")}
    form = RAW if texts["epilog"] else argparse.HelpFormatter
    parser = commands.add_parser(name, **texts, formatter_class=form)
    options = about.get("options", ())
    is_choice = any("exclusive" in option for option in options)
    one_of = parser.add_mutually_exclusive_group() if is_choice else parser
    for option in options:
        how = {**option, **{key: VALUES[option[key]] for key in NAMED if key in option}}
        group = one_of if how.pop("exclusive", False) else parser
        group.add_argument(how.pop("name"), **how)


def _port(text: str) -> int:
    """Return a port to listen at."""
    if not text.isdecimal() or not 0 < int(text) <= 65535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: choose one from 1 to 65535")
    return int(text)


def _folder(text: str) -> Path:
    """Return a folder that is there."""
    if not (folder := Path(text)).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return folder


def _token(text: str) -> str:
    """Return the secret in a file."""
    try:
        is_open = os.name == "posix" and Path(text).stat().st_mode & 0o077
        token = Path(text).read_text("utf-8").strip()
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error}") from error
    if is_open:
        raise argparse.ArgumentTypeError(f"{text!r} is open to other users: chmod 600 {text}")
    if not token:
        raise argparse.ArgumentTypeError(f"{text!r} is empty: write a secret into it")
    return token


# fmt: off


# The meanings of the values in `commands.toml` that are not what argparse takes.
NAMED = ("type", "choices")
VALUES = {"port": _port, "folder": _folder, "token": _token, "models": ("auto", *NAMES)}
