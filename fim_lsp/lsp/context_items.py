"""
The code that other language servers know of names near the cursor: the notification `fim/context`.

Its items are those of Copilot's context providers: a snippet of code `{uri, value,
additionalUris?}`, a trait `{name, value}`, diagnostics `{uri, values}`. A trait says of no file
where it is from, so it is not used: its text could be from a private one. An item of another shape
is left out, and the log says which.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from fim_lsp.context.secrets.scan import looks_secret
from fim_lsp.documents import well_formed
from fim_lsp.events import Informed, Snippet

log = logging.getLogger(__name__)

ITEMS = 32  # of a notification: what a plugin asks servers for in one pause is a fourth of it
VALUE_CHARS = 4_000  # of an item: a longer one is a file
_VALUES = 100  # diagnostics that are looked at: language servers send up to so many of a file
_DIAGNOSTICS = 5  # of a file, as Copilot shows
_MESSAGE_CHARS = 300
_LOOKED_AT = 4 * _MESSAGE_CHARS  # for secrets: one that is cut off is not known any more
_ERROR = 1  # of DiagnosticSeverity


def parse_context(params: object) -> Informed | None:
    """Parse `fim/context {textDocument, items}`; None where that is another shape."""
    match params:
        case {"textDocument": {"uri": str(uri)}, "items": list(items)}:
            if len(items) > ITEMS:
                log.warning("fim/context: %d items, the first %d are read", len(items), ITEMS)
            return Informed(uri, tuple(_snippets(items[:ITEMS])))
    log.warning("fim/context: params must be {textDocument: {uri}, items: […]}")
    return None


def _snippets(items: list[Any]) -> Iterator[Snippet]:
    for idx, item in enumerate(items):
        match item:
            case {"uri": str(uri), "value": str(value)}:
                # What was taken from several files at once is not known to be public by the first
                # of them.
                if len(value) <= VALUE_CHARS and not item.get("additionalUris"):
                    yield Snippet(uri, well_formed(value))
            case {"uri": str(uri), "values": list(values)}:
                yield Snippet(uri, _errors(values), replaces=True)
            case {"name": str(), "value": _}:
                pass
            case _:
                log.warning(
                    "fim/context: items[%d] is none of {uri, value}, {name, value} and "
                    "{uri, values}; it is left out",
                    idx,
                )


def _errors(values: list[Any]) -> str:
    """Return the first errors, a line each, as compilers print them; none that quotes a secret."""
    lines = []
    for value in values[:_VALUES]:
        match value:
            case {"message": str(message), "range": {"start": {"line": int(line)}}}:
                if value.get("severity", _ERROR) == _ERROR:
                    first = well_formed(message).split("\n", 1)[0]
                    if looks_secret(first[:_LOOKED_AT]):
                        continue
                    lines.append(f"line {line + 1}: {first[:_MESSAGE_CHARS]}")
    return "\n".join(lines[:_DIAGNOSTICS])
