"""The list of completions of an editor in a browser."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.editors.browser import POLL_S, Browser
from tests.editors.meant import Row, word_of

COMES_S = 30.0  # a suggestion, on a busy machine; then the last letter is typed again
N_TRIES = 3
N_KEYS = 30  # to the item, and on it
CLOSES_S = 2.0  # CodeMirror takes no key in the first 75 ms of a list


def choose(page: Browser, row: Row, item: str, active: str) -> None:
    """
    Have the item of the list inserted that is the row's; without one, type the last letter again, some times.

    A client that lost an answer, or had asked before the server was ready, does not ask again by itself. *item* finds
    the items, with *active* behind it the one that a key would insert.
    """

    def is_ours(selector: str) -> bool:
        texts = page("texts", selector)
        assert isinstance(texts, list)
        return any(text.startswith(word_of(row)) for text in texts)

    for _ in range(N_TRIES):
        if _comes(lambda: is_ours(item), COMES_S):
            break
        page("press", "Backspace")
        page("type", row.typed[-1])
    else:
        page("press", "Escape")
        return
    for _ in range(N_KEYS):
        if not is_ours(item):
            return
        if is_ours(item + active):
            page("press", "Enter")
            _comes(lambda: not page("exists", item), CLOSES_S)
        else:
            page("press", "ArrowDown")


def _comes(seen: Callable[[], object], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True
