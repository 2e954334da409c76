"""
The end of the process, within a second of its client's end, whatever threads and children are
doing; and its log.

Python waits at exit for every worker thread, and a hanging `apiKeyCommand` or a long parse keeps
one busy for minutes. So the process leaves by `os._exit`, after its children have ended and the log
is written; and a watchdog that needs no lock of the interpreter ends it where even that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import functools
import logging
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from fim_lsp.display import escape
from fim_lsp.settings.config import LogConfig

LEAVE_S = 0.9  # from the end of the client to the watchdog's: an editor's restart waits a second
POLL_S = 2.0  # between two looks at a client whose end the system does not tell
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # as far as the system has them
_NOWHERE = os.open(os.devnull, os.O_WRONLY)

log = logging.getLogger(__name__)


@functools.cache  # a second cause does not restart the timer
def end_soon() -> None:
    """
    Begin to count: the process ends within `LEAVE_S` from now, whatever it does. For any thread.
    """
    faulthandler.dump_traceback_later(LEAVE_S, exit=True, file=_NOWHERE)


def on_signals(leave: Callable[[], None]) -> None:
    """Call *leave*, on the main thread, when a signal asks the process to end."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # nohup, `&`
            signal.signal(number, lambda *_: leave())


def on_death(pid: int | None, leave: Callable[[], None]) -> None:
    """
    Call *leave*, on the event loop, when the process *pid* has ended.

    A client in another container has a process id that means nothing here; so one that is not
    there at the beginning is not waited for.
    """
    loop = asyncio.get_running_loop()
    if pid is None or pid <= 1:
        return

    def look() -> None:
        if _is_alive(pid):
            loop.call_later(POLL_S, look)
        else:
            leave()

    def end() -> None:
        loop.remove_reader(death)
        leave()

    if (death := _death_of(pid)) >= 0:
        loop.add_reader(death, end)
    elif os.name == "posix" and _is_alive(pid):
        look()


def leave(code: int) -> NoReturn:
    """End the process now, and what it started before."""
    if sys.platform == "linux":
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    logging.shutdown()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _death_of(pid: int) -> int:
    """Return a descriptor that can be read when *pid* has ended; -1 where there is none."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, OverflowError):
            return os.pidfd_open(pid)
    return -1


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that *pid* started, and theirs, where the system lists them (Linux)."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            for child in map(int, file.read_text("ascii").split()):
                yield from _descendants(child)
                yield child


# -- the log ---------------------------------------------------------------------------------------
# It goes to stderr, which editors keep, or to a file; never to stdout, which belongs to LSP. Ours
# says what `fim.log.level` asks for; libraries only warn, and pygls says nothing: it would log
# messages with the user's text in them. A record is one line, whatever names and errors are in it,
# and a file is only appended to if it is a log of ours: a setting must not write into other files.

MOST_CHARS = 2000  # of a record: what is foreign in it may have any length
_FIRST_LINE = b"# log of fim-lsp\n"
_OURS = ("fim_lsp", "server_bridge")
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_Exception = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


class OneLine(logging.Formatter):
    """A record on one line; of an exception, lines that begin like no other."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """Return the record without its exception."""
        return escape(super().formatMessage(record)[:MOST_CHARS])

    def formatException(self, ei: _Exception) -> str:  # noqa: N802 (logging's name)
        """Return the traceback."""
        lines = super().formatException(ei).split("\n")
        return "\n".join("  | " + escape(line[:MOST_CHARS]) for line in lines)


class OwnFile(logging.FileHandler):
    """
    A log file, new or one of ours, for its owner's eyes only; raises OSError, and ValueError for
    one that is no log of ours.
    """

    def _open(self) -> TextIOWrapper:
        path, flags = Path(self.baseFilename), os.O_RDWR | os.O_CREAT | os.O_APPEND
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no links, no waiting
        file = os.open(path, flags, 0o600)
        try:
            _make_log(file, path)
            return os.fdopen(file, "a", encoding="utf-8")
        except BaseException:
            os.close(file)
            raise


def log_to(config: LogConfig) -> str | None:
    """Log as *config* says from now on; returns what is wrong with its file, if anything."""
    handler: logging.Handler = logging.StreamHandler()
    problem = None
    if config.file:
        try:
            handler = OwnFile(Path(config.file).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            problem = f"fim.log.file cannot be written: {error}"
    handler.setFormatter(OneLine(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(config.level.upper())
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    return problem


def _make_log(file: int, path: Path) -> None:
    """See that an open file is a log of ours, or make an empty one such."""
    is_file = stat.S_ISREG(os.fstat(file).st_mode)
    begin = os.read(file, len(_FIRST_LINE)) if is_file else None
    if begin not in (b"", _FIRST_LINE):
        raise ValueError(f"{path} is not a log of fim-lsp: take the name of a new file")
    if not begin:
        os.write(file, _FIRST_LINE)
    if hasattr(os, "fchmod"):
        os.fchmod(file, 0o600)
