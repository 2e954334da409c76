"""
A ring into JSON and back, so that the next session can begin where this one ended. Pure.

What is read back is not shown before somebody looked whether it is still true and still allowed:
every piece comes without freshness and with a version no file has, so that it counts as changed
(`Memory.unsure`). A value of another version or shape gives an empty ring, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fim_lsp.context.chunks import ContextChunk, Piece, Why, words
from fim_lsp.context.ring import Ring

VERSION = 1  # of the shape below; another one is not read
_UNKNOWN = -1  # the version of a text that is to be read again

Json = Mapping[str, object]


def as_json(ring: Ring) -> Json:
    """The ring as `json.dumps` takes it; what is not true any more is left out."""
    chunks = [
        [
            {"uri": p.uri, "name": p.name, "start": p.start, "text": p.text, "why": p.why.name}
            for p in chunk.pieces
        ]
        for chunk in ring.chunks
        if all(piece.fresh for piece in chunk.pieces)
    ]
    return {"version": VERSION, "credit": ring.credit, "chunks": chunks}


def from_json(value: object) -> Ring:
    """The ring that `as_json` made *value* of, all of it in doubt; an empty one for anything else."""
    match value:
        case {"version": version, "credit": int(credit), "chunks": list(chunks)} if (
            version == VERSION
        ):
            read = [tuple(_pieces(chunk)) for chunk in chunks]
            size = max(0, credit)
            return Ring(tuple(ContextChunk(p) for p in read if p), credit=size, admitted=size)
    return Ring()


def _pieces(chunk: object) -> Iterator[Piece]:
    """None of them where one cannot be read: a chunk is shown as a whole."""
    pieces = [_piece(item) for item in chunk] if isinstance(chunk, list) else []
    yield from (p for p in pieces if p is not None) if None not in pieces else ()


def _piece(item: object) -> Piece | None:
    match item:
        case {
            "uri": str(uri), "name": str(name), "start": int(start), "text": str(text),
            "why": str(why),
        } if why in Why.__members__:  # fmt: skip
            end = start + text.count("\n") + 1
            return Piece(uri, name, start, end, _UNKNOWN, text, Why[why], words(text), fresh=False)
    return None
