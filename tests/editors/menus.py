"""
Clients whose suggestions stand in a list, as `tests/editors/test_menus.py` drives them: pages in a
browser, and editors on a display.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from tests.editors import programs
from tests.editors.browser import POLL_S, Browser
from tests.editors.display import Display
from tests.editors.meant import Row
from tests.editors.programs import CHROMIUM_NODE
from tests.editors.wire import Wire, is_of

COMES_S = 30.0  # a suggestion, on a busy machine; then the last letter is typed again
N_TRIES = 6  # at a page
N_LETTERS = 3  # that are typed on in an editor
N_KEYS = 30  # to the item, and on it
ASKS_S = 2.0  # an editor, after the last key; Qt Creator waits 0.4 s
CLOSES_S = 2.0  # CodeMirror takes no key in the first 75 ms of a list


class Page(Browser):
    """
    A page with the text of the rows.

    *LINE* finds the lines of the text, *ITEM* the items of the list, with *ACTIVE* behind it the
    one that a key would insert.
    """

    LINE: ClassVar[str]
    ITEM: ClassVar[str]
    ACTIVE: ClassVar[str]

    def __init__(self, home: Path, address: str) -> None:
        assert CHROMIUM_NODE is not None
        self._wire = Wire.of(home)
        super().__init__(address, CHROMIUM_NODE, programs.PAGES, programs.environment(home))

    def go_to(self, line: int) -> None:
        self("press", "Control+Home")
        for _ in range(line):
            self("press", "ArrowDown")
        self("press", "End")

    def type(self, text: str) -> None:
        self("type", text)

    def accept(self, row: Row) -> None:
        """
        Have the row's item inserted; without one, type the last letter again, some times.

        A client that lost an answer, or had asked before the server was ready, does not ask again
        by itself.
        """
        for _ in range(N_TRIES):
            if self._is_offered(row):
                break
            self("press", "Backspace")
            self("type", row.typed[-1])
        else:
            if self("exists", self.ITEM):  # in a notebook Escape means more where no list is open
                self("press", "Escape")
            return
        for _ in range(N_KEYS):
            if not self._is_ours(row, self.ITEM):
                return
            if self._is_ours(row, self.ITEM + self.ACTIVE):
                self("press", "Enter")
                _comes(lambda: not self("exists", self.ITEM), CLOSES_S)
            else:
                self("press", "ArrowDown")

    def _is_offered(self, row: Row) -> bool:
        """Return whether all of the row comes, unless the last answer has less and no other is asked for."""
        end = time.monotonic() + COMES_S
        while not _comes(lambda: self._is_ours(row, self.ITEM), ASKS_S):
            has_less = self._wire.last_items() is not None and not self._labels(row)
            if has_less or time.monotonic() > end:
                return False
        return True

    def _labels(self, row: Row) -> list[str]:
        """Return the labels of the items in the last answer that are all of the row: a busy machine's may begin it."""
        items = self._wire.last_items() or ()
        return [item["label"] for item in items if row.meant.endswith(item["insertText"])]

    def text(self) -> str:
        return "\n".join(self._texts(self.LINE))

    def _is_ours(self, row: Row, selector: str) -> bool:
        labels = tuple(self._labels(row))
        return any(text.startswith(labels) for text in self._texts(selector))

    def _texts(self, selector: str) -> list[str]:
        texts = self("texts", selector)
        assert isinstance(texts, list)
        return texts


def _comes(seen: Callable[[], object], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


class Desktop(Display):
    """
    An editor with the one file of the project in *home*, whose messages are tapped; where it
    *has_popups*, its list is a window.
    """

    def __init__(self, home: Path, argv: list[str], *, has_popups: bool) -> None:
        self._has_popups = has_popups
        [self.file] = (home / "shop").glob("*.py")
        self._wire = Wire.of(home)
        self._n_asked = 0
        super().__init__(home, [*argv, str(self.file)], self.file.name)
        with self.closed_on_error():
            self.wait_until(
                lambda: self._wire.asked("textDocument/didOpen"), "the file at the server"
            )

    def go_to(self, line: int) -> None:
        self.press("ctrl+Home", *["Down"] * line, "End")
        self._n_asked = self._wire.n_asked()

    def accept(self, row: Row) -> None:
        """Have the row's item inserted; while the client does not ask, or gets none, type on a little."""
        begun = len(row.lead + row.typed)
        letters = row.meant[begun : begun + N_LETTERS]
        for letter in (*letters, ""):
            if self._is_offered(row):
                self.press("Return")
                self._wait_for_list(is_open=False)
                return
            self.type(letter)
        self.press("Escape", *["BackSpace"] * len(letters))

    def _is_offered(self, row: Row) -> bool:
        """Return whether the client asked since it was last looked, got the row's item, and shows a list."""
        if not _comes(lambda: self._wire.n_asked() > self._n_asked, ASKS_S):
            return False
        n_asked = self._wire.n_asked()
        self.wait_until(lambda: self._wire.last_items() is not None, "an answer")
        if any(is_of(item, row) for item in self._wire.last_items() or ()):
            return self._wait_for_list(is_open=True)
        self._n_asked = n_asked
        return False

    def _wait_for_list(self, *, is_open: bool) -> bool:
        """Return whether the list comes, or goes; that of Kate is drawn in its only window."""
        if self._has_popups:
            return _comes(lambda: (self.n_popups() > 0) == is_open, COMES_S)
        self.settle()
        return True

    def text(self) -> str:
        before = self.file.stat().st_mtime_ns
        self.press("ctrl+s")
        self.wait_until(lambda: programs.written(self.file, before, self.pid), "the file saved")
        return self.file.read_text()
