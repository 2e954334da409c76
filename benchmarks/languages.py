"""
In how many pauses there is text, by language: what a model says where files are typed on, and what the filters leave of it.

    scripts/get-qwen 0.5b
    python -m benchmarks.languages --answers said.jsonl FILE…    # records what is missing, then replays
    python -m benchmarks.languages --answers said.jsonl --explain sql

Each file is typed on from its first third: a pause is at each `EVERY`th key and behind each line break. At every other
pause the rest of the file is below, and nothing, as in a new file, at the others. The answers are those of
`raw_answers`, with the small window of a first look; `gate` says what an automatic request is shown of them. The
language is that of the file's name, as VS Code calls it.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.arguments import model_file, parser
from benchmarks.gate import Shown, show
from benchmarks.raw_answers import Answer, Place, read, record
from fim_lsp.cli.client import LANGUAGES
from fim_lsp.context.grammars import language_of
from fim_lsp.settings.config import Config
from fim_lsp.suggest import boundary
from fim_lsp.suggest.lines import indent

EVERY = 12  # keys
KNOWN = 1 / 3  # of a file
LEAST = 0.05  # what is less likely is not recorded
SURE = Config().sure


def main() -> None:
    """Record, replay, print."""
    options = _options()
    wanted = [place for file in options.files for place in places(file, options.pauses)]
    if wanted:
        record(options.model, wanted, options.answers, LEAST)
    by_language = defaultdict[str, list[Answer]](list)
    for answer in read(options.answers):
        by_language[answer.place.language].append(answer)
    for answer in by_language.get(options.explain, []):
        _explain(answer)
    print(
        "| | pauses | with text | first line right | right | wrong | wrong per right | without text |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for language, answers in sorted(by_language.items()):
        print(row(language, answers))


def places(file: Path, n: int) -> Iterator[Place]:
    """Yield *n* pauses of typing on in *file*."""
    text = file.read_text("utf-8")
    language = language_of(file.name) or LANGUAGES.get(file.suffix, "plaintext")
    ends = [*_ends(text, text.index("\n", int(len(text) * KNOWN)) + 1, n)]
    below = text[text.find("\n", ends[-1]) :]
    for count, end in enumerate(ends):
        line, column = text.count("\n", 0, end), end - text.rfind("\n", 0, end) - 1
        kind, after = ("inside", below) if count % 2 else ("at the end", "")
        yield Place(kind, language, file.name, text[:end] + after, line, column, text[end:])


def _ends(text: str, start: int, n: int) -> Iterator[int]:
    """Yield where the pauses are: not at blank lines, and behind the indentation of the next line."""
    for _ in range(n):
        newline = text.find("\n", start, start + EVERY)
        start = start + EVERY if newline < 0 else newline + 1
        if newline >= 0:
            start += len(text[start:]) - len(text[start:].lstrip("\n"))
            start += len(indent(text[start:].partition("\n")[0]))
        if start >= len(text):
            return
        yield start


def why_nothing(answer: Answer, shown: Shown) -> str:
    """Return why nothing is shown, "" where something is."""
    cuts = shown.candidate.cuts
    why = boundary.quiet(answer.cursor, deleted=False, scope="", excluded=())
    return why or ("" if shown.text else cuts[-1].filter)


def row(language: str, answers: Sequence[Answer]) -> str:
    """Return the figures of a language."""
    pairs = [(answer, show(answer, SURE)) for answer in answers]
    shown = [one for answer, one in pairs if not why_nothing(answer, one)]
    right, wrong = sum(one.right for one in shown), sum(one.wrong for one in shown)
    why = Counter(filter(None, (why_nothing(*pair) for pair in pairs)))
    cells = (
        language, len(pairs), f"{len(shown)} ({len(shown) / len(pairs):.0%})", sum(one.exact for one in shown),
        right, wrong, f"{wrong / max(1, right):.2f}", ", ".join(f"{name} {n}" for name, n in why.most_common()),
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def _explain(answer: Answer) -> None:
    """Print a pause: what was typed, said and shown, and what is right."""
    one = show(answer, SURE)
    said = "shown " + repr(one.text) if not (why := why_nothing(answer, one)) else why
    print(
        f"{answer.place.kind}, {answer.cursor.before!r}: {answer.text[:60]!r}, {said}; right: {answer.place.truth[:40]!r}"
    )


def _options() -> argparse.Namespace:
    arguments = parser("languages", __doc__)
    add = arguments.add_argument
    add("files", type=Path, nargs="*", metavar="FILE", help="files that the model has not read")
    add("--answers", type=Path, required=True, help="the file of recorded answers")
    add("--model", type=model_file, default="0.5b", help="0.5b, 1.5b (scripts/get-qwen) or a file")
    add("--pauses", type=int, default=25, help="of each file")
    add("--explain", metavar="LANGUAGE", default="", help="print each pause of a language")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
