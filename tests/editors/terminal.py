"""
A program in a real terminal: keys in, the screen out.

`pyte` is the terminal emulator, the kernel's pty the wire. Waiting is always for something on
the screen, never for a time to pass; the error has the screen where that did not appear.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

COLUMNS = 90
ROWS = 24
DEVICE_CONTROL = re.compile(rb"\x1bP.*?\x1b\\", re.DOTALL)  # pyte would print these questions
# Editors start in well under a second here; a 2-core machine that also loads a model needs more.
TIMEOUT_S = 60.0  # of a busy machine
POLL_S = 0.02
SETTLE_S = 3.0
GRACE_S = 3.0  # Neovim gives its language servers half a second to leave


class NotSeenError(AssertionError):
    """The text waited for did not appear; the message has the screen."""


class Screen(pyte.Screen):
    """Answers the terminal's own questions into the pty: Helix and Neovim ask before they draw."""

    reply: Callable[[str], None] = staticmethod(lambda _: None)

    def write_process_input(self, data: str) -> None:
        self.reply(data)

    def set_margins(self, top: int | None = None, bottom: int | None = None, **_: object) -> None:
        """pyte does not know the private form (`CSI ? … r`)."""
        super().set_margins(top, bottom)

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        """pyte does not know the private form (`CSI ? 4 m`, what Vim asks of its keys)."""
        if not private:
            super().select_graphic_rendition(*attributes)

    def report_device_status(self, mode: int, **_: object) -> None:
        """pyte does not know the private form (`CSI ? 996 n`, dark or light)."""
        super().report_device_status(mode)


class Terminal:
    """One program running in a terminal of `COLUMNS` × `ROWS`."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        size: tuple[int, int] = (COLUMNS, ROWS),
        truecolor: bool = True,
    ) -> None:
        self.screen = Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            colors = {"COLORTERM": "truecolor"} if truecolor else {}
            os.execvpe(argv[0], list(argv), {**env, "TERM": "xterm-256color", **colors})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.screen.reply = self.send

    @property
    def text(self) -> str:
        """The screen, without the blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def send(self, keys: str) -> None:
        os.write(self._fd, keys.encode())

    def pump(self, seconds: float = 0.0) -> bool:
        """Read what the program wrote, waiting at most so long for the first of it."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return False
        try:
            self._stream.feed(DEVICE_CONTROL.sub(b"", os.read(self._fd, 1 << 16)))
        except OSError:
            raise NotSeenError(f"the program ended\n{self.text}") from None
        return True

    def wait_until(self, seen: Callable[[], object], what: str, timeout: float = TIMEOUT_S) -> None:
        end = time.monotonic() + timeout
        while not seen():
            if time.monotonic() > end:
                raise NotSeenError(f"not seen in {timeout} s: {what}\n{self.text}")
            self.pump(POLL_S)

    def wait_for(self, text: str, timeout: float = TIMEOUT_S) -> None:
        self.wait_until(lambda: text in self.text, repr(text), timeout)

    def settle(self, quiet: float = 0.3) -> None:
        """Read until the program has written nothing for a while; some never stop: not for long."""
        end = time.monotonic() + SETTLE_S
        while self.pump(quiet) and time.monotonic() < end:
            pass

    def close(self) -> None:
        """End the program: as a closed window does, then by force."""
        os.close(self._fd)  # the kernel sends it SIGHUP
        end = time.monotonic() + GRACE_S
        while not os.waitpid(self.pid, os.WNOHANG)[0]:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(POLL_S)
