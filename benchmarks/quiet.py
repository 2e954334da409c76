"""
How quiet each rule is, and what that costs: a simulated user types through recorded answers of a real model.

    python -m benchmarks.quiet --answers qwen.jsonl                     # in seconds
    python -m benchmarks.quiet --answers qwen.jsonl --svg docs/images/quiet.svg

The answers are those of `benchmarks.gate`, at places in code of 2025 and later. A user comes to one place after the
other, in a new order each day, and pauses there; a suggestion that is there before the next key may be taken or is an
interruption. The users differ in what they take (`USERS`), the rules in when something is shown (`RULES`).
`START` in `fim_lsp/suggest/worth.py` was found on places of the tuning files; the tables are of those held out.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments
from benchmarks.gate import Shown, _table, show
from benchmarks.plot import Axis, Series, plot
from benchmarks.raw_answers import Answer, read
from benchmarks.real_sessions.choice import in_set
from fim_lsp.session.quietness import REMEMBERED
from fim_lsp.settings.config import Config
from fim_lsp.suggest import back_off, worth
from fim_lsp.suggest.back_off import PastReaction, Reaction
from fim_lsp.suggest.worth import Prospect, Record

SURE = Config().sure
DAYS = 5  # of all places each, in another order: the first teaches, all count
BETWEEN_S = 12.0  # from place to place, in the mean
ANSWER_S = 0.25  # until the model has said a line
SPREAD = 0.6  # of the pauses: the places are those where a user stops, so most are longer than a look takes
SEED = 2026
WORD = re.compile(r"\s*(?:\w+|[^\w\s])")


class User(NamedTuple):
    """*least*: right characters worth a key; *whole*: only where the line is right; *pause_s* between keys, in the median."""

    name: str
    least: int
    whole: bool
    dismisses: bool
    pause_s: float


USERS = (
    User("takes words", 4, False, False, 1.5),
    User("takes lines", 4, True, True, 1.5),
    User("types on", 12, True, False, 0.8),
)


class Offer(NamedTuple):
    """What a rule may show at a place, and what it is worth to a user."""

    place: Prospect
    words_saved: int  # keys, where right words are taken
    line_saved: int  # where whole right lines are
    wrong: int


class Seen(NamedTuple):
    """A suggestion on screen: for how many seconds, from *now*."""

    place: Prospect
    seconds: float
    now: float


@dataclass(slots=True)
class Count:
    """What a user saw."""

    places: int = 0
    shown: int = 0
    taken: int = 0
    saved: int = 0
    wrong: int = 0

    @property
    def interruptions(self) -> int:
        """Shown, and not taken."""
        return self.shown - self.taken


@dataclass(slots=True)
class Rule:
    """Shows everything that the model is sure of; see `RULES`."""

    name: str
    sure: float = SURE
    waits: Callable[[float, float], float] | None = None  # usual, strength
    learns: bool = False
    backs_off: bool = False
    judged: deque[PastReaction] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    record: Record = field(default_factory=Record)
    n_hidden: int = 0

    def strength(self, now: float) -> float:
        """Return how rare it makes suggestions."""
        return back_off.strength(self.judged, now) if self.backs_off else 1.0

    def shows(self, place: Prospect, now: float) -> bool:
        """Return whether the suggestion is shown."""
        record = self.record if self.learns else Record()
        if not (self.learns or self.backs_off) or worth.is_worth(record, place, self.strength(now)):
            return True
        self.n_hidden += 1
        return self.n_hidden % worth.AGAIN == 0

    def wait_s(self, now: float) -> float:
        """Return how long it waits after a key."""
        if self.waits is None:
            return 0.0
        strong = _copilot(self.judged, now) if not self.backs_off else self.strength(now)
        return self.waits(0.0, strong) / 1000

    def learn(self, place: Prospect, verdict: Reaction, now: float) -> None:
        """What became of it."""
        self.judged.append(PastReaction(verdict, now))
        if self.learns:
            taken, accepted = verdict in back_off.TAKEN, verdict is Reaction.ACCEPTED
            self.record = worth.learn(self.record, place, taken=taken, accepted=accepted)


def _copilot(judged: deque[PastReaction], now: float) -> float:
    """Copilot's factor: every suggestion that is not accepted is a rejection; no lower bound but that of the wait."""
    total = 0.0
    for past in judged:
        factor = 0.8 if past.verdict is Reaction.ACCEPTED else 1.5
        total += math.log(factor) * math.exp(-(now - past.at) / back_off.FADE_S)
    return math.exp(total)


def copilot_wait_ms(_: float, strong: float) -> float:
    """Copilot's clamp."""
    return max(50.0, min(75.0 * strong, 3000.0))  # its usual debounce is 75 ms


def rules() -> list[Rule]:
    """Return the rules that are compared."""
    return [
        Rule("everything (llama.vim)", sure=0.0),
        Rule("no learning"),
        Rule("Copilot's delay", waits=copilot_wait_ms),
        Rule("back-off only", waits=back_off.wait_ms, backs_off=True),
        Rule("learning only", learns=True),
        Rule("both (default)", waits=back_off.wait_ms, backs_off=True, learns=True),
    ]


def offers(answers: list[Answer], sure: float) -> list[Offer | None]:
    """By place what may be shown, None for nothing."""
    return [_offer(show(answer, sure)) for answer in answers]


def _offer(one: Shown) -> Offer | None:
    if not one.text:
        return None
    logprobs = [
        logprob for at, logprob in one.candidate.odds if logprob is not None and at <= len(one.text)
    ]
    probability = math.exp(sum(logprobs)) if logprobs else 1.0
    answer = one.answer
    place = Prospect(
        answer.place.language, probability, len(one.text), one.text.count("\n") + 1,
        answer.cursor.before, 0.0,
    )  # fmt: skip
    n_words, at = 0, 0
    while (match := WORD.match(one.text, at)) and match.end() <= one.right:
        n_words, at = n_words + 1, match.end()
    n_line = _lines(one)
    by_words = max(at - n_words, n_line - 1 if n_line else 0)
    return Offer(place, by_words, n_line - 1 if n_line else 0, one.wrong)


def _lines(one: Shown) -> int:
    """Return characters of whole lines at its beginning that are right."""
    n_right = 0
    for match in re.finditer(r"[^\n]*(?:\n|$)", one.text):
        end = match.end()
        if not match[0].strip():
            continue
        if match.start() + len(match[0].rstrip("\n")) > one.right:
            break
        n_right = end
    return min(n_right, len(one.text))


def live(user: User, rule: Rule, offers: list[Offer | None], seed: int, days: int = DAYS) -> Count:
    """Return what *user* sees in some days of all places."""
    rng, now, count = random.Random(seed), 0.0, Count()
    for _ in range(days):
        order = list(offers)
        rng.shuffle(order)
        for offer in order:
            now += rng.expovariate(1 / BETWEEN_S)
            pause = rng.lognormvariate(math.log(user.pause_s), SPREAD)
            count.places += 1
            if offer is None:
                continue
            before_s = ANSWER_S + rule.wait_s(now)
            place = offer.place._replace(pause_s=before_s)
            seconds = pause - before_s
            if seconds <= 0 or not rule.shows(place, now):
                continue
            _see(user, rule, offer, Seen(place, seconds, now), count)
    return count


def _see(user: User, rule: Rule, offer: Offer, seen: Seen, count: Count) -> None:
    saved = offer.line_saved if user.whole else offer.words_saved
    could_read = seen.seconds >= back_off.READ_S
    taken = saved + 1 >= user.least and could_read
    count.shown += 1
    count.wrong += offer.wrong
    count.taken += taken
    count.saved += saved if taken else 0
    dismissed = user.dismisses and could_read
    n_along = 0 if offer.wrong or dismissed else back_off.ALONG_CHARS
    verdict = back_off.verdict(
        accepted=taken, dismissed=dismissed, n_along=n_along, seconds=seen.seconds
    )
    if verdict:
        rule.learn(seen.place, verdict, seen.now)


def rows(answers: list[Answer], seeds: int = 4) -> Iterator[tuple[object, ...]]:
    """For each user and rule, the counts, and how they compare with no learning."""
    by_sure = {sure: offers(answers, sure) for sure in {rule.sure for rule in rules()}}
    for user in USERS:
        counts = {
            rule.name: _sum([live(user, one, by_sure[rule.sure], seed) for seed, one in enumerate(_copies(rule, seeds), SEED)])
            for rule in rules()
        }  # fmt: skip
        base = counts["no learning"]
        for name, count in counts.items():
            yield (
                user.name, name, count.shown, count.taken, count.interruptions, count.wrong, count.saved,
                _change(count.interruptions, base.interruptions), _change(count.wrong, base.wrong),
                _change(count.saved, base.saved),
            )  # fmt: skip


def _copies(rule: Rule, n: int) -> list[Rule]:
    return [next(fresh for fresh in rules() if fresh.name == rule.name) for _ in range(n)]


def _sum(counts: list[Count]) -> Count:
    names = Count.__slots__
    return Count(*(sum(getattr(count, name) for count in counts) for name in names))


def _change(now: int, before: int) -> str:
    return f"{100 * (now - before) / max(1, before):+.0f} %"


def cost_us(answers: list[Answer]) -> float:
    """Microseconds of the processor that a request pays for all of it."""
    rule = rules()[-1]
    shown = [offer for offer in offers(answers, SURE) if offer]
    begin = time.process_time()
    for n, offer in enumerate(shown):
        rule.wait_s(float(n))
        rule.shows(offer.place, float(n))
        rule.learn(offer.place, Reaction.IGNORED, float(n))
    return 1e6 * (time.process_time() - begin) / len(shown)


def main() -> None:
    """Replay, print, draw."""
    options = _options()
    answers = [*read(options.answers)]
    test = [answer for answer in answers if in_set(answer.place.path) == "held-out"]
    print(f"{len(test)} places, {DAYS} days, 4 times\n")
    results = [*rows(test)]
    _table(
        "user | rule | shown | taken | interruptions | wrong characters | keys saved | interruptions | wrong | keys saved",
        results,
    )
    if options.svg:
        options.svg.write_text(draw(results), "utf-8")
    print(f"{cost_us(answers):.0f} µs a request")


def draw(results: list[tuple[object, ...]]) -> str:
    """Return a panel per user, a dot per rule, relative to the most that any rule has."""
    panels: dict[str, dict[str, Series]] = {str(row[0]): {} for row in results}
    for user, panel in panels.items():
        dots = {
            str(row[1]): (float(str(row[4])), float(str(row[6])))
            for row in results
            if row[0] == user
        }
        most = [max(values) for values in zip(*dots.values(), strict=True)]
        for rule, (interruptions, saved) in dots.items():
            panel[rule] = Series(dot=(interruptions / most[0], saved / most[1]))
    shares = {"0": 0, "most": 1}
    return plot(panels, Axis("interruptions", shares), Axis("keys saved", shares))


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.quiet", __doc__)
    parser.add_argument("--answers", type=Path, required=True, help="the file of recorded answers")
    parser.add_argument("--svg", type=Path, help="draw the picture")
    return parser.parse_args()


if __name__ == "__main__":
    main()
