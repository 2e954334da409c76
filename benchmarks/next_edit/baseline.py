"""
The simplest proposal one can think of, for comparison: the next line with the old tokens.

The last line that became another one gives one substitution: what lies between the tokens that both
have in common at the beginning and at the end. The next line below that has the old tokens gets the
new ones, or else the first such line of the next text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.next_edit.replay import Ask
from benchmarks.next_edit.scores import Ranked, Shown
from fim_lsp.documents import alike
from fim_lsp.next_edit.edits import Example, examples
from fim_lsp.next_edit.rule import tokens
from fim_lsp.next_edit.texts import EditedText


def baseline(ask: Ask) -> Ranked:
    """Return the next line with the old tokens, with the new ones; nothing after an edit that is no such change."""
    in_line = (example for example in examples(ask.edits, 40) if example.is_in_line)
    last = next(in_line, None)
    if last is None or not ask.edits[-1].before or not ask.edits[-1].after:
        return []
    old, new = _substitution(last)
    for text, line in _lines(ask.texts, last, old) if old else ():
        before = text.lines[line]
        return [Shown(text.uri, line, (before,), (before.replace(old, new),), 1.0, (old, new))]
    return []


def _lines(
    texts: Sequence[EditedText], last: Example, old: str
) -> Iterator[tuple[EditedText, int]]:
    for text in texts:
        for line in text.holding(old):
            if text.uri != last.uri or line > last.line:
                yield text, line


def _substitution(example: Example) -> tuple[str, str]:
    old, new = tokens(example.before[0]), tokens(example.after[0])
    head, tail = alike(old, new)
    return "".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail])
