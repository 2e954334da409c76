"""What became of suggestions, from what editors say and from what they type."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from fim_lsp.documents import Edit, Position, after, apply_edits, open_document
from fim_lsp.events import Accepted, PartlyAccepted, Shown
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.request import Suggestion
from server_bridge.protocol import Health, State
from tests.typist import rewrite

TEXT = "import os\n    ret\nprint(1)\n"
CURSOR = Position(1, 7)  # behind `ret`
REPORTS: dict[str, Callable[..., Any]] = {"all": Accepted, "part": PartlyAccepted, "shown": Shown}


class Driver:
    """An editor with one document and the cursor behind `ret`; ids count from 1."""

    def __init__(self, text: str = TEXT) -> None:
        self.document = open_document("file:///a.py", "python", 1, text)
        self.cursor = CURSOR
        self.stats = Stats()
        self.acceptance = Acceptance(self.stats, Quietness(lambda: 0.0))
        self.n_ids = 0

    def offer(self, *texts: str) -> None:
        """Suggestions to insert at the cursor."""
        self._send([Edit(self.cursor, self.cursor, text) for text in texts])

    def over(self, text: str, left: int, right: int) -> None:
        """A suggestion that replaces *left* and *right* characters around the cursor."""
        self._send([Edit(*self._around(left, right), text)])

    def type(self, text: str, left: int = 0) -> None:
        """One change, which replaces *left* characters before the cursor."""
        start, end = self._around(left, 0)
        self.edit(Edit(start, end, text))
        self.cursor = after(start, text)

    def change(self, text: str) -> None:
        """All of the text."""
        self.edit(rewrite(text))

    def edit(self, *edits: Edit) -> None:
        self.acceptance.follow(self.document, edits)
        self.document = apply_edits(self.document, edits, self.document.version + 1)

    def tell(self, kind: str, id: int, *rest: int) -> None:
        self.acceptance.note_report(REPORTS[kind](str(id), *rest))

    def back(self) -> None:
        """The cursor goes a character to the left."""
        self.cursor = self.cursor._replace(column=self.cursor.column - 1)

    def close(self) -> None:
        self.acceptance.end()

    def _around(self, left: int, right: int) -> tuple[Position, Position]:
        line, column = self.cursor
        return Position(line, column - left), Position(line, column + right)

    def _send(self, edits: list[Edit]) -> None:
        ids = range(self.n_ids + 1, self.n_ids + len(edits) + 1)
        self.n_ids += len(edits)
        sent = [Suggestion(str(n), *edit) for n, edit in zip(ids, edits, strict=True)]
        self.acceptance.offer(self.document, sent)

    def counts(self) -> dict[str, Any]:
        snapshot = self.stats.snapshot(State(Health.READY, "x"), {}, None)
        return {name: snapshot[name] for name in COUNTED if snapshot[name]}


COUNTED = ("shown", "accepted", "partlyAccepted", "ignored", "acceptedChars")


def check(steps: str, *counts: int) -> None:
    """The one caller of `Acceptance`: *steps* are methods of `Driver`, with their arguments."""
    driver = Driver()
    for step in steps.split("; "):
        name, has_arguments, arguments = step.partition(":")
        values = arguments.split(",") if has_arguments else ()
        given: list[Any] = [int(value) if value.isdigit() else value for value in values]
        (partial(driver.tell, name) if name in REPORTS else getattr(driver, name))(*given)
    expected = zip(COUNTED, counts, strict=False)
    assert driver.counts() == {name: count for name, count in expected if count}


TOLD: dict[str, tuple[str, *tuple[int, ...]]] = {
    "accepted: the change, then the command": ("offer:urn x; type:urn x; all:1", 1, 1, 0, 0, 5),
    "accepted: the command, then the change": ("offer:urn x; all:1; type:urn x", 1, 1, 0, 0, 5),
    "accepted twice is once": ("offer:urn x; all:1; all:1", 1, 1, 0, 0, 5),
    "accepted, written otherwise": ("offer:urn  x; type:urn x; all:1", 1, 1, 0, 0, 6),
    "typed half": ("offer:urn x; type:u; type:r; type:n x; all:1", 1, 1, 0, 0, 3),
    "an unknown id": ("all:7; part:7,2; shown:7",),
    "two words, told in all": (
        "offer:urn x + y; part:1,3; type:urn; part:1,5; type: x", 1, 0, 1, 0, 5,
    ),
    "a word at a time, asked again in between, to the end": (
        "offer:urn x; type:urn; part:1,3; offer: x; type: x; part:2,2", 1, 1, 0, 0, 5,
    ),
    "nothing of it accepted": ("offer:urn x; part:1,0", 1),
    "what the item puts back is not counted": ("over:return x,3,0; part:1,6", 1, 0, 1, 0, 3),
    "an editor that says what it shows": (
        "offer:urn x; shown:1; shown:1; offer:urn y; offer:urn z", 1, 0, 0, 1,
    ),
    "the second of several": ("offer:urn x,urn y,urn z; all:2", 1, 1, 0, 0, 5),
}  # fmt: skip
INFERRED: dict[str, tuple[str, *tuple[int, ...]]] = {
    "all of it": ("offer:urn x; type:urn x", 1, 1, 0, 0, 5),
    "the second of several": ("offer:urn x,urn y; type:urn y", 1, 1, 0, 0, 5),
    "a menu's item, with the word it completes": ("offer:urn x; type:return x,3", 1, 1, 0, 0, 5),
    "other line ends": ("offer:urn [\n    ]; type:return [\r\n    ],3", 1, 1, 0, 0, 11),
    "a word of it": ("offer:urn x; type:urn", 1, 0, 1, 0, 3),
    "a line, then the rest": ("offer:urn [\n    ]; type:urn [\n; type:    ]", 1, 1, 0, 0, 11),
    "typed by hand": ("offer:urn x; type:u; type:r; type:n; type: ; type:x", 1, 0, 0, 1),
    "keys that an editor sends together": ("offer:urn x; type:ur; type:n ", 1),
    "part of a word": ("offer:urned_x; type:urn", 1),
    "asked again at every key": ("offer:urn x; type:u; offer:rn x; type:r; offer:n x + 1", 1),
    "a bracket that the editor closes": ("offer:(x); type:(); back; over:x),0,1", 1),
    "something else typed": ("offer:urn x; type:a", 1, 0, 0, 1),
    "something else offered": ("offer:urn x; offer:urn y", 2, 0, 0, 1),
    "nothing to offer any more": ("offer:urn x; offer", 1, 0, 0, 1),
    "the whole text replaced": ("offer:urn x; change:y = 1\n", 1, 0, 0, 1),
    "a change that changes nothing": ("offer:urn x; type:ret,3", 1),
    "closed": ("offer:urn x; close", 1, 0, 0, 1),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_an_editor_tells_counts_once(name: str) -> None:
    """However often and in whatever order it is told and seen."""
    check(*TOLD[name])


@pytest.mark.parametrize("name", INFERRED)
def test_what_an_editor_does_not_tell_is_seen(name: str) -> None:
    """A change that inserts what was offered accepts it; keys do not."""
    check(*INFERRED[name])


def test_only_the_last_ids_are_known() -> None:
    """Memory is bounded; what was offered long ago cannot be accepted any more."""
    driver = Driver()
    for number in range(100):
        driver.offer(f"urn {number}")
    driver.tell("all", 1)
    driver.tell("all", 100)
    assert driver.counts() == {"shown": 100, "accepted": 1, "ignored": 99, "acceptedChars": 6}
