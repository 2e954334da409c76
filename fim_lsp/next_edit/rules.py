"""
One changed line into the rules that could have made the change. Pure.

Each change gives several, from general to special: which of them is meant is for `evidence` to find out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from fim_lsp.next_edit.edits import Example
from fim_lsp.next_edit.rule import Kind, Rule, join_parts, needle_of
from fim_lsp.next_edit.template import Filling, Hole, Part
from fim_lsp.next_edit.tokens import Change, is_word, token_changes, tokens

MAX_CHANGES = 4
"""Changes of one line that are read as one pattern; a line with more was rewritten."""

NEEDLE_CHARS = 3
"""A rule is searched for by a text of its own; shorter ones are everywhere."""


@lru_cache(maxsize=512)
def rules(before: str, after: str) -> tuple[Rule, ...]:
    """Return the rules that make *after* of *before*, or one of its changes."""
    changes = token_changes(before, after)
    if not changes or len(changes) > 2 * MAX_CHANGES:
        return ()
    old = tokens(before)
    found: dict[object, Rule] = {}
    for rule in _all(old, changes):
        if rule is not None and len(rule.needle) >= NEEDLE_CHARS:
            found.setdefault(rule.key, rule)
    return tuple(found.values())


def holds(rule: Rule, example: Example) -> bool:
    """Return whether *example* is what the rule does, or has it beside other changes."""
    if not example.is_in_line:
        return False
    (old,), (new,) = example.before, example.after
    return any(rule.key == other.key for other in rules(old, new)) or rule.apply(old) == new


def _all(old: tuple[str, ...], changes: tuple[Change, ...]) -> Iterator[Rule | None]:
    for change in changes:
        yield from _of_change(old, change)
    if 1 < len(changes) <= MAX_CHANGES:
        yield _pattern(old, changes)
    if not all(_is_telling(change) for change in changes):
        yield _shape(old, changes)


def _is_telling(change: Change) -> bool:
    return any(is_word(token) for token in change.old)


def _of_change(old: Sequence[str], change: Change) -> Iterator[Rule | None]:
    left, right = old[: change.start], old[change.end :]
    text, new = "".join(change.old), "".join(change.new)
    kind = Kind.REPLACE if change.new else Kind.DELETE
    if _is_telling(change):
        if len(change.old) == len(change.new) == 1 and is_word(new):
            yield _literal(Kind.RENAME, "", text, "", new)
        else:
            yield _literal(kind, "", text, "", new)
        return
    if not change.old:
        kind = Kind.INSERT
        yield _argument(left, right, new)
    head, tail = _to_word(left[::-1])[::-1], _to_word(right)
    for some_head, some_tail in ((head, ()), ((), tail), (head, tail)):
        if some_head or some_tail:
            yield _literal(kind, "".join(some_head), text, "".join(some_tail), new)


def _to_word(nearest: Sequence[str]) -> Sequence[str]:
    """Return the tokens beside a change up to the nearest word, if that is near."""
    for n, token in enumerate(nearest[:4]):
        if is_word(token):
            return nearest[: n + 1]
    return ()


def _literal(kind: Kind, head: str, old: str, tail: str, new: str) -> Rule:
    text = head + old + tail
    return Rule(kind, (text,), (head + new + tail,), text.strip(), old, new)


def _argument(left: Sequence[str], right: Sequence[str], new: str) -> Rule | None:
    """Return an argument at the end of a call that has others."""
    if not right or right[0] != ")" or not new.startswith(","):
        return None
    depth = 0
    for idx in reversed(range(len(left))):
        depth += (left[idx] in ")]}") - (left[idx] in "([{")
        if depth < 0:
            if not idx or not is_word(left[idx - 1]):
                return None
            opening = left[idx - 1] + left[idx]
            parts = (opening, Hole.INSIDE, ")")
            return Rule(Kind.ARGUMENT, parts, (opening, 0, new + ")"), opening, "", new)
    return None


def _pattern(old: Sequence[str], changes: Sequence[Change]) -> Rule | None:
    """Return all changes of a line, with anything between them."""
    first, last = changes[0], changes[-1]
    head = "" if _is_telling(first) else "".join(_to_word(old[: first.start][::-1])[::-1])
    tail = "" if _is_telling(last) else "".join(old[last.end : last.end + 1])
    parts, filling = list[Part](), list[Filling]()
    for n, change in enumerate(changes):
        text, new = "".join(change.old), "".join(change.new)
        if n:
            parts.append(Hole.ANY)
            filling.append(n - 1)
        else:
            text, new = head + text, head + new
        if change is last:
            text, new = text + tail, new + tail
        if not text:
            return None
        parts.append(text)
        filling.append(new)
    needle = needle_of(parts)
    if not any(map(is_word, needle)):
        return None
    return Rule(
        Kind.PATTERN,
        tuple(parts),
        tuple(filling),
        needle,
        " ".join("".join(c.old) for c in changes),
        " ".join("".join(c.new) for c in changes),
    )


def _shape(old: Sequence[str], changes: Sequence[Change]) -> Rule | None:
    """Return the whole line, with other names and numbers where it was not changed."""
    parts, filling = list[Part](), list[Filling]()
    starts = {change.start: change for change in changes}
    idx = n_holes = 0
    while idx <= len(old):
        change = starts.pop(idx, None)
        if change is not None:
            parts.extend(change.old)
            filling.extend(change.new)
            idx = change.end
        elif idx == len(old):
            break
        else:
            token = old[idx]
            wild = is_word(token)
            parts.append(Hole.WORD if wild else token)
            filling.append(n_holes if wild else token)
            n_holes += wild
            idx += 1
    joined = join_parts(parts)
    needle = needle_of(joined)
    return Rule(
        Kind.SHAPE,
        joined,
        tuple(filling),
        needle,
        " ".join("".join(c.old) for c in changes),
        " ".join("".join(c.new) for c in changes),
    )
