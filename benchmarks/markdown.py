"""Tables of Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose first column has names, and the others figures."""
    rule = ("---", *("---:" for _ in head[1:]))
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (head, rule, *rows))
