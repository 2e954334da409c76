"""
The command line, and the composition root: with `models_command` the place where editor side and
model side are joined.

Everything heavy is imported by the command that needs it: an editor starts `--stdio` with every
session and waits for the answer to `initialize`.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from fim_lsp import __version__
from fim_lsp.cli import options
from fim_lsp.settings import files
from fim_lsp.settings.config import BackendConfig, Config
from server_bridge.protocol import Backend, BackendUnusable, TextModel

if TYPE_CHECKING:
    from fim_lsp.session.session import Session
    from server_bridge.bridge import BackendSettings

INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C
CANNOT_WRITE = 74  # EX_IOERR of sysexits.h


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    parser = options.parser(for_editor=[*words] == ["--stdio"])
    given = parser.parse_args(words)
    if given.command is not None:
        return _quietly(given)
    if given.stdio:
        if sys.stderr is None:  # closed by the program that started us: log lines are lost
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 (for the whole process)
        _serve(given)
    parser.print_help()
    return 2


def _quietly(given: argparse.Namespace) -> int:
    """Run a command; Ctrl-C, a reader that ends (`| head`) or a full disk causes no traceback."""
    try:
        code = _command(given)
        sys.stdout.flush()
        return code
    except (KeyboardInterrupt, EOFError):  # Ctrl-C, or Ctrl-D at a question
        if sys.stdout.isatty():
            sys.stdout.write("\n")  # the shell's prompt stands on a line of its own
        return INTERRUPTED
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes at exit
        if error.errno == errno.EPIPE:
            return INTERRUPTED
        sys.stderr.write(f"fim-lsp: nothing more can be written: {error.strerror}\n")
        return CANNOT_WRITE


def _command(given: argparse.Namespace) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a console of another code page shows ? for an error
            stream.reconfigure(errors="replace")
    if given.command == "complete":
        from fim_lsp.cli import complete

        return complete.run(given)
    if given.command == "demo":
        from fim_lsp.cli import demo

        return demo.run(given)
    if given.command in ("forget", "models", "serve"):
        from fim_lsp import models_command

        return models_command.run(given)
    if given.command == "setup":
        return _setup(given)
    if given.command == "http":
        from fim_lsp.cli import http
        from server_bridge.llama.identity import open_to_pages

        key = given.token_file or os.environ.pop("FIM_LSP_TOKEN", "")
        return http.run(given, key, open_backend, open_to_pages)
    return _doctor(given)


def _setup(given: argparse.Namespace) -> int:
    from fim_lsp import models_command
    from fim_lsp.cli import setup

    if contradiction := options.find_contradiction(given):
        sys.stderr.write(f"fim-lsp: {contradiction}\n")
        return 2
    get = partial(models_command.get_model, given)
    try_out = partial(models_command.try_backend, open_backend)
    code = setup.run(given, files.user_file(), get, try_out)
    return code or _doctor(argparse.Namespace(json=False, root=Path()))


def _doctor(given: argparse.Namespace) -> int:
    from fim_lsp import models_command
    from fim_lsp.cli import checks, doctor
    from server_bridge.llama.identity import open_to_pages

    config, problems = files.read((given.root.resolve(),))
    machine, best = models_command.describe_machine()
    target = checks.Target(
        config, problems, open_backend(config), open_to_pages, machine, open_model(config), best
    )
    return doctor.run(given, target)


def _serve(given: argparse.Namespace) -> NoReturn:
    gc.disable()  # 50 ms that an editor would wait for; enabled again with the session
    from fim_lsp.lsp.run import collect_garbage, run

    log = {"file": given.log_file, "level": given.log_level}
    overrides = {"log": {key: value for key, value in log.items() if value is not None}}
    os.environ.pop(
        "FIM_LSP_TOKEN", None
    )  # the key of `fim-lsp http`: child processes inherit no key

    def open_session(config: Config) -> Session:
        from fim_lsp.session.session import Session  # half of all imports: after `initialize`

        collect_garbage()
        return Session(config, open_backend, cache=files.cache_folder(), open_model=open_model)

    run(open_session, overrides, _open_port)


async def _open_port(
    session: Session, port: int, root: str
) -> tuple[str, Callable[[], Awaitable[None]]]:
    """
    Open a port for other programs, imported only here; return the address of its page, and what
    closes it.
    """
    from fim_lsp.cli.http import open_port
    from server_bridge.llama.identity import open_to_pages

    local = await open_port(session, port, root, open_to_pages=open_to_pages)
    return local.page_url, local.aclose


def open_backend(config: Config) -> Backend:
    """Return the backend that the settings ask for; nothing is started or sent yet. Never fails."""
    from server_bridge import bridge

    settings = _bridge_settings(config.backend, saves=config.state.save)
    try:
        return bridge.open_backend(settings)
    except BackendUnusable as error:
        return bridge.Unusable(config.backend.kind, str(error))


def open_model(config: Config) -> TextModel | None:
    """Return the model for next edits that the settings name; nothing is sent yet."""
    from server_bridge import bridge

    named = _bridge_settings(config.next_edit.server, saves=False)
    return bridge.open_text_model(named) if config.next_edit.enabled else None


def _bridge_settings(ours: BackendConfig, *, saves: bool) -> BackendSettings:
    """Return a section of our settings as the bridge wants it."""
    from server_bridge.bridge import BackendSettings
    from server_bridge.http.api_key import Key

    return BackendSettings(
        kind=ours.kind,  # type: ignore[arg-type]  # checked by the schema
        url=ours.url,
        model=ours.model,
        key=Key(ours.api_key_env, ours.api_key_file, ours.api_key_command),
        ca_file=ours.ca_file,
        template=ours.template,
        context_tokens=ours.context_tokens,
        headers=ours.headers,
        body=ours.body,
        unload_s=ours.unload_after_minutes * 60,
        slots_dir=str(files.cache_folder() / "slots") if saves else "",
        keys_dir=str(files.cache_folder()),
        shared=str(files.cache_folder() / f"engine-{__version__}"),
        endpoints=tuple(_bridge_settings(one, saves=saves) for one in ours.endpoints),
    )


if __name__ == "__main__":
    sys.exit(main())
