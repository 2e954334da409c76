"""A long session of fast typing, cancelling at every moment: at the end all is as at the beginning."""

from __future__ import annotations

import argparse
import inspect
import random
import time
from collections import deque
from pathlib import Path

from tests.e2e.client import INLINE, Editor, at, insertion

CODE = inspect.getsource(argparse)
ABOVE, TYPED = CODE[:8000], CODE[8000:8350]
PAUSES_S = (0.0, 0.001, 0.003, 0.008, 0.015, 0.03)  # faster than any hand, to be at every moment
EMBEDDED = {"fim": {"backend": {"kind": "embedded"}, "completion": {"debounceMs": 0}}}


def test_hundreds_of_requests_given_up(editor: Editor, tmp_path: Path) -> None:
    """Each key asks, and gives up what older ones asked, sometimes late; the last one is answered."""
    rng = random.Random(7)
    uri = (tmp_path / "parser.py").as_uri()
    editor.initialize(rootUri=tmp_path.as_uri(), initializationOptions=EMBEDDED)
    editor.open(uri, ABOVE)
    line, column = ABOVE.count("\n"), len(ABOVE.rpartition("\n")[2])
    waiting: deque[int] = deque()

    def ask(kind: int) -> int:
        return editor.ask(INLINE, at(uri, line, column, kind))

    for version, key in enumerate(TYPED, 2):
        editor.change(uri, version, insertion(line, column, key))
        line, column = (line + 1, 0) if key == "\n" else (line, column + 1)
        while waiting and rng.random() < 0.8:
            editor.notify("$/cancelRequest", {"id": waiting.popleft()})
        waiting.append(ask(2))
        time.sleep(rng.choice(PAUSES_S))
    answer = editor.answer(ask(1))
    assert answer["result"]["items"], answer
    stats = editor.request("fim/stats")
    assert stats["backend"]["state"] == "ready"
    assert stats["mirror"]["wrong"] == 0
