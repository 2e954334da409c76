"""An X server without a screen (Xvfb), and the keys of a user there (xdotool)."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.editors import programs

USR = programs.DESKTOP / "usr"
LIBRARIES = USR / "lib/x86_64-linux-gnu"
TIMEOUT_S = 120.0  # Kate takes some seconds to start on an idle machine
POLL_S = 0.1
STILL_S = 0.4  # for so long nothing is drawn
SETTLE_S = 6.0
FONTS = '<?xml version="1.0"?><fontconfig><dir>{}</dir><cachedir>{}</cachedir></fontconfig>'


def environment(home: Path, display: str) -> dict[str, str]:
    """Return what the programs of `programs.DESKTOP` need to find what belongs to them."""
    fonts = home / "fonts.conf"
    fonts.write_text(FONTS.format(USR / "share/fonts", home / ".cache/fontconfig"))
    return programs.environment(
        home, DISPLAY=display, FONTCONFIG_FILE=str(fonts), QT_PLUGIN_PATH=f"{LIBRARIES}/qt6/plugins",
        QML_IMPORT_PATH=f"{LIBRARIES}/qt6/qml", XDG_CONFIG_DIRS=str(programs.DESKTOP / "etc/xdg"),
        XDG_DATA_DIRS=f"{USR}/share", XKB_CONFIG_ROOT=f"{USR}/share/X11/xkb",
    )  # fmt: skip


class Display:
    """A program on a display of its own, with the window called *title*."""

    def __init__(self, home: Path, argv: list[str], title: str) -> None:
        self._home = home
        ready, told = os.pipe()
        # It runs the compiler of key maps by a path from there; see scripts/tools/install-editors.
        self._server = subprocess.Popen(
            [
                USR / "bin/Xvfb", "-displayfd", str(told), "-screen", "0", "1200x900x24",
                "-nolisten", "tcp", "-xkbdir", USR / "share/X11/xkb", "-fbdir", home,
            ],
            cwd=USR / "lib", env=programs.environment(home), pass_fds=[told],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(told)
        with os.fdopen(ready) as answer:
            self._env = environment(home, f":{answer.readline().strip()}")
        with (home / "program.log").open("wb") as log:
            self._program = subprocess.Popen(
                [USR / "bin" / argv[0], *argv[1:]], cwd=home, env=self._env, stdout=log, stderr=log
            )
        with self.closed_on_error():
            self.wait_until(lambda: self.window(title), f"the window of {argv[0]}")
            self._do("windowfocus", "--sync", self.window(title).split()[-1])

    def window(self, title: str) -> str:
        """Return the ids of the windows on screen with *title* in their names."""
        return self._do("search", "--onlyvisible", "--name", title, check=False)

    def n_popups(self) -> int:
        """Return how many windows are on screen besides the program's own."""
        return (
            len(self._do("search", "--onlyvisible", "--maxdepth", "1", "--class", ".").split()) - 1
        )

    def press(self, *keys: str) -> None:
        self._do("key", "--clearmodifiers", "--delay", "30", *keys)

    def type(self, text: str) -> None:
        self._do("type", "--delay", "60", text)

    def settle(self) -> None:
        """Wait until nothing has been drawn for a while; some never stop: not for long."""
        end = time.monotonic() + SETTLE_S
        seen = ""
        since = 0.0
        while time.monotonic() < end:
            now = hashlib.sha256((self._home / "Xvfb_screen0").read_bytes()).hexdigest()
            if now != seen:
                seen = now
                since = time.monotonic()
            elif time.monotonic() - since > STILL_S:
                return
            time.sleep(POLL_S)

    def wait_until(self, seen: Callable[[], object], what: str, timeout: float = TIMEOUT_S) -> None:
        end = time.monotonic() + timeout
        while not seen():
            if time.monotonic() > end:
                log = (self._home / "program.log").read_text("utf-8", "replace")
                raise AssertionError(f"not seen in {timeout} s: {what}\n{log[-2000:]}")
            time.sleep(POLL_S)

    @property
    def pid(self) -> int:
        return self._program.pid

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Leave no program running where a start fails."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the program, then the display."""
        for process in (self._program, self._server):
            process.terminate()
            programs.finish(process, 10)

    def _do(self, *args: str, check: bool = True) -> str:
        argv = [str(USR / "bin/xdotool"), *args]
        said = subprocess.run(argv, env=self._env, capture_output=True, text=True, check=check)
        return said.stdout
