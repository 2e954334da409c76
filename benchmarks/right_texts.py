"""
How often the filters take away what is right: the text that stands in a file, judged as if a model had said it.

    python -m benchmarks.right_texts REPOSITORY...                       # clones, bare ones too; minutes, no model
    python -m benchmarks.right_texts --languages typescript,json --show 20 REPOSITORY...

At each of so many places of every grammar's files, the line and what follows are taken out, from a column on. Then the
rest of the line, and the rest with two lines more, come as the model's text: with the code behind them and without, at
every second place with the brackets and quotes that an editor closes by itself. A text that is not whole by then
(`boundary.enough`) is one that a budget ended. *Dropped*: nothing is left of a text
whose first line has two visible characters or more, though without the filter `parses` something would be. *Shortened*:
`parses` leaves less of it. *Wrong caught*: the text of another place, of which it leaves less. *All filters*: nothing is left, whichever filter took it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments
from benchmarks.git import git
from benchmarks.progress import tell
from fim_lsp.context.grammars import GRAMMARS, language_of
from fim_lsp.suggest import boundary
from fim_lsp.suggest.cursor import (
    ABOVE_LINES,
    BELOW_LINES,
    Candidate,
    Cursor,
    FilterCut,
    indent_unit,
)
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.lines import CLOSER, find_unclosed, indent, open_comment, open_quote

SEED = 76
N_PLACES = 200
IN_A_FILE = 4
N_LINES = 2  # behind the rest of a line
BYTES = range(200, 100_000)  # of a file
LONGEST = 160  # characters of a line
LEAST = 2  # visible characters of the rest of a line
GRAMMAR = "parses"


class Place(NamedTuple):
    """A *line* of a file, from whose *column* on all is to be written; *marks*: the editor closes."""

    name: str
    language: str
    lines: Sequence[str]
    line: int
    column: int
    marks: bool


class Judged(NamedTuple):
    """The *text* that was right at a place, what was left of it, and what would be without the grammar."""

    place: Place
    cursor: Cursor
    text: str
    kept: str
    ungrammared: str
    cuts: Sequence[FilterCut]

    @property
    def is_dropped(self) -> bool:
        """Return whether the grammar left nothing."""
        return bool(self.ungrammared and not self.kept)

    @property
    def is_shortened(self) -> bool:
        """Return whether the grammar left less."""
        return bool(self.kept) and self.kept != self.ungrammared


def files(repositories: Sequence[Path]) -> dict[str, list[tuple[Path, str]]]:
    """Return repository and path of the files of each language, in one order."""
    found: dict[str, list[tuple[Path, str]]] = {language: [] for language in GRAMMARS}
    for repository in repositories:
        for row in git(repository, "ls-tree", "-r", "-l", "HEAD").splitlines():
            meta, path = row.split("\t", 1)
            size = meta.split()[-1]  # "BAD" in a clone without it
            if size.isdigit() and int(size) in BYTES and (language := language_of(path)):
                found[language].append((repository, path))
    return found


def places(language: str, of: Sequence[tuple[Path, str]], n: int, seed: int) -> Iterator[Place]:
    """Yield *n* places of the files *of* a language by a *seed*, fewer where there are no more."""
    rng = random.Random(f"{seed} {language}")
    n_found = 0
    for repository, path in rng.sample(of, len(of)):
        lines = git(repository, "show", f"HEAD:{path}").split("\n")
        numbers = [n for n, line in enumerate(lines) if len(line.strip()) >= LEAST]
        for number in rng.sample(numbers, min(IN_A_FILE, len(numbers))):
            line = lines[number]
            column = rng.randint(len(indent(line)), max(len(indent(line)), len(line) - LEAST))
            if len(line) > LONGEST or len("".join(line[column:].split())) < LEAST:
                continue
            yield Place(path, language, lines, number, column, marks=n_found % 2 == 1)
            n_found += 1
            if n_found == n:
                return


def judge(place: Place, source: Place) -> Iterator[Judged]:
    """Yield how each text of *source* is judged at *place*, with the code behind it and without."""
    for n_more in (0, N_LINES):
        for has_code in (True, False):
            cursor, said = suggest(place, n_more, has_code=has_code)
            said = suggest(source, n_more, has_code=has_code)[1]
            kept = polish(said, cursor)
            without = polish(said, cursor, off=(GRAMMAR,))
            yield Judged(place, cursor, said.text, kept.text, without.text, kept.cuts)


def suggest(place: Place, n_more: int, *, has_code: bool) -> tuple[Cursor, Candidate]:
    """
    Return the text of *n_more* lines at most, up to where a suggestion ends, and its cursor: the code behind follows it.
    """
    here, *following = place.lines[place.line :]
    while True:
        text = "\n".join((here[place.column :], *following[:n_more])).rstrip()
        below = following[n_more : n_more + BELOW_LINES] if has_code else []
        cursor = make_cursor(place, text, tuple(below))
        end = boundary.end(f"{text}\n", cursor)
        n_whole = n_more if end is None else text[:end].count("\n")
        if n_whole >= n_more:
            return cursor, Candidate(text, whole=end is not None)
        n_more = n_whole


def make_cursor(place: Place, text: str, below: tuple[str, ...]) -> Cursor:
    """
    Return the cursor at *place*, with what an editor closes if it does: all that is open and that *text* does not close
    further down; of the line only what it closes itself where the code *below* closes the rest.
    """
    above = tuple(place.lines[max(0, place.line - ABOVE_LINES) : place.line])
    line = place.lines[place.line]
    before = line[: place.column]
    unit = indent_unit((*above, *below)) or "    "
    cursor = Cursor(place.language, place.name, above, before, "", below, unit)
    if not place.marks:
        return cursor
    is_open = {at for at, _ in find_unclosed(line, place.language)} if below else set()
    opened = [sign for at, sign in find_unclosed(before, place.language) if at not in is_open]
    quote = open_quote(before, place.language) if not open_quote(line, place.language) else ""
    after = quote + "".join(CLOSER[sign] for sign in reversed(opened))
    return replace(cursor, after=after, below=below or closing_lines(cursor, text))


def closing_lines(cursor: Cursor, text: str) -> tuple[str, ...]:
    """Return the lines with which an editor closes the brackets and the comment above *cursor* that *text* leaves open."""
    above = "\n".join(cursor.above)
    unclosed = find_unclosed(f"{above}\n{cursor.before}{text}", cursor.language)
    ends = [
        indent(above[above.rfind("\n", 0, at) + 1 :]) + CLOSER[sign]
        for at, sign in reversed(unclosed)
        if at < len(above)
    ]
    comment = open_comment(above, cursor.language)
    if comment and comment not in text:
        return (f" {comment}", *ends)
    return tuple(ends)


def main() -> None:
    """Print a table by language, and the texts that are lost."""
    parser = arguments.parser("benchmarks.right_texts", __doc__)
    add = parser.add_argument
    add("repositories", nargs="+", type=Path)
    add("--places", type=int, default=N_PLACES, help="of each language")
    add("--languages", type=arguments.names(GRAMMARS), default=[*GRAMMARS])
    add("--seed", type=int, default=SEED, help="of the places")
    add("--show", type=int, default=0, help="so many of the lost texts of each language")
    options = parser.parse_args()
    of = files(options.repositories)
    print(
        "| language | places | texts | dropped | shortened | of places | wrong caught | all filters |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for language in options.languages:
        chosen = [*places(language, of[language], options.places, options.seed)]
        if not chosen:
            continue
        told = tell(chosen, len(chosen), lambda p: p.name)
        judged = [each for place in told for each in judge(place, place)]
        others = zip(chosen, chosen[IN_A_FILE:] + chosen[:IN_A_FILE], strict=True)
        wrong = [each for place, other in others for each in judge(place, other)]
        n_judged = sum(bool(each.ungrammared) for each in wrong)
        n_caught = sum(each.is_dropped or each.is_shortened for each in wrong)
        dropped = [each for each in judged if each.is_dropped]
        shortened = [each for each in judged if each.is_shortened]
        hit = {(each.place.name, each.place.line) for each in (*dropped, *shortened)}
        by_all = Counter(each.cuts[-1].filter for each in judged if not each.kept)
        print(
            f"| {language} | {len(chosen)} | {len(judged)} | {len(dropped)} | {len(shortened)} "
            f"| {len(hit) / len(chosen):.1%} | {n_caught} of {n_judged} | {by_all.total()} {dict(by_all.most_common(4))} |",
            flush=True,
        )
        for each in (dropped + shortened)[: options.show]:
            show(each)


def show(lost: Judged) -> None:
    """Print what was lost, where, and why."""
    cursor = lost.cursor
    print(
        f"    {lost.place.name}:{lost.place.line + 1} below={len(cursor.below)} marks={lost.place.marks}"
    )
    print(f"      {cursor.before!r} ▮ {lost.text!r} {cursor.after!r}")
    print(f"      left {lost.kept!r}: {lost.cuts[-1].why}")


if __name__ == "__main__":
    main()
