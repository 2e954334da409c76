"""
How long an editor's list is held back inside words: a client like VS Code types into the real server, and pauses.

    scripts/get-qwen 0.5b
    python -m benchmarks.list_wait --model 0.5b --keys 600 FILE…

Of each file the second half is typed, at the pace of `benchmarks/recorded` (medians .09 s, .16 s at three of four keys);
each key asks after 0.05 s and cancels the request before it, as VS Code does, and each eighth key is followed by a pause
of a second. Printed is the time from the request to its answer in these pauses, empty ones apart.
"""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.arguments import model_file, parser
from fim_lsp.context.grammars import language_of
from fim_lsp.session.stats import percentile
from tests.e2e.client import AUTOMATIC, INLINE, Editor, at, insertion, wait_until

ASKS_S = 0.05
PAUSE_S, EVERY = 1.0, 8
GAPS_S, WEIGHTS = (0.04, 0.07, 0.09, 0.16, 0.29), (10, 20, 30, 25, 15)
CLIENT = {"name": "Visual Studio Code", "version": "1.139.0"}

Times = dict[tuple[bool, bool], list[float]]  # by whether inside a word, and whether empty


def main() -> None:
    """Type each file, print a table."""
    arguments = parser("list_wait", __doc__)
    arguments.add_argument("--model", type=model_file, default="0.5b")
    arguments.add_argument("--keys", type=int, default=600, help="of each file")
    arguments.add_argument("files", type=Path, nargs="+")
    options = arguments.parse_args()
    times: Times = defaultdict(list)
    rng = random.Random(1)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        editor = Editor(Path(folder))
        backend = {"kind": "embedded", "model": str(options.model)}
        editor.initialize(clientInfo=CLIENT, initializationOptions={"fim": {"backend": backend}})
        for file in options.files:
            (Path(folder) / file.name).touch()  # else nothing of it may be used
            uri = (Path(folder) / file.name).as_uri()
            for in_word, empty, ms in type_file(editor, uri, file, options.keys, rng):
                times[in_word, empty].append(ms)
        print(editor.request("fim/stats", {})["outcomes"])
        editor.leave()
        editor.close()
    print(table(times))


def type_file(
    editor: Editor, uri: str, file: Path, n_keys: int, rng: random.Random
) -> Iterator[tuple[bool, bool, float]]:
    """Yield of each pause whether it is inside a word, whether the answer is empty, and its time."""
    text = file.read_text("utf-8")
    half = text.index("\n", len(text) // 2) + 1
    editor.open(uri, text[:half], language_of(file.name) or "plaintext")
    wait_until(lambda: editor.request("fim/stats", {})["backend"]["state"] == "ready", "the model")
    line, column, asked = text[:half].count("\n"), 0, 0
    for n, key in enumerate(text[half : half + n_keys]):
        editor.change(uri, n + 2, insertion(line, column, key))
        line, column = (line + 1, 0) if key == "\n" else (line, column + 1)
        if asked and not editor.answers[asked]:
            editor.notify("$/cancelRequest", {"id": asked})
        time.sleep(ASKS_S)
        began, asked = time.perf_counter(), editor.ask(INLINE, at(uri, line, column, AUTOMATIC))
        if n % EVERY:
            time.sleep(max(0.0, rng.choices(GAPS_S, WEIGHTS)[0] - ASKS_S))
            continue
        answer = editor.answer(asked)
        ms = (time.perf_counter() - began) * 1e3
        yield key.isalnum() or key == "_", not answer["result"]["items"], ms
        time.sleep(max(0.0, PAUSE_S - ms / 1e3))


def table(times: Times) -> str:
    """Return the figures."""
    rows = ["| | pauses | p50, ms | p95, ms |", "| --- | ---: | ---: | ---: |"]
    for in_word in (True, False):
        where = "inside words" if in_word else "elsewhere"
        text, empty = times[in_word, False], times[in_word, True]
        for name, some in (("any answer", text + empty), ("ghost text", text), ("nothing", empty)):
            figures = " | ".join(f"{percentile(some, share):.0f}" for share in (0.5, 0.95))
            rows.append(f"| {where}: {name} | {len(some)} | {figures} |")
    return "\n".join((*rows, "", f"load {os.getloadavg()[0]:.1f}"))


if __name__ == "__main__":
    main()
