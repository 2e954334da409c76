"""
What each filter and the gate take away, and how much of that was right: on recent code, with a real model.

    python -m benchmarks.gate --model qwen.gguf --answers qwen.jsonl REPO…   # records, then replays
    python -m benchmarks.gate --answers qwen.jsonl                           # replays in seconds

REPO… are clones of git repositories, bare ones too (`raw_answers` says which places count). An answer is recorded whole,
with the odds of its tokens (`raw_answers`). The replay shows what an automatic request would be shown: decoding ends where the
text is whole or the model is not sure any more. A character is right if it and all before it stand in the file there.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks import arguments
from benchmarks.markdown import table
from benchmarks.raw_answers import Answer, places, read, record
from benchmarks.real_sessions.choice import SETS, in_set
from benchmarks.real_sessions.taking import n_keys, pieces
from fim_lsp.documents import n_common
from fim_lsp.settings.config import Config
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import NOT_SURE, least
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import FILTERS, polish

N_BLOCKS = 50  # of code, with about ten places each
SURE = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8)
BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
WORD = re.compile(r"\s*(?:\w+|[^\w\s])")

FILTER_HEAD = (
    "filter", "changes", "leaves nothing", "first word right", "line right", "right before",
    "after", "wrong before", "after",
)  # fmt: skip
SURE_HEAD = ("sure", "shown", "right", "wrong", "first lines exact", "keys saved", "taken")
CURVE_HEAD = ("product", "lines", "mean product", "all right", "first word right")


@dataclass(frozen=True, slots=True)
class Shown:
    """What an answer comes to."""

    answer: Answer
    candidate: Candidate

    @property
    def text(self) -> str:
        """Return what is to be inserted."""
        return self.candidate.text

    @property
    def right(self) -> int:
        """Characters that are right."""
        return n_common(self.text, self.answer.place.truth)

    @property
    def wrong(self) -> int:
        """Characters behind those."""
        return len(self.text) - self.right

    @property
    def exact(self) -> bool:
        """Return whether the first line is as in the file."""
        behind = self.answer.cursor.after[self.candidate.replaces :]
        return bool(self.text) and _first_line(self.text + behind) == _first_line(
            self.answer.place.truth
        )


def main() -> None:
    """Record, replay, print."""
    options = _options()
    if options.repositories:
        wanted = [*places(options.repositories, options.blocks)]
        record(options.model, wanted, options.answers)
    answers = [*read(options.answers)]
    print(f"{len(answers)} places\n")
    print(table(FILTER_HEAD, filter_rows(answers, options.sure)))
    for part in SETS:
        half = [answer for answer in answers if in_set(answer.place.path) == part]
        print(f"\nHow sure the model must be, {part}, {len(half)} places:\n")
        print(table(SURE_HEAD, gate_rows(half)))
    print("\nHow often a first line is right, by the product of its probabilities:\n")
    print(table(CURVE_HEAD, curve_rows(answers)))


def show(answer: Answer, sure: float, off: Iterable[str] = ()) -> Shown:
    """Return what a request that is not made by hand is shown of *answer*, without the filters *off*."""
    return Shown(answer, polish(cut_unsure(answer, sure), answer.cursor, sure, [*off]))


def cut_unsure(answer: Answer, sure: float) -> Candidate:
    """As much of *answer* as is decoded."""
    candidate, total, limit = answer.candidate, 0.0, least(sure)
    for end, logprob in candidate.odds:
        total += logprob or 0.0
        if total < limit:
            return replace(candidate, text=candidate.text[:end], whole=False)
    return replace(
        candidate, whole=candidate.whole or boundary.enough(candidate.text, answer.cursor)
    )


def filter_rows(answers: list[Answer], sure: float) -> Iterator[tuple[object, ...]]:
    """Yield what each filter does to what all others leave."""
    with_all = [show(answer, sure) for answer in answers]
    for name in (*(filter_.__name__ for filter_ in FILTERS), NOT_SURE):
        off = partial(show, sure=0.0) if name == NOT_SURE else partial(show, sure=sure, off=[name])
        yield name, *_compare([off(answer) for answer in answers], with_all)


def _compare(without: list[Shown], with_it: list[Shown]) -> tuple[object, ...]:
    pairs = [(a, b) for a, b in zip(without, with_it, strict=True) if a.candidate.text != b.text]
    lost = [(a, n_common(a.text, b.text)) for a, b in pairs]
    n_words = sum(a.right >= _end(WORD, a.text, at) > at for a, at in lost)
    n_lines = sum(a.right >= _line_end(a.text, at) > at and _ends(a, at) for a, at in lost)
    right = sum(a.right for a, _ in pairs), sum(b.right for _, b in pairs)
    wrong = sum(a.wrong for a, _ in pairs), sum(b.wrong for _, b in pairs)
    return len(pairs), sum(not b.text for _, b in pairs), n_words, n_lines, *right, *wrong


def gate_rows(answers: list[Answer]) -> Iterator[tuple[object, ...]]:
    """Yield the curve of wrong characters against right ones, and of keys saved by reading all."""
    for sure in SURE:
        suggestions = [show(answer, sure) for answer in answers]
        right = sum(suggestion.right for suggestion in suggestions)
        wrong = sum(suggestion.wrong for suggestion in suggestions)
        n_shown = sum(bool(suggestion.text) for suggestion in suggestions)
        n_exact = sum(suggestion.exact for suggestion in suggestions)
        taken = [[*pieces(shown.text, shown.answer.place.truth)] for shown in suggestions]
        n_saved = sum(n_keys(piece) - 1 for each in taken for piece in each)
        share = sum(map(bool, taken)) / max(1, n_shown)
        yield sure, n_shown, right, wrong, n_exact, n_saved, f"{share:.0%}"


def curve_rows(answers: list[Answer]) -> Iterator[tuple[object, ...]]:
    """Yield how often the first line and its first word are right, by how likely the model thinks the line is."""
    lines: list[tuple[float, bool, bool]] = []
    for answer in answers:
        one = show(answer, 0.0)
        end = _line_end(one.text, 0)
        logprobs = [
            logprob for at, logprob in one.candidate.odds if logprob is not None and at <= end
        ]
        if one.text and logprobs:
            is_first_right = one.right >= _end(WORD, one.text, 0)
            lines.append((math.exp(sum(logprobs)), one.right >= end, is_first_right))
    for low, high in pairwise(BINS):
        inside = [line for line in lines if low <= line[0] < high]
        if inside:
            means = (sum(line[idx] for line in inside) / len(inside) for idx in range(3))
            yield f"{low}–{min(high, 1)}", len(inside), *(f"{mean:.2f}" for mean in means)


def _first_line(text: str) -> str:
    return text.lstrip().partition("\n")[0].rstrip()


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _line_end(text: str, at: int) -> int:
    """Return the end of the first line behind *at* with something on it."""
    visible = at + len(text[at:]) - len(text[at:].lstrip())
    newline = text.find("\n", visible)
    return len(text) if newline < 0 else newline


def _ends(one: Shown, at: int) -> bool:
    """Return whether the file's line ends where that behind *at* does."""
    return one.answer.place.truth[_line_end(one.text, at) :][:1] in ("\n", "")


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.gate", __doc__)
    add = parser.add_argument
    add("repositories", nargs="*", type=Path, metavar="REPO", help="clones of git repositories")
    add("--model", type=Path, help="a GGUF file with FIM tokens, to record with")
    add("--answers", type=Path, required=True, help="the file of recorded answers")
    add("--blocks", type=int, default=N_BLOCKS, help="record at the places of so many blocks")
    add("--sure", type=float, default=Config().sure, help="as in the settings")
    options = parser.parse_args()
    if options.repositories and not options.model:
        parser.error("name the model to record with: --model FILE")
    return options


if __name__ == "__main__":
    main()
