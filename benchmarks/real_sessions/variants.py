"""
What the idle processor could add: keys saved by the session with one thing changed, beside today's, as in `expected`.

    python -m benchmarks.real_sessions.variants REPO… [--readers 4] [--ways "at once,sure"]

Played are the sessions for choosing (`tune`), by the same readers with the same seeds, so a variant is paired with
today's: the ratio of both is drawn over sessions. First come bounds, which no mechanism of their kind can pass: models
that take no time where it would save some, and a judge who knows what will be typed.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks import markdown
from benchmarks.arguments import parser
from benchmarks.progress import tell
from benchmarks.real_sessions import recordings, simulated, virtual_editor
from benchmarks.real_sessions.confidence import Unsure
from benchmarks.real_sessions.expected import DATA, EMPTY, with_texts
from benchmarks.real_sessions.intervals import bootstrap
from benchmarks.real_sessions.readers import READERS
from benchmarks.real_sessions.recordings import Said, Spoken, spell
from benchmarks.real_sessions.replayed import ReplayedModel, Speed, speed
from benchmarks.real_sessions.simulated import ALONE, Outcome, play, virtual_time
from benchmarks.real_sessions.texts import Text
from fim_lsp.session.answering import dispatcher
from fim_lsp.suggest import pace
from fim_lsp.suggest.request import Requester
from server_bridge.protocol import Reply, Request

SPEEDS = (20, 40)  # tokens decoded a second
KINDS = ("people", "quick")
CELLS = tuple(product(KINDS, SPEEDS))
NO_TIME = Speed(math.inf, math.inf)
CERTAIN = 0.0
NEVER = -9.0  # the logarithm of a probability: behind it nothing is shown
HEAD = ("variant", *(f"{kind}, {per_s}" for kind, per_s in CELLS), "wrong by right", "model's time")

Says = Callable[[str, str], Said | None]


class AtOnce(ReplayedModel):
    """Nothing takes time."""

    def __init__(self, says: Says, pace: Speed) -> None:
        super().__init__(says, pace)
        self._pace = NO_TIME


class Ready(ReplayedModel):
    """Texts that were made ready take no time, but for the token under way; the time that they took is counted."""

    def is_ready(self, request: Request) -> bool:
        """Return whether the text is there when it is asked for."""
        raise NotImplementedError

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        usual = self._pace
        n_decoded = self.n_decoded
        n_evaluated = self.n_evaluated
        is_ready = self.is_ready(request)
        if is_ready:
            self._pace = NO_TIME
            self._free_at = 0.0
        try:
            async with aclosing(super().stream(request)) as replies:
                async for reply in replies:
                    yield reply
        finally:
            self._pace = usual
            if is_ready:
                self.busy_s += (self.n_evaluated - n_evaluated) / usual.prompt_per_s
                self.busy_s += (self.n_decoded - n_decoded) / usual.decode_per_s


class NextLine(Ready):
    """The text of a line that is begun is ready: it was decoded while the line above was typed."""

    def is_ready(self, request: Request) -> bool:
        typed = request.prompt.middle + request.prompt.forced
        return not typed.rpartition("\n")[2].strip()


class Contradicted(Ready):
    """The text behind a key that the last text does not have is ready: another stream had begun with it."""

    def __init__(self, says: Says, pace: Speed) -> None:
        super().__init__(says, pace)
        self._claim = ""

    def is_ready(self, request: Request) -> bool:
        prompt = request.prompt
        claimed = self._claim
        said = self._says(prompt.middle, prompt.forced)
        self._claim = prompt.middle + (spell(said[0]) if said else prompt.forced)
        return bool(claimed) and not claimed.startswith(prompt.middle + prompt.forced)


class Kept(ReplayedModel):
    """A text that was begun is decoded to its end beside all else, whatever is typed. State: when which one began."""

    def __init__(self, says: Says, pace: Speed) -> None:
        super().__init__(says, pace)
        self._begun = dict[
            str, tuple[float, int]
        ]()  # by all of it: the time of its first token, its tokens

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        time = asyncio.get_running_loop().time
        usual = self._pace
        said = self._says(request.prompt.middle, request.prompt.forced)
        tokens = said[0] if said else ()
        whole = request.prompt.middle + spell(tokens)
        busy_s = self.busy_s
        is_new = whole not in self._begun
        if not is_new:
            self._pace = NO_TIME
            self._free_at = self._token_at(whole, 0, len(tokens))
        try:
            async with aclosing(super().stream(request)) as replies:
                n = 0
                async for reply in replies:
                    n += 1
                    if n == 1 and is_new:
                        busy_s = self.busy_s + max(0, len(tokens) - 1) / usual.decode_per_s
                        self._begun[whole] = (time(), len(tokens))
                    self._pace = usual
                    self._free_at = max(time(), self._token_at(whole, n, len(tokens)))
                    yield reply
        finally:
            self._pace = usual
            self._free_at = 0.0
            self.busy_s = busy_s

    def _token_at(self, whole: str, n: int, n_left: int) -> float:
        """Return when the token behind *n* of the last *n_left* of a text is there."""
        began, n_tokens = self._begun[whole]
        return began + (n_tokens - n_left + n) / self._pace.decode_per_s


def judge(spoken: Spoken, text: Text) -> Says:
    """Have what is right be certain, and all behind it never shown."""
    document = text.head + text.block + text.tail

    def says(middle: str, forced: str) -> Said | None:
        said = spoken.behind(middle, forced)
        start, n_same = spoken.place(middle)
        if said is None or n_same < len(middle):
            return said
        tokens, stop = said
        at = start + n_same
        judged = []
        for token in tokens:
            piece = token.text.decode("utf-8", "replace")
            is_right = at >= 0 and document.startswith(piece, at)
            judged.append(token._replace(logprob=CERTAIN if is_right else NEVER))
            at = at + len(piece) if is_right else -1
        return tuple(judged), stop

    return says


def replayed(spoken: Spoken, _text: Text) -> Says:
    """Return what was recorded."""
    return spoken.behind


class Way(NamedTuple):
    """
    A variant: its *name* in the table, the *model* that plays what *says* makes of the recordings in the file *of*, and
    *changes* of the program, as owner, name and value. It is compared with the one *beside*.
    """

    name: str
    model: type[ReplayedModel] = ReplayedModel
    says: Callable[[Spoken, Text], Says] = replayed
    changes: tuple[tuple[Any, str, Any], ...] = ()
    of: str = "tune"
    beside: str = "today"


def completing(**settings: Any) -> tuple[Any, str, Any]:
    """Return the change of settings of completion."""
    changed = replace(ALONE.completion, **settings)
    return simulated, "ALONE", replace(ALONE, completion=changed)


LINGERS = (dispatcher, "LINGER_S", math.inf)
AHEAD = (dispatcher, "AHEAD_TOKENS", 0)
WHOLE = (virtual_editor, "Requester", lambda **_: Requester())  # nothing is shown before the answer
ASKED = completing(debounce_ms=0)
FAR = "today, recorded further"
PATIENT = "whole after 250 ms"
WAYS = (
    Way("today"),
    Way("bound: nothing takes time", AtOnce, changes=(ASKED,)),
    Way("bound: a text goes on to its end", Kept),
    Way("bound: the next line's text is ready", NextLine),
    Way("bound: the text behind a contradiction is ready", Contradicted),
    Way("decoded on as long as it agrees", changes=(LINGERS,)),
    Way("decoded on, and ahead at once", changes=(LINGERS, AHEAD)),
    Way("asked at each key", changes=(ASKED,)),
    Way("asked at each key, but later after refusals", changes=((pace, "WORD_SHARE", 0.0),)),
    Way("asked 150 ms after a key", changes=(completing(debounce_ms=150),)),
    Way(FAR, of="tune.far"),
    Way("bound: a judge who knows", says=judge, of="tune.far", beside=FAR),
    Way("bound: both", AtOnce, judge, (ASKED,), "tune.far", FAR),
    Way("without probabilities", Unsure, of="tune.far", beside=FAR),
    *(
        Way(f"sure: {sure}", changes=(completing(min_confidence=sure),), of="tune.far", beside=FAR)
        for sure in (0.1, 0.2, 0.4, 0.5, 0.6)
    ),
    Way(PATIENT, changes=(WHOLE,)),
    *(
        Way(
            f"whole after {ms} ms",
            changes=(WHOLE, completing(patience_ms=ms)),
            beside=PATIENT,
        )
        for ms in (50, 100, 500, 1000)
    ),
)


Outcomes = Mapping[tuple[str, int], Mapping[str, Outcome]]  # by reader and speed, and session


def main() -> None:
    """Play, and print a row for each variant."""
    arguments = parser("benchmarks.real_sessions.variants", __doc__)
    arguments.add_argument("histories", nargs="+", type=Path, help="as for `expected`")
    arguments.add_argument("--ways", default="", help="those with one of these words, by commas")
    arguments.add_argument("--readers", type=int, default=4, help="play so many of each kind")
    options = arguments.parse_args()
    words = options.ways.split(",")
    ways = [way for way in WAYS if any(word in way.name for word in words)]
    ways = [way for way in WAYS if way in ways or any(way.name == one.beside for one in ways)]
    played: dict[str, Outcomes] = {}
    rows = []
    for way in tell(ways, len(ways), lambda way: way.name):
        played[way.name] = play_way(way, options.histories, options.readers)
        rows.append(row(way.name, played[way.name], played[way.beside]))
        print(*rows[-1], sep=" | ", flush=True)
    print(f"{options.readers} readers of each kind\n\n{markdown.table(HEAD, rows)}")


def play_way(way: Way, histories: Sequence[Path], n_readers: int) -> Outcomes:
    """Return what is to be expected of each session."""
    _, recorded = recordings.load(DATA / f"{way.of}.json.xz")
    cells = {cell: dict[str, Outcome]() for cell in CELLS}
    for one, text in with_texts(recorded, histories):
        says = way.says(Spoken(one.streams, text.head, text.block), text)
        for cell in CELLS:
            total = EMPTY
            for number in range(n_readers):
                total = total.add(_play_one(way, says, text, cell, number))
            cells[cell][one.name] = total.mean
    return cells


def _play_one(way: Way, says: Says, text: Text, cell: tuple[str, int], number: int) -> Outcome:
    kind, per_s = cell
    with virtual_time() as run, pytest.MonkeyPatch.context() as patch:
        for change in way.changes:
            patch.setattr(*change)
        outcome: Outcome = run(play(way.model(says, speed(per_s)), text, READERS[kind], number))
    return outcome


def row(name: str, own: Outcomes, other: Outcomes) -> tuple[str, ...]:
    """Return the keys saved by those that the *other* saves in the same sessions, what is wrong, and the time."""
    cells = []
    for cell in CELLS:
        pairs = [(_saved(one), _saved(other[cell][name])) for name, one in own[cell].items()]
        low, middle, high = bootstrap(pairs)
        cells.append(f"{middle:.2f} [{low:.2f}, {high:.2f}]")
    wrong = _total(own, "wrong_chars") / (_total(own, "n_taken") or 1)
    time = _total(own, "busy_s") / _total(other, "busy_s")
    return name, *cells, f"{wrong:.2f}", f"{time:.2f}" if time else "–"


def _saved(one: Outcome) -> float:
    return one.n_alone - one.n_pressed


def _total(outcomes: Outcomes, field: str) -> float:
    return sum(getattr(one, field) for by in outcomes.values() for one in by.values())


if __name__ == "__main__":
    main()
