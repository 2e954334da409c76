"""
Next edits of recorded cases, which people scored: what our engine proposes behind each history.

    python -m benchmarks.recorded.next_edits

A case has a history of edits, and edits that could come next with a category each: `nextEdit` (one to offer), `valid`
(harmless; no edit at all is such a one where the list says so), `bad`. An edit that is in no list was not scored.
"""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.recorded.log import DATA, Changed, Opened, Replacement, entries, replace
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, body, difference, open_document, split
from fim_lsp.next_edit.edits import EditedText
from fim_lsp.next_edit.log import EditLog
from tests.parsing import propose

CASES = DATA / "next_edit_cases.tar.gz"
NOT_SCORED = "not scored"
SECOND = 1e-3  # of a millisecond


class Case(NamedTuple):
    """A recording, and the scored edits by the text that they make of the file edited last; None for none."""

    name: str
    recording: Mapping[str, Any]
    scored: Sequence[Mapping[str, Any]]


def read(file: Path) -> Iterator[Case]:
    """Yield the cases of an archive."""
    with tarfile.open(file) as archive:
        parts = {
            member.name: json.loads(archive.extractfile(member).read())
            for member in archive.getmembers()
            if member.isfile()
        }
    for name, recording in sorted(parts.items()):
        if name.endswith("/recording.w.json"):
            folder = name.rpartition("/")[0]
            scored = parts[f"{folder}/scoredEdits.w.json"]["edits"]
            yield Case(folder.rpartition("/")[2], recording, scored)


def score(case: Case) -> tuple[str, str]:
    """Return what our engine proposes once the last edit is finished: its category, and it in words."""
    log = EditLog()
    texts = dict[str, str]()
    now = 0.0
    last = ""
    for entry in entries(case.recording):
        match entry:
            case Opened(_, path, text):
                texts[path] = text
            case Changed(ms, path, edits):
                before = texts[path]
                texts[path] = replace(texts[path], edits)
                now = ms * SECOND
                last = path
                old, new = (_document(path, text) for text in (before, texts[path]))
                log.note_change(old, new, [difference(old.lines, new.lines)], now)
    order = dict.fromkeys([last, *texts])
    edited = [EditedText(path, language_of(path), _lines(texts[path])) for path in order]
    proposal = propose(log.list_finished(now + 10), edited)
    if proposal is None:
        return _category(case, texts, "", ""), "nothing"
    uri, line, old_lines, new_lines, *_ = proposal
    lines = _lines(texts[uri])
    made = (*lines[:line], *new_lines, *lines[line + len(old_lines) :])
    words = f"{uri}:{line + 1}: {' '.join(old_lines)!r} → {' '.join(new_lines)!r}"
    return _category(case, texts, uri, "\n".join(made)), words


def _category(case: Case, texts: Mapping[str, str], path: str, made: str) -> str:
    """Return the category of an edit that makes the text of a file *made*; of none without a path."""
    for one in case.scored:
        if one["edit"] is None:
            if not path:
                return str(one["scoreCategory"])
        elif path and one["documentUri"].replace("\\", "/").endswith(path.rpartition("/")[2]):
            edits = tuple(Replacement(*part) for part in sorted(one["edit"], reverse=True))
            if "\n".join(_lines(replace(texts[path], edits))) == made:
                return str(one["scoreCategory"])
    return NOT_SCORED


def _document(path: str, text: str) -> Document:
    return open_document(path, language_of(path), 1, text)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(map(body, split(text)))


def main() -> None:
    """Score all cases, and count."""
    counts = Counter[str]()
    for case in read(CASES):
        category, words = score(case)
        counts[category] += 1
        print(f"{case.name}: {category}: {words}")
    print(", ".join(f"{category} {n}" for category, n in counts.items()))


if __name__ == "__main__":
    main()
