"""A proposal into the words that say why: the earlier edit that it repeats. Pure."""

from __future__ import annotations

from fim_lsp.display import sanitize
from fim_lsp.next_edit.edits import Lines
from fim_lsp.next_edit.engine import Proposal

LINE_CHARS = 60  # of a line that is quoted; it is read in a message


def why(proposal: Proposal, name: str, unopened: str = "") -> str:
    """
    Describe why; *name* is what the user calls the file of the earlier edit, or the model that made
    the proposal.

    *unopened* is the file that it is in, where that is not open.
    """
    example, n_more = proposal.example, proposal.n_examples - 1
    if example is None:
        return f"The model {sanitize(name)} proposes it, after your last edits."
    more = f", as {n_more} earlier edit{'s'[: n_more > 1]} did" if n_more else ""
    made = _change(example.before, example.after)
    where = f" {sanitize(unopened)} is not open, and has the same text." if unopened else ""
    return (
        f"It repeats your edit in {sanitize(name)}, line {example.line + 1}: {made}{more}.{where}"
    )


def _change(before: Lines, after: Lines) -> str:
    if not after:
        return f"{_quote(before)} went"
    return f"{_quote(before)} became {_quote(after)}" if before else f"{_quote(after)} came"


def _quote(lines: Lines) -> str:
    """Return the first line that says something, marked where there are more."""
    first = next((line for line in lines if line.strip()), "")
    return f"`{sanitize(first.strip(), LINE_CHARS)}`" + " …" * (len(lines) > 1)
