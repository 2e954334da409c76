"""The command line into options. Imports nothing heavy: an editor waits for it."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias

from fim_lsp import __version__
from server_bridge.machine.addresses import USUAL_PORTS, is_loopback_host
from server_bridge.weights.table import NAMES

RAW = argparse.RawDescriptionHelpFormatter
_Option: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]

DESCRIPTION = """\
A language server for local, private, multi-line code completion.

Editors start it with --stdio. Everything else is for terminals and scripts.
"""

EPILOG = """\
Settings come from the editor, from config.toml in the user's config folder and from .fim-lsp.toml
in the project. Completions come from the llama.cpp server at fim.backend.url, else from one on this
machine's usual ports, else from the model in fim.backend.model, else from the bundled one, which is
tiny: for real work run
  fim-lsp setup                     (asks before it downloads a model)
"""

SERVE_EPILOG = """\
Starts llama-server with the options that suit this machine and completions (docs/backends.md lists
them), restarts it if it dies, and ends it at Ctrl-C. Without llama-server, the embedded engine
serves (llama.cpp in this package). The server listens on this machine only, and asks for a key that
your editors find by themselves: a new one for each run, or the one in the environment variable
LLAMA_API_KEY.
  fim-lsp serve                the model you have (fim-lsp setup gets one)
  fim-lsp serve --model big.gguf --draft small.gguf
"""

HTTP_EPILOG = """\
Point a plugin that asks a llama.cpp server at this port: its requests get the same prompts, ring
and filters as those of an editor with the language server (docs/http.md):
  fim-lsp http --port 8013 --root ~/src/shop
It listens on 127.0.0.1 only and answers no web page. Ctrl-C ends it.
"""

COMPLETE_EPILOG = """\
Lines and columns count from 1; without a column, the position is the end of the line.
  fim-lsp complete app.py:12
  fim-lsp complete app.py:12:9 --open models.py --json
  fim-lsp complete app.py:12 --url http://127.0.0.1:8012
  fim-lsp complete app.py:12 --why            where it comes from, or why there is none

Exit code: 0 a suggestion was printed, 1 there is none, 2 something is wrong.
"""


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
            message = f"there is no command {unknown[1]!r}{_guess(unknown[1], COMMANDS)}"
        super().error(message)


def _guess(word: str, there_are: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 (an editor does not wait for it)

    closest = get_close_matches(word, there_are, n=1)
    return f" (did you mean {closest[0]}?)" if closest else ""


def parser() -> argparse.ArgumentParser:
    """Return all commands with their options."""
    parser = Parser("fim-lsp", description=DESCRIPTION, epilog=EPILOG, formatter_class=RAW)
    parser.add_argument("--version", action="version", version=f"fim-lsp {__version__}")
    server = parser.add_argument_group("the server")
    server.add_argument("--stdio", action="store_true", help="serve one editor on stdin and stdout")
    server.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address,
        help="serve one editor on a port of this machine",
    )  # fmt: skip
    server.add_argument(
        "--token-file", metavar="FILE", type=_token,
        help="with --tcp: the secret that the editor must know (or set FIM_LSP_TOKEN)",
    )  # fmt: skip
    server.add_argument("--log-file", metavar="FILE", help="write the log there instead of stderr")
    server.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        command.add(commands, name)
    return parser


class _Command(NamedTuple):
    """A command: what it is for, in a list and alone; of *exclusive* options one may be given."""

    help: str
    description: str
    options: tuple[_Option, ...] = ()
    exclusive: tuple[_Option, ...] = ()
    epilog: str | None = None

    def add(self, commands: Any, name: str) -> None:
        """Add it; argparse has no public name for what `add_subparsers` returns."""
        parser = commands.add_parser(
            name, help=self.help, description=self.description, epilog=self.epilog,
            formatter_class=RAW if self.epilog else argparse.HelpFormatter,
        )  # fmt: skip
        group = parser.add_mutually_exclusive_group() if self.exclusive else parser
        for names, how in self.exclusive:
            group.add_argument(*names, **how)
        for names, how in self.options:
            parser.add_argument(*names, **how)


def _option(*names: str, **how: Any) -> _Option:
    return names, how


def _flag(name: str, purpose: str) -> _Option:
    return _option(name, action="store_true", help=purpose)


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


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, also `[::1]:PORT`; a host of this machine."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, for example 127.0.0.1:2087")
    host = host.strip("[]").lower() or "127.0.0.1"
    if not is_loopback_host(host) or host.endswith(".localhost"):
        raise argparse.ArgumentTypeError(
            f"{host!r} can be reached from other machines: take 127.0.0.1:{port}, and from another "
            f"machine ssh -L {port}:127.0.0.1:{port} to this one"
        )
    return host, int(port)


# fmt: off
_URL = _option("--url", help="the model server to ask instead of the configured one")

COMMANDS = {
    "demo": _Command(
        "see it work: a script typed into a sample project, no set-up",
        "Type a script into a sample project, with the model that the embedded engine runs, and "
        "show what an editor would: ghost text, the tokens evaluated for each key, the time it "
        "took. It needs no set-up and leaves nothing behind."),
    "setup": _Command(
        "get a real model, or choose where completions come from",
        "Choose where completions come from, by questions or by flags, write config.toml, and "
        "check the result.",
        (_flag("--yes", "download without asking"),
         _option("--mirror", metavar="URL",
             help="a mirror of huggingface.co to download from (or HF_ENDPOINT)"),
         _flag("--openai", "the server at --url is OpenAI-style, not llama.cpp's own"),
         _option("--model", metavar="FILE|NAME", help="a GGUF file; with --url a name"),
         _option("--key-env", metavar="VARIABLE", help="the variable with the server's key")),
        (_option("--get", metavar="NAME", nargs="?", const="auto", choices=("auto", *NAMES),
             help=f"a model from the table in docs/models.md ({', '.join(NAMES)}), "
             "or what fits this machine"),
         _flag("--auto",
             "a llama.cpp server on this machine, else the embedded engine"),
         _option("--url", help="a server's address"))),
    "models": _Command(
        "the models on this machine: how large, how fast, which answers",
        "List the models on this machine: how large they are, how fast here, and which one "
        "answers."),
    "serve": _Command(
        "a model server with the best flags for this machine",
        "Start a model server for this machine and keep it running.",
        (_option("--model", metavar="FILE", help="a GGUF file instead of the one you have"),
         _option("--draft", metavar="FILE", help="a small model of the same family that drafts"),
         _flag("--no-speculation", "no drafts by n-grams (the text is the same)"),
         _option("--port", type=_port, default=USUAL_PORTS[0],
             help="where to listen (default: %(default)s)"),
         _option("--program", metavar="PATH", default="llama-server",
             help="llama-server's name or path"),
         _flag("--dry-run", "print the command line instead of running it")),
        epilog=SERVE_EPILOG),
    "doctor": _Command(
        "check backend, model and settings; says what to change",
        "Check the installation, the settings, the model server and its speed, and say what to "
        "change. Exit code: 0 if completions work, 1 if they cannot work as set up.",
        (_flag("--json", "the findings as JSON"),
         _option("--root", metavar="FOLDER", type=_folder, default=Path(),
             help="the project whose .fim-lsp.toml applies (default: the current folder)"))),
    "complete": _Command(
        "one completion, as an editor would get it",
        "Print the completion at one place of a file, as an editor would get it.",
        (_option("position", metavar="FILE:LINE[:COL]"),
         _option("--open", metavar="FILE", nargs="+", default=[], help="other files that are open"),
         _URL,
         _flag("--why", "say where a suggestion comes from, while typing and by hand, "
             "or why there is none"),
         _flag("--json", "suggestions, tokens and times as JSON")),
        epilog=COMPLETE_EPILOG),
    "http": _Command(
        "completions for llama.vim, minuet, Zed …, and a page to look at",
        "Answer other programs' completion clients at a port of this machine, "
        "and show a page there.",
        (_option("--port", type=_port, default=0,
             help="where to listen (default: a port that is free)"),
         _option("--root", metavar="DIR", type=_folder, default=Path(),
             help="your project (default: here)"),
         _option("--token-file", metavar="FILE", type=_token,
             help="the key that clients must know "
             "(or set FIM_LSP_TOKEN; default: the key that fim-lsp keeps for you)"),
         _URL),
        epilog=HTTP_EPILOG),
    "forget": _Command(
        "delete what is kept from one session to the next",
        "Delete what is kept from one session to the next: model states, the ring, cursor "
        "positions. Models and settings stay."),
}
# fmt: on
