"""A VS Code workbench (code-server) with our extension, in a headless Chromium."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.editors import programs
from tests.editors.browser import TIMEOUT_S, Browser, wait_until_up
from tests.editors.conftest import REST_OF_LINE, SHOP, TYPED
from tests.llama_server import free_port

# A new request cancels the old one, and a request by hand is for several suggestions: on a busy
# machine every answer would be cancelled by the next request if this were shorter than an answer.
ASK_AGAIN_S = 15.0
HIDES_S = 5.0  # from when on a message that is not seen is looked for behind the bell
BELL = ".statusbar-item[id*='status.notifications']"
DIALOG = ".monaco-dialog-box"
LIST = ".suggest-widget.visible"
QUICK_INPUT = ".quick-input-widget:not([style*='display: none'])"  # it stays on the page, hidden
STATUS = ".statusbar-item[id*='fim.status']"
SETTINGS: dict[str, object] = {  # how the editor edits is as it comes
    "extensions.ignoreRecommendations": True,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",  # the chat there takes the focus
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}

# What has no key of its own: the command palette would hide the suggestion.
ASK = "Control+Alt+k"
KEYS = [
    {"key": "ctrl+alt+k", "command": "editor.action.inlineSuggest.trigger"},
]


class Workbench(Browser):
    """The workbench with *file* open."""

    def __init__(
        self,
        home: Path,
        file: Path,
        settings: Mapping[str, object],
        *vsixes: Path,
        code: Path = programs.CODE,
    ) -> None:
        self._program = [programs.node(code), code / "node_modules/code-server/out/node/entry.js"]
        self._folders = [
            f"--user-data-dir={home / 'data'}",
            f"--extensions-dir={home / 'extensions'}",
        ]
        self._env = programs.environment(home)
        self.file = file
        user = home / "data/User"
        user.mkdir(parents=True, exist_ok=True)
        (user / "settings.json").write_text(json.dumps({**SETTINGS, **settings}, indent=1))
        (user / "keybindings.json").write_text(json.dumps(KEYS))
        (home / "config.yaml").write_text("")
        self._folders.append(f"--config={home / 'config.yaml'}")
        installing = self._code(
            *(word for vsix in vsixes for word in ("--install-extension", str(vsix)))
        )
        programs.finish(installing, TIMEOUT_S)
        assert installing.returncode == 0, (home / "code-server.log").read_text()
        port = free_port()
        self._server = self._code(
            "--auth=none", f"--bind-addr=127.0.0.1:{port}", "--disable-telemetry",
            "--disable-update-check",
        )  # fmt: skip
        try:
            wait_until_up(f"http://127.0.0.1:{port}/healthz")
        except OSError:
            programs.finish(self._server, 0)
            raise
        host = f"127.0.0.1:{port}"
        payload = json.dumps([["openFile", f"vscode-remote://{host}{file}"]])
        address = f"http://{host}/?folder={file.parent}&payload={payload}"
        super().__init__(address, programs.node(code), code, self._env)

    def _code(self, *args: str) -> subprocess.Popen[bytes]:
        with (Path(self._env["HOME"]) / "code-server.log").open("ab") as log:
            return subprocess.Popen(
                [*self._program, *self._folders, *args], env=self._env, stdout=log, stderr=log
            )

    def wait_until_ready(self) -> None:
        """Until the status bar shows no problem."""
        self.wait_until(lambda: self("exists", f"{STATUS} .codicon-sparkle"), "the sign for ready")

    def write(self, text: str) -> None:
        """Type *text* whose lines are indented as the editor does it by itself."""
        self("type", re.sub(r"\n[ \t]+", "\n", text))

    def wait_for_ghost(self, text: str) -> None:
        """
        Until the ghost text contains *text*.

        The workbench asks once per key; before the server was known to it, that was for nothing. So
        ask by hand now and then; a list that is open by then would take the keys.
        """
        asked = time.monotonic()

        def seen() -> bool:
            nonlocal asked
            if text in str(self("ghost")):
                return True
            if time.monotonic() - asked > ASK_AGAIN_S:
                if self("exists", LIST):
                    self("press", "Escape")
                self("press", ASK)
                asked = time.monotonic()
            return False

        self.wait_until(seen, f"ghost text {text!r}")

    def command(self, title: str) -> None:
        """Run a command by its title, from the text and back to it."""
        self.palette(title)
        self._wait_for_focus()

    def why(self, reason: str) -> None:
        """Ask why nothing is suggested, and read *reason* in the message or, if it is long, the dialog."""
        self.palette("FIM: Why No Suggestion Here?")
        self.wait_until(lambda: reason in str(self("text")), reason)
        if self("exists", DIALOG):
            self("press", "Escape")
        self._wait_for_focus()

    def palette(self, title: str) -> None:
        """Run a command by its title; it may take the focus elsewhere."""
        self("press", "F1")
        self.wait_until(lambda: self("exists", f"{QUICK_INPUT} input"), "the command palette")
        self("type", title)
        row = f"{QUICK_INPUT} .monaco-list-row.focused[aria-label*='{title}']"
        self.wait_until(lambda: self("exists", row), title)
        self("press", "Enter")

    def _wait_for_focus(self) -> None:
        """Until keys go to the text again: earlier ones are lost."""
        focused = ".editor-instance .monaco-editor.focused"
        self.wait_until(lambda: self("exists", focused), "the text in focus")

    def choose(self, label: str) -> None:
        """Click a button of a message; its text is there before its buttons, and it hides after some seconds."""
        button = f"a.monaco-button::-p-text({label})"
        hidden = time.monotonic() + HIDES_S

        def seen() -> bool:
            nonlocal hidden
            if not self("exists", button) and time.monotonic() > hidden:
                hidden = float("inf")
                if self("exists", BELL):
                    self("click", BELL)
            return bool(self("exists", button))

        self.wait_until(seen, label)
        self("click", button)

    def click_until(
        self, button: str, seen: str, found: Callable[[], object] = lambda: True
    ) -> None:
        """
        Click *button* until *seen* is there, and *found* with it: a click misses what still moves,
        and what it opened may close.
        """
        again = 0.0

        def opened() -> bool:
            nonlocal again
            if not self("exists", seen) and self("exists", button) and time.monotonic() > again:
                self("click", button)
                again = time.monotonic() + HIDES_S
            return bool(self("exists", seen))

        self.wait_until(lambda: opened() and found(), seen)

    def menu(self, row: str = "") -> None:
        """Open the extension's menu, until *row* is in it."""
        self.click_until(STATUS, f"{QUICK_INPUT} .focused", lambda: row in str(self("text")))

    def open(self, file: Path) -> None:
        """Open another file of the folder, the cursor at its end."""
        self.file = file
        row = f".explorer-folders-view [aria-label^='{file.name}']"
        self.wait_until(lambda: self("exists", row), f"{file} in the explorer")
        self("click", row)
        self.wait_until(
            lambda: self("exists", f".tab.active[data-resource-name='{file.name}']"), str(file)
        )
        self.wait_until(
            lambda: self("exists", ".editor-instance .view-lines .view-line"), "its text"
        )
        self("click", ".editor-instance .view-lines")
        self("press", "Control+End")

    def number(self, pattern: re.Pattern[str]) -> int:
        """Return the sum of the numbers that *pattern* finds in the extension's menu."""
        found: list[re.Match[str]] = []

        def seen() -> bool:
            found.extend(pattern.finditer(str(self("text"))))
            return bool(found)

        self.click_until(STATUS, f"{QUICK_INPUT} .focused", seen)
        self("press", "Escape")
        self("press", "Control+1")  # focus went back to the status bar
        self._wait_for_focus()
        return sum(map(int, found[0].groups()))

    @property
    def pid(self) -> int:
        """The workbench's server, an ancestor of the language server."""
        return self._server.pid

    def saved(self) -> str:
        before = self.file.stat().st_mtime_ns
        self("press", "Control+s")
        self.wait_until(lambda: programs.written(self.file, before, self.pid), "the file saved")
        return self.file.read_text()

    def close(self) -> None:
        super().close()
        self._server.terminate()
        programs.finish(self._server, 20)


@contextmanager
def shop_typed(workbench: Workbench, file: Path) -> Iterator[Workbench]:
    """Yield a fresh copy of the shop in *file*, the suggestion on screen; empty afterwards: it is context."""
    file.write_text(SHOP)
    workbench.open(file)
    workbench.write(TYPED)
    workbench.wait_for_ghost(REST_OF_LINE)
    yield workbench
    workbench("press", "Control+a")
    workbench("press", "Delete")
    workbench.saved()
