"""Kate, set up as docs/editors/kate.md says: what is inserted is what was meant."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.editors import programs
from tests.editors.conftest import messages_in, shop_in, wiretap
from tests.editors.display import Display
from tests.editors.meant import LEADS, ROWS, Row, word_of, write_all
from tests.editors.test_docs import blocks

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not (programs.DESKTOP / "done").exists(),
        reason="no Kate: run scripts/install-editors",
    ),
]
N_TRIES = 3  # without an item in the answer the last letter is typed again
# Kate writes over the word at the cursor, whatever a server says, and removes `${…}`: so much is offered there.
LESS = {"a bracket behind": "    while any(values)", "dollars": "    path = ro"}


class Kate(Display):
    """
    Kate, which has been allowed to run the server, without the words of the file in its list.

    *sent* and *received* are what passes between it and the server.
    """

    def __init__(self, home: Path, file: Path) -> None:
        self.file = file
        self.sent, self.received = wiretap(home)
        config = home / ".config"
        [settings] = blocks("kate", "json")
        (config / "kate/lspclient").mkdir(parents=True)
        (config / "kate/lspclient/settings.json").write_text(settings)
        (config / "katerc").write_text(
            "[lspclient]\n"
            f"AllowedServerCommandLines={home / '.local/bin/fim-lsp'} --stdio\n"
            "[KTextEditor Document]\nWord Completion=false\nKeyword Completion=false\n"
        )
        super().__init__(home, ["kate", str(file)], file.name)
        with self.closed_on_error():
            self.wait_until(lambda: self._asked("textDocument/didOpen"), "the file at the server")

    def go_to(self, line: int) -> None:
        self.press("ctrl+Home", *["Down"] * line, "End")

    def accept(self, row: Row) -> None:
        for _ in range(N_TRIES):
            self.wait_until(lambda: self._answer() is not None, "an answer")
            self.settle()
            if self._is_offered(word_of(row)):
                self.press("Return")
                self.settle()
                return
            self.press("BackSpace")
            self.type(row.typed[-1])
        self.press("Escape")

    def text(self) -> str:
        before = self.file.stat().st_mtime_ns
        self.press("ctrl+s")
        self.wait_until(lambda: programs.written(self.file, before, self.pid), "the file saved")
        return self.file.read_text()

    def _asked(self, method: str) -> list[dict[str, Any]]:
        return [m for m in messages_in(self.sent) if m.get("method") == method]

    def _answer(self) -> dict[str, Any] | None:
        """Return the answer to the last question for completions, None before it."""
        asked = self._asked("textDocument/completion")
        answers = {
            m["id"]: m for m in messages_in(self.received) if "method" not in m and "id" in m
        }
        return answers.get(asked[-1]["id"]) if asked else None

    def _is_offered(self, word: str) -> bool:
        """Return whether it has an item that begins with *word*."""
        items = ((self._answer() or {}).get("result") or {}).get("items", [])
        return any(item["textEdit"]["newText"].startswith(word) for item in items)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, meant_settings: str) -> dict[str, str]:
    """Return what Kate has in the place of each row."""
    home = tmp_path_factory.mktemp("home")
    file = shop_in(home, "rows.py", LEADS, meant_settings)
    with closing(Kate(home, file)) as editor:
        return write_all(editor)


@pytest.mark.parametrize("name", ROWS)
def test_what_is_inserted_is_what_was_meant(name: str, written: dict[str, str]) -> None:
    """Or less, where Kate would not insert that."""
    assert written[name] == LESS.get(name, ROWS[name].meant)
