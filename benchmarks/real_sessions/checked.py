"""
The expectation beside a real Neovim: reported sessions, drawn by a seed, as one reader and many simulated ones have them.

    sh scripts/tools/get-qwen 0.5b
    python -m benchmarks.real_sessions.checked REPO…

A run in Neovim has one reader, drawn from the session's name and from each text. The same reader plays in virtual time,
and so do numbered ones: of their shares of saved keys, 95 % are within the interval. A session takes some 45 s of a machine
that has no other work; beside other work the model is slower, and the figures say nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import markdown
from benchmarks.arguments import model_file, parser
from benchmarks.progress import tell
from benchmarks.real_sessions import recordings
from benchmarks.real_sessions.editing import Terms, play
from benchmarks.real_sessions.expected import DATA, play_one, with_texts
from benchmarks.real_sessions.intervals import HIGH, LOW
from benchmarks.real_sessions.readers import PEOPLE
from benchmarks.real_sessions.recordings import Recording, Spoken
from benchmarks.real_sessions.texts import Text

DRAW_SEED = 79
PART = "held-out"
HEAD = (
    "session", "in Neovim", "same reader, simulated", "simulated readers", "95 %",
    "seconds of the model's processor", "of others",
)  # fmt: skip


class Checked(NamedTuple):
    """A session's shares of saved keys: in Neovim, of the same reader in virtual time, of *many* there; seconds of processor."""

    name: str
    real: float
    same: float
    many: list[float]
    cpu_s: float
    others_s: float


def main() -> None:
    """Play, print."""
    arguments = parser("benchmarks.real_sessions.checked", __doc__)
    add = arguments.add_argument
    add("histories", nargs="+", type=Path, help="clones, named OWNER+NAME")
    add("--sessions", type=int, default=12)
    add("--readers", type=int, default=40, help="simulated")
    add("--per-s", type=int, default=20, help="tokens a second that this machine decodes")
    add("--model", type=model_file, default="0.5b", help="0.5b (scripts/tools/get-qwen) or a file")
    add("--threads", type=int, default=2, help="of the model server")
    options = arguments.parse_args()
    terms = Terms(options.model, options.threads, "", PEOPLE)
    drawn = draw(options.histories, options.sessions)
    checked = [
        check(one, text, terms, options.per_s, options.readers)
        for one, text in tell(drawn, len(drawn), lambda step: step[0].name)
    ]
    print(compare(checked))


def draw(histories: list[Path], n: int) -> list[tuple[Recording, Text]]:
    """Return *n* sessions of the reported half."""
    _, recorded = recordings.load(DATA / f"{PART}.json.xz")
    texts = sorted(with_texts(recorded, histories), key=lambda each: each[0].name)
    return random.Random(DRAW_SEED).sample(texts, min(n, len(texts)))


def check(one: Recording, text: Text, terms: Terms, per_s: int, n_readers: int) -> Checked:
    """Return a session's shares."""
    played = play("fim-lsp", text.session, terms)
    assert played.accepted is not None
    real = 1 - played.accepted.n_pressed / played.accepted.n_alone
    same, *many = _simulate(one, text, per_s, n_readers)
    return Checked(one.name, real, same, many, played.cpu_s, played.others_s)


def _simulate(one: Recording, text: Text, per_s: int, n_readers: int) -> Iterator[float]:
    spoken = Spoken(one.streams, text.head, text.block)
    for number in (None, *range(n_readers)):
        outcome = play_one(spoken, text, (one.name, PEOPLE.name, per_s), number)
        yield 1 - outcome.n_pressed / outcome.n_alone


def compare(checked: list[Checked]) -> str:
    """Return a row for each session, and how many are within their interval."""
    rows = []
    n_within = 0
    for one in checked:
        many = sorted(one.many)
        low = many[int(LOW * len(many))]
        high = many[min(len(many) - 1, int(HIGH * len(many)))]
        n_within += low <= one.real <= high
        mean = sum(many) / len(many)
        between = f"{low:.1%} to {high:.1%}"
        shares = f"{one.real:.1%}", f"{one.same:.1%}", f"{mean:.1%}", between
        rows.append((one.name, *shares, f"{one.cpu_s:.0f}", f"{one.others_s:.1f}"))
    return f"{n_within} of {len(checked)} within their interval\n\n{markdown.table(HEAD, rows)}"


if __name__ == "__main__":
    main()
