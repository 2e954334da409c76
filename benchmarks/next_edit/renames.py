"""
Renames in git histories: after a definition alone was changed by hand, which of its uses are offered.

    python -m benchmarks.next_edit.renames --commits 400 ~/src/flask ~/src/bat

In each file of a commit, each name that became another at two places or more. Where one of these, changed alone, is a
definition, and nothing else of its line changed, the truth is what the commit changed in the function around it (in the
declaration whose own type it is), up to the next definition of that name, where it is one of its sort: a property is no
variable, and `@a` not `a`. *Offered* are those of these uses that are; *wrong* is the share of offers in code where the
commit left the old name; comments, strings and what went do not count.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tree_sitter import Node

from benchmarks import arguments
from benchmarks.git import Lines
from benchmarks.markdown import table
from benchmarks.next_edit.commits import History, Hunk
from benchmarks.progress import tell
from fim_lsp.context.grammars import language_of, parse_text
from fim_lsp.next_edit.edits import EditedText, FinishedEdit, changes
from fim_lsp.next_edit.renames import find_renames
from fim_lsp.next_edit.rule import is_word, token_changes, tokens
from tests.parsing import find_here

MOST_LINES = 3_000  # of a file: each place is parsed
PLACES = 40  # of one name; more is a formatter's, or generated
FUNCTION = re.compile(
    r"(local_|generator_)?function_(signature(_item)?|declaration|definition|expression|item|statement|type)"
    r"|(singleton_|abstract_)?method(_declaration|_definition|_signature)?|constructor_declaration"
    r"|anonymous_function|func_literal|closure_expression|lambda(_expression)?|arrow_function"
)
PROSE = re.compile("comment|string")
Place = tuple[int, int]  # row and column in the text before a commit
Named = tuple[str, str, int]  # a token, the one that it became, and its column


def main() -> None:
    """Print a row for each language."""
    parser = arguments.parser("benchmarks.next_edit.renames", __doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=400, help="how many of the newest")
    options = parser.parse_args()
    counts = defaultdict[str, Counter[str]](Counter)
    for path in options.histories:
        history = History(path, options.commits)
        for commit in tell(history.commits, len(history.commits), lambda commit: commit.id[:8]):
            for name, lines in history.files(commit, *{hunk.path for hunk in commit.hunks}).items():
                if len(lines) <= MOST_LINES:
                    mine = (hunk for hunk in commit.hunks if hunk.path == name)
                    count_uses([*mine], name, lines, counts[language_of(name)])
    counts["all"] = sum(counts.values(), Counter[str]())
    shares = (
        (language, n["definitions"], n["uses"], f"{n['right'] / n['uses']:.0%}",
         n["wrong"], f"{n['wrong'] / max(1, n['right'] + n['wrong']):.1%}")
        for language, n in counts.items() if n["uses"]
    )  # fmt: skip
    print(table(("language", "definitions", "uses", "offered", "wrong", "of the offers"), shares))


def count_uses(hunks: Sequence[Hunk], name: str, lines: Lines, n: Counter[str]) -> None:
    """Add the definitions and uses of a file, those *right* among the offers, and the *wrong* ones."""
    rows = _changed(hunks)
    by_names = defaultdict[tuple[str, str], list[Place]](list)
    for row, named in sorted(rows.items()):
        for old, new, column in named:
            if old.isidentifier() and new.isidentifier():
                by_names[old, new].append((row, column))
    for names, places in by_names.items():
        tried = [(p, _offered(name, lines, names, p)) for p in places if 2 <= len(places) <= PLACES]
        defined = [(place, uses) for place, uses in tried if uses is not None]
        ends = [*(place for place, _ in defined[1:]), (len(lines), 0)]
        for (place, uses), end in zip(defined, ends, strict=False):
            start = place if place != defined[0][0] else (0, 0)
            around = _function(name, lines, place)
            others = {p for p in places if p != place and start <= p < end and p[0] in around}
            sort = _sort(name, lines, place)
            others = {p for p in others if _sort(name, lines, p) == sort}
            others -= {p for at, its in defined if at != place for p in its if p[0] == place[0]}
            if others and {named[:2] for named in rows[place[0]]} == {names}:
                n["definitions"] += 1
                n["uses"] += len(others)
                n["right"] += len(uses & others)
                n["wrong"] += sum(_is_left(rows, place) for place in uses)


def _offered(name: str, lines: Lines, names: tuple[str, str], place: Place) -> set[Place] | None:
    """Return the uses in code that are offered once *place* alone is renamed; None if it is no definition."""
    (old, new) = names
    (row, column) = place
    before = lines[row]
    after = before[:column] + new + before[column + len(old) :]
    text = EditedText(name, language_of(name), (*lines[:row], after, *lines[row + 1 :]))
    edit = FinishedEdit(name, row, (before,), (after,))
    for change, renamed in find_renames([edit], [text], find_here).definitions:
        if change.renaming[1:3] == names:
            uses = [(at, start) for at, start, _, is_code in renamed.uses if is_code]
            shift = len(new) - len(old)
            return {(at, start - shift * (at == row and start > column)) for at, start in uses}
    return None


def _function(name: str, lines: Lines, place: Place) -> range:
    """Return the rows of the function around a place, those of the text where there is none."""
    node = _node(name, lines, place)
    at = node.start_point if node else place
    is_type = node and node.parent and node.parent.type == "type_parameter"
    kinds = FUNCTION.pattern + "|.*_declaration" * bool(is_type)
    while node and not (re.fullmatch(kinds, node.type) and not _is_name(node, at)):
        node = node.parent
    return range(node.start_point[0], node.end_point[0] + 1) if node else range(len(lines))


def _node(name: str, lines: Lines, place: Place) -> Node | None:
    """Return the innermost node of the syntax tree there."""
    tree = parse_text(language_of(name), "\n".join(lines)).tree
    at = place[0], len(lines[place[0]][: place[1]].encode())
    return tree.root_node.descendant_for_point_range(at, at) if tree else None


def _sort(name: str, lines: Lines, place: Place) -> tuple[bytes, bool] | None:
    """Return a name with its signs (Ruby's `@a`, `a?`), and whether a property of a script has it; None in prose."""
    node = _node(name, lines, place)
    text = node.text if node and not PROSE.search(node.type) else None
    return (text.lstrip(b":"), node.type == "property_identifier") if node and text else None


def _is_name(function: Node, at: Place) -> bool:
    """Return whether the function's own name is there; in C it is in declarators."""
    name = function.child_by_field_name("name") or function.child_by_field_name("declarator")
    while name and (inner := name.child_by_field_name("declarator")):
        name = inner
    return name is not None and name.start_point <= at < name.end_point


def _changed(hunks: Sequence[Hunk]) -> dict[int, list[Named]]:
    """Return what changed in each row, nothing of one that was rewritten."""
    rows: dict[int, list[Named]] = {}
    for hunk in hunks:
        for part in changes(hunk.before, hunk.after):
            row = hunk.start + part.offset
            rows |= {at: [] for at in range(row, row + len(part.before))}
            if len(part.before) == len(part.after) == 1:
                rows[row] = [*_names(part.before[0], part.after[0])]
    return rows


def _is_left(rows: Mapping[int, Sequence[Named]], place: Place) -> bool:
    """Return whether a commit left what is there as it was, and did not rewrite its row."""
    row, column = place
    touched = any(at <= column < at + len(old) for old, _, at in rows.get(row, ()))
    return rows.get(row) != [] and not touched


def _names(before: str, after: str) -> Iterator[Named]:
    """Yield what changed in a line: a name with the new one, or a text with "", and where it stood."""
    words = tokens(before)
    columns = [len(before) - len(before.lstrip())]
    for word in words:
        columns.append(columns[-1] + len(word))
    for change in token_changes(before, after):
        alike = [*map(is_word, change.old)] == [*map(is_word, change.new)]
        for idx in range(change.start, change.end):
            new = change.new[idx - change.start] if alike else ""
            if words[idx] != new:
                yield words[idx], new, columns[idx]


if __name__ == "__main__":
    main()
