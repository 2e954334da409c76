"""Counters into one JSON object (`fim/stats`). Pure; `Session` owns the one instance."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from fim_lsp.documents import Document, Edit, Position
from fim_lsp.suggest.reasons import End, Outcome
from fim_lsp.suggest.request import Suggestion
from server_bridge.protocol import Reply, State, Timings, Warmed


class Answer(NamedTuple):
    """
    *suggestions*, the best first; *end* says where they come from, or why there are none.
    """

    suggestions: list[Suggestion]
    end: End
    cost: Timings = Timings()


class LastAnswer(NamedTuple):
    """
    The last *answer* in a document: to a request in this *version* at *position*, *by_hand* or not.
    """

    version: int
    position: Position
    by_hand: bool
    answer: Answer

    @property
    def is_withdrawn(self) -> bool:
        """Return whether a key, or the client, came before the answer."""
        return self.answer.end.outcome is Outcome.SUPERSEDED

    def after(self, document: Document, edits: Sequence[Edit], version: int) -> LastAnswer:
        """
        Return the same for *document* after *edits*, where these only take blanks away.

        Editors do that by themselves: with the indentation of a line that is left empty, or when a
        file is saved.
        """
        match edits:
            case [edit] if not edit.text and self.version == document.version:
                if not document.between(edit.start, edit.end).strip(" \t"):
                    return self._replace(version=version, position=edit.carry(self.position))
        return self


RECENT = 512  # latencies kept for the percentiles: some minutes of typing
TOKENS = ("evaluated", "cached", "predicted", "background", "drafted", "draftsAccepted")
N_KEYS = 120  # requests whose cost is kept one by one: as many as a plot can show


class Answered(NamedTuple):
    """
    One request: how it ended, after how many milliseconds, and the tokens evaluated since the one
    before it: while one waited, and while none did.
    """

    outcome: str
    ms: float
    evaluated: int
    background: int


@dataclass(slots=True)
class Stats:
    """
    The counters since the server started; `outcomes` counts every request once, by its end.

    *on_left* gets how many tokens a first look still lacks: the prompt of a request that waits, or
    of the cursor's place.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    cuts: Counter[str] = field(default_factory=Counter)  # by filter: how often it changed a text
    fates: Counter[str] = field(default_factory=Counter)  # what became of what was shown
    next_edits: Counter[str] = field(default_factory=Counter)  # offered, shown, taken, dismissed
    accepted_chars: int = 0
    generations: int = 0  # completions asked of the backend
    # requests for these, while none of the editor waited and while one did; one each, unless it was
    # left and taken up again
    streams: Counter[bool] = field(default_factory=Counter)
    _warm_steps: int = 0
    tokens: Counter[str] = field(default_factory=Counter)  # in `background` while none waited
    _guesses: Counter[bool] = field(default_factory=Counter)  # of what is cached, wrong and right
    _latencies_ms: tuple[deque[float], deque[float]] = field(  # elsewhere, and inside words
        default_factory=lambda: (deque(maxlen=RECENT), deque(maxlen=RECENT))
    )
    answers: deque[Answered] = field(default_factory=lambda: deque(maxlen=N_KEYS))
    on_left: Callable[[int], None] = field(default=lambda _: None, repr=False)
    _counted: Counter[str] = field(default_factory=Counter)  # the tokens at the last answer

    def count_reply(self, reply: Reply, *, waited_for: bool) -> None:
        """Count what a reply cost."""
        self.on_left(0)
        timings = reply.timings
        self.tokens[_name_cost(waited_for)] += timings.prompt_n
        self.tokens["cached"] += timings.cache_n
        self.tokens["predicted"] += timings.predicted_n
        self.tokens["drafted"] += timings.draft_n
        self.tokens["draftsAccepted"] += timings.draft_accepted_n
        if timings.expected_n is not None:
            self._guesses[timings.expected_n == timings.cache_n] += 1

    def count_warm(self, warmed: Warmed, *, waited_for: bool, is_first: bool = False) -> None:
        """Count one step of prefill; *is_first*: of what the first request at a place needs."""
        self.on_left(warmed.left if waited_for or is_first else 0)
        self._warm_steps += 1
        self.tokens[_name_cost(waited_for)] += warmed.evaluated

    def count_generation(self) -> None:
        """Count a completion that is asked of the backend."""
        self.generations += 1

    def count_stream(self, *, waited_for: bool) -> None:
        """Count a request for a completion's text."""
        self.streams[waited_for] += 1

    def count_cuts(self, filters: Iterable[str]) -> None:
        """Count the *filters* that changed a text."""
        self.cuts.update(filters)

    def count_next_edit(self, what: str) -> None:
        """Count a next edit that was offered, shown, taken or dismissed."""
        self.next_edits[what] += 1

    def count_fate(self, fate: str, before: str) -> None:
        """Count the *fate* of a suggestion, no longer the one *before*, if it had any."""
        if before:
            self.fates[before] -= 1
        self.fates[fate] += 1

    def count_accepted(self, n_chars: int) -> None:
        """Count characters that the user took."""
        self.accepted_chars += n_chars

    def count_answer(self, answer: Answer, ms: float, *, is_in_word: bool = False) -> None:
        """Count one request; a cancelled request has no latency."""
        self.outcomes[answer.end.key] += 1
        if answer.end.outcome is not Outcome.SUPERSEDED:
            self._latencies_ms[is_in_word].append(ms)
        spent = self.tokens - self._counted
        self._counted = self.tokens.copy()
        cost = spent["evaluated"], spent["background"]
        self.answers.append(Answered(answer.end.key, round(ms, 1), *cost))

    def snapshot(
        self, state: State, ring: dict[str, int], last: Answer | None
    ) -> dict[str, object]:
        """Return the object of `fim/stats`; its names are a public contract."""
        return {
            "requests": self.outcomes.total(),
            "shown": self.fates.total(),
            "accepted": self.fates["accepted"],
            "partlyAccepted": self.fates["partlyAccepted"],
            "acceptedChars": self.accepted_chars,
            "ignored": self.fates["ignored"],
            "cacheHits": self.outcomes[Outcome.CACHE],
            "outcomes": dict(self.outcomes),
            "filters": dict(self.cuts),
            "completions": self.generations,
            "streams": self.streams[True],
            "streamsAhead": self.streams[False],
            "warmSteps": self._warm_steps,
            "last": last
            and {
                "outcome": last.end.key,
                "reason": last.end.words,
                "shown": bool(last.suggestions),
                "evaluated": last.cost.prompt_n,
                "cached": last.cost.cache_n,
                "predicted": last.cost.predicted_n,
            },
            "backend": describe(state),
            "tokens": {name: self.tokens[name] for name in TOKENS},
            "mirror": {
                "right": self._guesses[True],
                "wrong": self._guesses[False],
                "cause": state.cache_problem,
            },
            "latencyMs": {
                **percentiles([*chain(*self._latencies_ms)]),
                "inWords": percentiles(self._latencies_ms[True]),
                "elsewhere": percentiles(self._latencies_ms[False]),
                "model": percentile(
                    (answer.ms for answer in self.answers if answer.outcome == Outcome.BACKEND),
                    0.50,
                ),
            },
            "ring": ring,
            "nextEdit": {
                name: self.next_edits[name] for name in ("offered", "shown", "taken", "dismissed")
            },
        }


def _name_cost(waited_for: bool) -> str:
    return "evaluated" if waited_for else "background"


def describe(state: State) -> dict[str, object]:
    """Return the backend as `fim/stats` has it."""
    return {
        "state": state.health.value,
        "ready": state.is_ready,
        "kind": state.kind,
        "url": state.url,
        "model": state.model,
        "bundled": state.is_bundled,
        "message": state.message,
        "secondBest": state.second_best,
        "slots": state.slots,
        "contextTokens": state.n_ctx,
        "guessed": sorted(state.engine.guessed),
    }


def percentiles(values: Collection[float]) -> dict[str, float]:
    """Return the time that half of the answers took at most, empty ones too, and 95 of 100."""
    return {"p50": percentile(values, 0.50), "p95": percentile(values, 0.95)}


def percentile(values: Iterable[float], share: float) -> float:
    """Return the value below which *share* of *values* lie; 0 for none."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else 0.0
