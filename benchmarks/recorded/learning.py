"""
What learning hides in a recorded session, and when: in seconds, on what a model said there.

    python -m benchmarks.recorded.learning [--early N] [ANSWERS]

The server's own record (`session.quietness`) weighs each text that is sure enough, at the recorded times. The developer takes
nothing; once, what was typed along counts, as far as it is right, and once not even that, as in a replay that tells the server nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.arguments import parser
from benchmarks.recorded.answers import ANSWERS, is_quiet, read_answers
from benchmarks.recorded.gate import DEFAULT, decode
from benchmarks.recorded.log import SESSION, Changed, entries, read
from benchmarks.recorded.pauses import Pause, pauses
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import n_common, open_document
from fim_lsp.session.quietness import Quietness
from fim_lsp.settings.config import Config
from fim_lsp.suggest import worth
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.request import request_at
from server_bridge.protocol import Health, State

ANSWER_S = 0.25  # until the text is on screen
READY = State(Health.READY, "")
HEAD = (
    "| | texts | shown | right | wrong | first hidden: minute, text | the status says, at minute |\n"
    "| --- | ---: | ---: | ---: | ---: | --- | --- |"
)


def main() -> None:
    """Print a table."""
    arguments = parser("recorded.learning", __doc__)
    add = arguments.add_argument
    add("answers", nargs="?", type=Path, default=ANSWERS, metavar="ANSWERS")
    add("--early", type=int, default=worth.EARLY, metavar="N", help="hide nothing before so many")
    options = arguments.parse_args()
    worth.EARLY = options.early
    recording, answers = read(SESSION), read_answers(options.answers)
    times = [entry.ms / 60_000 for entry in entries(recording) if isinstance(entry, Changed)]
    loud = [one for one in pauses(recording) if one.change in answers and not is_quiet(one)]
    texts = [(one, _shown(one, answers[one.change])) for one in loud]
    texts = [(one, candidate) for one, candidate in texts if candidate.text]
    print(HEAD)
    for along in (True, False):
        print(row(texts, times, along=along))


def row(texts: list[tuple[Pause, Candidate]], times: list[float], *, along: bool) -> str:
    """Return the figures of one user; *times* are the minutes of all changes."""
    now, shown, hidden, told = [0.0], list[tuple[int, int]](), "none", "nothing"
    quiet = Quietness(None, lambda: now[0])
    for n, (pause, candidate) in enumerate(texts, 1):
        minute = times[pause.change - 1] - times[0]
        now[0] = 60 * minute + ANSWER_S
        exposure = quiet.weigh(_request(pause), candidate, ANSWER_S, so_far=False)
        if quiet.hides and told == "nothing":
            told = f"{quiet.why()}, {minute:.0f}"
        if exposure is None:
            hidden = f"{minute:.0f}, {n}" if hidden == "none" else hidden
            continue
        n_right = n_common(candidate.text, pause.truth)
        shown.append((n_right, len(candidate.text) - n_right))
        now[0] = 60 * minute + pause.seconds
        quiet.judge(exposure, n_along=n_right if along else 0)
    right, wrong = (sum(numbers) for numbers in zip(*shown, strict=True))
    name = "typed along counts" if along else "nothing counts"
    return f"| {name} | {len(texts)} | {len(shown)} | {right} | {wrong} | {hidden} | {told} |"


def _shown(pause: Pause, said: Candidate) -> Candidate:
    return polish(decode(DEFAULT, pause, said), pause.cursor, DEFAULT)


def _request(pause: Pause) -> Any:
    document = open_document(
        f"file:///{pause.path}", language_of(pause.path), pause.change, pause.text
    )
    return request_at(document, pause.position, pause.path, Config(), READY)


if __name__ == "__main__":
    main()
