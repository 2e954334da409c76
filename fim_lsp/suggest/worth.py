"""
A suggestion into the keys that it is expected to save this user, and what became of it into better
expectations. Pure.

How likely the user takes it is a logistic model over what is known before it is shown (`features`).
It begins with the weights of `START`, found with two models at places in recent code
(benchmarks/README.md), and each suggestion that was shown moves them a little. It is shown where the
keys that it saves, times that probability, outweigh what it costs to read one that is not taken,
times the rest:

    p · (characters - 1)  >=  (1 - p) · COST · (how many were dismissed lately)

That is counted only as far as there is a record to go by (`trust`): at first everything is shown
that the model is sure of, as without a record, and for longer where the user has not accepted one
yet: a user who looks around accepts none. The weights stay near the beginning, and each
`AGAIN`th of those that would be hidden is shown: or the record could never say that they are wanted
after all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec

from fim_lsp.suggest.lines import is_word_sign

# The weights of `features`: bias, odds, length, lines, at line start, inside a word, pause.
START = (-0.77, 0.38, 0.87, 0.32, -0.43, 0.0, 0.0)
# Found with simulated users on one half of the places (benchmarks/README.md): twice the cost
# hides a tenth more and loses twice the keys; with three times the rate the weights follow chance.
COST = 6.0  # keys: reading and rejecting one takes more than a second
RATE = 0.03  # of each suggestion
# back to the beginning: what was learned a hundred suggestions ago is forgotten by two thirds
PULL = 0.01
FARTHEST = 2.0  # of a weight from where it began
MOST_STRONG = 1.5  # of `strength`: more hides what users take
RECORD = 10.0  # suggestions after which half of the gain counts
MOST_RECORD = 300.0
EARLY = 30  # suggestions that could be read; as many, and none accepted, are a record, too
AGAIN = 25
N_LANGUAGES = 32
TOLD = 0.3  # of a language: a tenth more or less
ODDS = 4.0  # bounds of a logarithm of odds
PAUSE_S = (0.05, 5.0)


class Prospect(NamedTuple):
    """
    The features of a suggestion before it is shown: how likely it is right by the model's own odds,
    how long it is, what stands before the cursor, how many seconds ago the last key was.
    """

    language: str
    probability: float
    n_chars: int
    n_lines: int
    before: str
    pause_s: float


@dataclass(frozen=True, slots=True)
class Record:
    """
    The learned record: *n* suggestions in, the weights, how much more or less likely each language
    makes it, whether the user *accepted* one, and the weights that it began with.
    """

    n: float = 0.0
    weights: tuple[float, ...] = START
    languages: Mapping[str, float] = field(default_factory=dict)
    accepted: bool = False
    start: tuple[float, ...] = START

    @property
    def is_early(self) -> bool:
        """Return whether it says too little yet to hide anything."""
        return self.n < EARLY and not self.accepted

    @property
    def trust(self) -> float:
        """From 0 to 1: how far to go by the record."""
        return self.n / (self.n + RECORD)


def features(place: Prospect) -> tuple[float, ...]:
    """Return the numbers that the model weighs, each about as large as the others."""
    low, high = PAUSE_S
    return (
        1.0,
        _odds(place.probability),
        math.log(max(1, place.n_chars) / 12),
        float(place.n_lines > 1),
        float(not place.before.strip()),
        float(is_word_sign(place.before[-1:])),
        math.log(max(low, min(place.pause_s, high))),
    )


def expect(record: Record, place: Prospect) -> float:
    """Return the probability that the user accepts it."""
    total = sum(w * x for w, x in zip(record.weights, features(place), strict=True))
    return 1 / (1 + math.exp(-total - record.languages.get(place.language, 0.0)))


def gain(record: Record, place: Prospect, strong: float = 1.0) -> float:
    """Return the keys that showing it is expected to save; *strong*: see `strength`."""
    likely = expect(record, place)
    return likely * (place.n_chars - 1) - (1 - likely) * COST * min(strong, MOST_STRONG)


def is_worth(record: Record, place: Prospect, strong: float = 1.0) -> bool:
    """Return whether to show it."""
    return record.is_early or gain(record, place, strong) >= -COST * (1 - record.trust)


def learn(record: Record, place: Prospect, *, taken: bool, accepted: bool = False) -> Record:
    """Return the record after a suggestion was shown there, *taken* by a key or by typing it."""
    step = RATE * (float(taken) - expect(record, place))
    rows = zip(START, record.weights, features(place), strict=True)
    weights = tuple(_move(start, w, step * x) for start, w, x in rows)
    languages = dict(record.languages)
    languages[place.language] = _move(0.0, languages.pop(place.language, 0.0), step)
    while len(languages) > N_LANGUAGES:
        languages.pop(next(iter(languages)))
    return Record(min(MOST_RECORD, record.n + 1), weights, languages, record.accepted or accepted)


def restore(data: bytes) -> Record:
    """
    Return a record that was kept as JSON, within bounds; an empty one where it began elsewhere than
    this version. Raises msgspec.DecodeError.
    """
    saved = msgspec.json.decode(data, type=Record)
    if saved.start != START or len(saved.weights) != len(START):
        return Record()
    weights = tuple(map(_clip, START, saved.weights))
    languages = {name: _clip(0.0, w) for name, w in [*saved.languages.items()][:N_LANGUAGES]}
    n = max(0.0, min(saved.n, MOST_RECORD))
    return replace(saved, n=n, weights=weights, languages=languages)


def describe_record(record: Record) -> str:
    """Return a summary of the record for the user."""
    if not record.n:
        return "nothing yet"
    more = [name for name, w in record.languages.items() if w > TOLD]
    fewer = [name for name, w in record.languages.items() if w < -TOLD]
    parts = [f"from {record.n:.0f} suggestions"]
    parts += [f"more are shown in {', '.join(more)}"] if more else []
    parts += [f"fewer in {', '.join(fewer)}"] if fewer else []
    return "; ".join(parts)


def _move(start: float, weight: float, step: float) -> float:
    return _clip(start, weight + step + PULL * (start - weight))


def _clip(start: float, weight: float) -> float:
    return max(start - FARTHEST, min(weight, start + FARTHEST))


def _odds(probability: float) -> float:
    """Return the logarithm of the odds, within bounds."""
    least = 1 / (1 + math.exp(ODDS))
    probability = max(least, min(probability, 1 - least))
    return math.log(probability / (1 - probability))
