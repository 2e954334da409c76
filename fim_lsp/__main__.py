"""
The command line, and the composition root: the one place where editor side and model side are joined.

Everything heavy is imported by the command that needs it: an editor starts `--stdio` with every
session and waits for the answer to `initialize`.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fim_lsp import __version__
from fim_lsp.config import BackendConfig, Config
from server_bridge.protocol import Backend, BackendUnusable

if TYPE_CHECKING:
    from server_bridge.bridge import BackendSettings
    from server_bridge.programs import Program

QWEN_SIZES = ("1.5b", "3b", "7b", "30b")  # see `launch.PRESETS`
INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C

DESCRIPTION = """\
A language server for local, private, multi-line code completion.

Editors start it with --stdio. Everything else is for people and scripts:
  fim-lsp demo                      watch it work, with the bundled model, no set-up
  fim-lsp serve                     a model server for this machine, started as it is best
  fim-lsp setup                     choose where completions come from
  fim-lsp doctor                    check backend, model and settings; says what to change
  fim-lsp complete app.py:12        one completion, as an editor would get it
"""

EPILOG = """\
Settings come from the editor, from config.toml in the user's config folder and from .fim-lsp.toml
in the project. Completions come from the llama.cpp server at fim.backend.url, else from one on this
machine's usual ports, else from the bundled model, which is tiny: for real work run
  fim-lsp serve --qwen              (asks before llama.cpp downloads the model)
"""

SERVE_EPILOG = """\
Starts llama-server with what this machine has and completions need (docs/backends.md says what and
why), starts it again when it dies, and ends it with Ctrl-C. Without llama-server it is the engine
inside this package. It listens on this machine only; a key, if it is to ask for one, is read from
the environment variable LLAMA_API_KEY.
  fim-lsp serve                                    the bundled model: tiny, nothing to download
  fim-lsp serve --qwen                             Qwen Coder, as large as fits this machine
  fim-lsp serve --model big.gguf --draft small.gguf
"""

COMPLETE_EPILOG = """\
Lines and columns count from 1; without a column the end of the line is meant.
  fim-lsp complete app.py:12
  fim-lsp complete app.py:12:9 --open models.py --json
  fim-lsp complete app.py:12 --url http://127.0.0.1:8012

Exit code: 0 a suggestion was printed, 1 there is none, 2 something is wrong.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is not None:
        return _quietly(given)
    if given.stdio or given.tcp:
        return _serve(given)
    parser.print_help()
    return 2


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "fim-lsp", description=DESCRIPTION, epilog=EPILOG, formatter_class=raw
    )
    parser.add_argument("--version", action="version", version=f"fim-lsp {__version__}")
    server = parser.add_argument_group("the server")
    server.add_argument("--stdio", action="store_true", help="serve one editor on stdin and stdout")
    server.add_argument(
        "--tcp", metavar="HOST:PORT", type=_address, help="serve one editor on a port"
    )
    server.add_argument("--log-file", metavar="FILE", help="write the log there instead of stderr")
    server.add_argument("--log-level", choices=("debug", "info", "warning", "error"))

    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    complete = commands.add_parser(
        "complete",
        help="print one completion",
        description="Print the completion at one place of a file, as an editor would get it.",
        epilog=COMPLETE_EPILOG,
        formatter_class=raw,
    )
    complete.add_argument("place", metavar="FILE:LINE[:COL]")
    complete.add_argument(
        "--open", metavar="FILE", nargs="+", default=[], help="files to know, too"
    )
    complete.add_argument("--url", help="the model server to ask instead of the configured one")
    complete.add_argument(
        "--json", action="store_true", help="suggestions, tokens and times as JSON"
    )

    demo = commands.add_parser("demo", help="watch a session typed with the bundled model")
    demo.add_argument("--fast", action="store_true", help="do not type at a person's pace")

    _add_serve(commands)
    _add_setup(commands)
    commands.add_parser("forget", help="delete what is kept from one session to the next")

    doctor = commands.add_parser("doctor", help="check backend, model and settings")
    doctor.add_argument("--json", action="store_true", help="the findings as JSON")
    doctor.add_argument(
        "--layouts", metavar="PATH", nargs="*", type=Path,
        help="compare prompt layouts on your own files with your own model",
    )  # fmt: skip
    return parser


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="start a model server for this machine and keep it running",
        description="Start a model server for this machine and keep it running.",
        epilog=SERVE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = serve.add_mutually_exclusive_group()
    which.add_argument(
        "--model",
        metavar="FILE",
        help="a GGUF file instead of fim.backend.model or the bundled one",
    )
    which.add_argument(
        "--qwen", metavar="SIZE", nargs="?", const="auto", choices=("auto", *QWEN_SIZES),
        help=f"Qwen Coder, {', '.join(QWEN_SIZES)}, or as large as fits; llama.cpp downloads it",
    )  # fmt: skip
    serve.add_argument("--yes", action="store_true", help="download without asking")
    serve.add_argument(
        "--draft", metavar="FILE", help="a small model of the same family that drafts"
    )
    serve.add_argument(
        "--no-speculation", action="store_true", help="no drafts by n-grams (the text is the same)"
    )
    serve.add_argument("--port", type=_port, default=8012, help="where to listen (default: 8012)")
    serve.add_argument(
        "--program", metavar="PATH", default="llama-server", help="llama-server's name or path"
    )
    serve.add_argument(
        "--dry-run", action="store_true", help="print the command line instead of running it"
    )


def _add_setup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    setup = commands.add_parser(
        "setup",
        help="choose where completions come from",
        description="Choose where completions come from: asks, unless a flag says it, and writes "
        "config.toml. The doctor has the last word.",
    )
    setup.add_argument("--auto", action="store_true", help="a server on this machine, or our own")
    setup.add_argument("--url", help="a server's address")
    setup.add_argument("--openai", action="store_true", help="it is not llama.cpp's own")
    setup.add_argument("--model", metavar="FILE|NAME", help="a GGUF file; with --url a name")
    setup.add_argument("--key-env", metavar="VARIABLE", help="the variable with the server's key")


def _port(text: str) -> int:
    """A port to listen at."""
    if not text.isdecimal() or not 0 < int(text) <= 65535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is no port: take one from 1 to 65535")
    return int(text)


def _address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, also `[::1]:PORT`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT, for example 127.0.0.1:2087")
    return host.strip("[]") or "127.0.0.1", int(port)


def _quietly(given: argparse.Namespace) -> int:
    """Run a command; ended by Ctrl-C or by its reader (`| head`), it goes without a traceback."""
    try:
        return _command(given)
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, or Ctrl-D at a question
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes at exit
        return INTERRUPTED


def _command(given: argparse.Namespace) -> int:
    from fim_lsp.cli import terminal

    terminal.survive_any_encoding()
    if given.command == "complete":
        from fim_lsp.cli import complete

        return complete.run(given)
    if given.command == "demo":
        from fim_lsp.cli import demo

        return demo.run(given)
    if given.command == "forget":
        from fim_lsp.cli import forget

        return forget.run(_cache())
    if given.command == "serve":
        return _serve_model(given)
    if given.command == "setup":
        return _setup(given)
    return _doctor(given)


def _setup(given: argparse.Namespace) -> int:
    from fim_lsp import settings_files
    from fim_lsp.cli import setup

    if code := setup.run(given, settings_files.user_file()):
        return code
    return _doctor(argparse.Namespace(json=False, layouts=None))


def _doctor(given: argparse.Namespace) -> int:
    from fim_lsp import settings, settings_files
    from fim_lsp.cli import doctor

    files = settings_files.found((Path.cwd(),))
    config, problems = settings.configured(files.layers)
    if given.layouts is not None:
        given.layouts = given.layouts or [Path.cwd()]
        return doctor.run_layouts(given, open_backend(config))
    return doctor.run(given, config, (*files.problems, *problems), open_backend(config))


def _serve_model(given: argparse.Namespace) -> int:
    from fim_lsp.cli import serve
    from server_bridge import parent

    try:
        program = _program(given)
    except BackendUnusable as error:
        return serve.refuse(str(error))
    if program is None:
        return 1
    if given.dry_run:
        return serve.show(program.argv)
    return serve.run(parent.keep(program), has_key=program.has_key, downloads=bool(given.qwen))


def _program(given: argparse.Namespace) -> Program | None:
    """What `serve` is to run; None if there is nothing, and the user knows why."""
    from fim_lsp import settings, settings_files
    from fim_lsp.cli import serve
    from server_bridge import launch, programs

    config, _ = settings.configured(settings_files.found((Path.cwd(),)).layers)
    own = config.backend.model if config.backend.model.endswith(".gguf") else ""
    plan = launch.Plan(
        model=given.model or own,
        port=given.port,
        draft=given.draft or "",
        speculate=not given.no_speculation,
        slots_dir=str(_cache() / "slots") if config.state.save else "",
    )
    server = programs.found(given.program)
    machine = programs.machine(server)
    if server is None:
        return programs.inside(machine, plan, _cache()) if serve.may_lack(given) else None
    build = programs.build(server)
    if given.qwen:
        preset = launch.preset(machine, build, given.qwen)
        agreed = given.yes or given.dry_run
        if not serve.may_download(preset.name, preset.weights, agreed=agreed):
            return None
        plan = replace(plan, preset=preset.option, facts=preset.facts)
    return programs.outside(server, machine, build, plan, _cache())


def _serve(given: argparse.Namespace) -> int:
    gc.disable()  # 50 ms that an editor would wait for; `server.run` enables it again
    from fim_lsp import server

    log = {"file": given.log_file, "level": given.log_level}
    overrides = {"log": {key: value for key, value in log.items() if value is not None}}
    return server.run(given.tcp, open_backend, overrides, _cache())


def open_backend(config: Config) -> Backend:
    """The backend that the settings ask for; nothing is started or sent yet. Never fails."""
    from server_bridge import bridge, unusable

    try:
        return bridge.open_backend(_bridge_settings(config.backend, saves=config.state.save))
    except BackendUnusable as error:
        return unusable.Unusable(config.backend.kind, str(error))


def _bridge_settings(ours: BackendConfig, *, saves: bool) -> BackendSettings:
    """A section of our settings as the bridge wants it."""
    from server_bridge.bridge import BackendSettings
    from server_bridge.keys import Key

    return BackendSettings(
        kind=ours.kind,  # type: ignore[arg-type]  # checked by the schema
        url=ours.url,
        model=ours.model,
        key=Key(ours.api_key_env, ours.api_key_file, ours.api_key_command),
        ca_file=ours.ca_file,
        template=ours.template,
        context_tokens=ours.context_tokens,
        session_header=ours.session_header,
        cache_salt=ours.cache_salt,
        user=ours.user,
        slots_dir=str(_cache() / "slots") if saves else "",
        languages=ours.languages,
        endpoints=tuple(_bridge_settings(each, saves=saves) for each in ours.endpoints),
    )


def _cache() -> Path:
    """Where we keep what is to outlive us."""
    import platformdirs

    return platformdirs.user_cache_path("fim-lsp", appauthor=False)


if __name__ == "__main__":
    sys.exit(main())
