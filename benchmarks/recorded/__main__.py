"""
A session that was recorded, played into fim-lsp: what is shown in the pauses, beside what Copilot showed.

    scripts/tools/get-qwen 0.5b
    python -m benchmarks.recorded --half tune --answers tune.jsonl

--answers keeps what was answered, so that a run which was stopped goes on there; once all is known, no model is needed.
`replay` says how it is played, `pauses` what counts, `scores` who reads.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import markdown
from benchmarks.arguments import model_file, parser
from benchmarks.progress import tell
from benchmarks.recorded.log import SESSION, read
from benchmarks.recorded.pauses import HALVES, Pause, pauses
from benchmarks.recorded.replay import Answer, play
from benchmarks.recorded.scores import HEAD, answered, recorded, row


def main() -> None:
    """Play what is missing, print."""
    options = _options()
    recording = read(SESSION)
    places = pauses(recording, options.half)
    answers = {answer.change: answer for answer in _read(options.answers)}
    missing = {pause.change: pause.at for pause in places if pause.change not in answers}
    if missing:
        for answer in tell(play(recording, _settings(options), missing), len(missing)):
            answers[answer.change] = answer
            _note(options.answers, answer)
    print(table(places, answers))


def table(places: list[Pause], answers: dict[int, Answer]) -> str:
    """Return the figures of both tools, in all pauses and in those that were followed by typing."""
    rows = list[tuple[object, ...]]()
    for name, some in (("all", places), ("typed by hand", [p for p in places if p.is_typed])):
        rows.append(row(f"{name}: fim-lsp", answered(some, answers)))
        if any(pause.recorded for pause in places):
            rows.append(row(f"{name}: as recorded", recorded(some), timed=False))
    return markdown.table(HEAD, rows)


def _settings(options: argparse.Namespace) -> dict[str, object]:
    """Return the settings of the server: no wait, as what is not taken would make it longer."""
    completion = {"debounceMs": 0} | json.loads(options.completion)
    return {"backend": {"kind": "embedded", "model": str(options.model)}, "completion": completion}


def _read(file: Path | None) -> Iterator[Answer]:
    if file and file.exists():
        for line in file.read_text("utf-8").splitlines():
            yield Answer(*json.loads(line))


def _note(file: Path | None, answer: Answer) -> None:
    if file:
        with file.open("a", encoding="utf-8") as lines:
            print(json.dumps(answer), file=lines)
    print(f"{answer.change}: {answer.ms:.0f} ms, {answer.text!r}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    arguments = parser("benchmarks.recorded", __doc__)
    add = arguments.add_argument
    add(
        "--model",
        type=model_file,
        default="0.5b",
        help="0.5b, 1.5b (scripts/tools/get-qwen) or a file",
    )
    add("--half", choices=HALVES, default="all", help="the changes to tune on, or the rest")
    add("--answers", type=Path, metavar="FILE", help="what was answered: read, and written to")
    add("--completion", default="{}", metavar="JSON", help="settings of fim.completion")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
