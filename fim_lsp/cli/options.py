"""The command line into options. Imports nothing heavy: an editor waits for it."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from fim_lsp import __version__
from server_bridge.machine.addresses import USUAL_PORTS, is_loopback_host
from server_bridge.weights.table import NAMES

RAW = argparse.RawDescriptionHelpFormatter
Commands: TypeAlias = Any  # argparse has no public name for what `add_subparsers` returns

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
serves (llama.cpp in this package). The server listens on this machine only, and asks for a key that your
editors find by themselves: a new one for each run, or the one in the environment variable LLAMA_API_KEY.
  fim-lsp serve                                    the model you have; asks if there is only the bundled one
  fim-lsp serve --get                              a model that fits this machine; asks before it downloads
  fim-lsp serve --get qwen-7b                      that one
  fim-lsp serve --model big.gguf --draft small.gguf
"""

HTTP_EPILOG = """\
Point a plugin that asks a llama.cpp server at this port: its requests get the same prompts, ring and filters
as those of an editor with the language server (docs/http.md):
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

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        """Return the namespace, and nothing that is not known."""
        namespace, unknown = super().parse_known_args(*given, **named)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """Print *message* with what may be meant, and exit."""
        if unknown := re.match(r"unrecognized arguments: (-[^\s=]*)", message):
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
        "--tcp",
        metavar="HOST:PORT",
        type=_address,
        help="serve one editor on a port of this machine",
    )
    server.add_argument(
        "--token-file", metavar="FILE", type=_token,
        help="with --tcp: the secret that the editor must know (or set FIM_LSP_TOKEN)",
    )  # fmt: skip
    server.add_argument("--log-file", metavar="FILE", help="write the log there instead of stderr")
    server.add_argument("--log-level", choices=("debug", "info", "warning", "error"))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for add in COMMANDS.values():
        add(commands)
    return parser


def _add_complete(commands: Commands) -> None:
    complete = commands.add_parser(
        "complete",
        help="one completion, as an editor would get it",
        description="Print the completion at one place of a file, as an editor would get it.",
        epilog=COMPLETE_EPILOG,
        formatter_class=RAW,
    )
    complete.add_argument("position", metavar="FILE:LINE[:COL]")
    complete.add_argument(
        "--open", metavar="FILE", nargs="+", default=[], help="other files that are open"
    )
    complete.add_argument("--url", help="the model server to ask instead of the configured one")
    complete.add_argument(
        "--why",
        action="store_true",
        help="say where a suggestion comes from, while typing and by hand, or why there is none",
    )
    complete.add_argument(
        "--json", action="store_true", help="suggestions, tokens and times as JSON"
    )


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo",
        help="watch it work: a session typed into a sample project, no set-up",
        description="Type a session into a sample project, with the model that the embedded engine runs, and show what an editor would: "
        "ghost text, the tokens evaluated for each key, the time it took. It needs no set-up and leaves nothing behind.",
    )
    demo.add_argument("--fast", action="store_true", help="type faster than a person")


def _add_http(commands: Commands) -> None:
    http = commands.add_parser(
        "http",
        help="completions for llama.vim, minuet, Zed …, and a page to look at",
        description="Answer other programs' completion clients at a port of this machine, and show a page there.",
        epilog=HTTP_EPILOG,
        formatter_class=RAW,
    )
    http.add_argument(
        "--port", type=_port, default=0, help="where to listen (default: a port that is free)"
    )
    http.add_argument(
        "--root", metavar="DIR", type=Path, default=Path(), help="your project (default: here)"
    )
    http.add_argument(
        "--token-file", metavar="FILE", type=_token,
        help="the key that clients must know (or set FIM_LSP_TOKEN; default: the key that fim-lsp keeps for you)",
    )  # fmt: skip
    http.add_argument("--url", help="the model server to ask instead of the configured one")


def _add_forget(commands: Commands) -> None:
    commands.add_parser(
        "forget",
        help="delete what is kept from one session to the next",
        description="Delete what is kept from one session to the next: model states, the ring, cursor positions. "
        "Models and settings stay.",
    )


def _add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check backend, model and settings; says what to change",
        description="Check the installation, the settings, the model server and its speed, and say what to change. "
        "Exit code: 0 if completions work, 1 if they cannot work as set up.",
    )
    doctor.add_argument("--json", action="store_true", help="the findings as JSON")
    doctor.add_argument(
        "--root", metavar="FOLDER", type=Path, default=Path(),
        help="the project whose .fim-lsp.toml applies (default: the current folder)",
    )  # fmt: skip


def _add_serve(commands: Commands) -> None:
    serve = commands.add_parser(
        "serve",
        help="a model server with the best flags for this machine",
        description="Start a model server for this machine and keep it running.",
        epilog=SERVE_EPILOG,
        formatter_class=RAW,
    )
    which = serve.add_mutually_exclusive_group()
    which.add_argument("--model", metavar="FILE", help="a GGUF file instead of the one you have")
    _add_get(which, serve)
    serve.add_argument(
        "--draft", metavar="FILE", help="a small model of the same family that drafts"
    )
    serve.add_argument(
        "--no-speculation", action="store_true", help="no drafts by n-grams (the text is the same)"
    )
    serve.add_argument(
        "--port", type=_port, default=USUAL_PORTS[0], help="where to listen (default: %(default)s)"
    )
    serve.add_argument(
        "--program", metavar="PATH", default="llama-server", help="llama-server's name or path"
    )
    serve.add_argument(
        "--dry-run", action="store_true", help="print the command line instead of running it"
    )


def _add_get(which: Commands, command: Commands) -> None:
    """
    Add the options that get a model: *which* one, in place of others, and the rest of *command*'s
    options for it.
    """
    which.add_argument(
        "--get", metavar="NAME", nargs="?", const="auto", choices=("auto", *NAMES),
        help=f"a model from the table in docs/models.md ({', '.join(NAMES)}), or what fits this machine",
    )  # fmt: skip
    command.add_argument("--yes", action="store_true", help="download without asking")
    command.add_argument(
        "--mirror", metavar="URL",
        help="a mirror of huggingface.co to download from (or HF_ENDPOINT)",
    )  # fmt: skip


def _add_setup(commands: Commands) -> None:
    setup = commands.add_parser(
        "setup",
        help="get a real model, or choose where completions come from",
        description="Choose where completions come from, by questions or by flags, write config.toml, and "
        "check the result.",
    )
    which = setup.add_mutually_exclusive_group()
    _add_get(which, setup)
    which.add_argument(
        "--auto",
        action="store_true",
        help="a llama.cpp server on this machine, else the embedded engine",
    )
    which.add_argument("--url", help="a server's address")
    setup.add_argument(
        "--openai",
        action="store_true",
        help="the server at --url is OpenAI-style, not llama.cpp's own",
    )
    setup.add_argument("--model", metavar="FILE|NAME", help="a GGUF file; with --url a name")
    setup.add_argument("--key-env", metavar="VARIABLE", help="the variable with the server's key")


def _add_models(commands: Commands) -> None:
    commands.add_parser(
        "models",
        help="the models on this machine: how large, how fast, which answers",
        description="List the models on this machine: how large they are, how fast here, and which one answers.",
    )


COMMANDS = {
    "demo": _add_demo,
    "setup": _add_setup,
    "models": _add_models,
    "serve": _add_serve,
    "doctor": _add_doctor,
    "complete": _add_complete,
    "http": _add_http,
    "forget": _add_forget,
}


def _port(text: str) -> int:
    """Return a port to listen at."""
    if not text.isdecimal() or not 0 < int(text) <= 65535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: choose one from 1 to 65535")
    return int(text)


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
