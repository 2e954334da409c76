"""What is kept of a finished generation: the model's text, or a line in sight that is surer. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fim_lsp.suggest.confidence import confidence, odds, preferred
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.line_match import continued
from server_bridge.protocol import Token


def chosen(
    said: Candidate,
    tokens: Iterable[Token],
    forced: str,
    cursor: Cursor,
    elsewhere: Iterable[str] | None,
) -> Candidate:
    """
    The candidate to remember at *cursor* for what the model *said* there.

    *tokens* spell *forced* and then the text. *elsewhere* are lines out of sight that may be said
    again, the likeliest first; None where lines may not be offered at all.
    """
    said = replace(said, odds=odds(tokens, forced, said.text))
    local = Candidate("") if elsewhere is None else continued(cursor, elsewhere)
    if not local.text:
        return said
    return preferred(said, confidence(said.odds, polish(said, cursor).text), local)
