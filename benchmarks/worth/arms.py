"""
What a model is shown at a place, arm by arm: the product's own choice and prompt, and others to compare with.

| arm | in the prompt besides the window of `WINDOW` tokens |
| --- | --- |
| `window` | nothing |
| `ring500`, `ring1500` | the ring with so many tokens of room, as the session has it there |
| `wider` | a window that is larger by `MORE` tokens |
| `unrelated` | as many of another project, in front: the control |
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.git import is_code
from benchmarks.worth.driven import DrivenRing
from benchmarks.worth.places import Place
from fim_lsp.context.chunks import Piece, Source, group, read
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import TextPlace, split
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import LEAD, Budget, place_window
from server_bridge.fim.tokens import needs_no_lead
from server_bridge.protocol import Chunk, Prompt

CHARS_PER_TOKEN = 3.4  # of Qwen2.5-Coder's tokens in code
WINDOW = (384, 96)  # tokens above and below: what a slow machine evaluates
MORE = 500  # tokens
MIDDLE = 256
RINGS = ("ring500", "ring1500")
ARMS = ("window", *RINGS, "wider", "unrelated")
_CHUNK_LINES = 64
_UNRELATED = Path(__file__).resolve().parents[2] / "fim_lsp"


def budget(model: str, more: int = 0) -> Budget:
    """Return the window of a model of this name, with so many *more* tokens."""
    above, below = WINDOW
    return Budget(
        prefix=chars(above + more),
        suffix=chars(below),
        middle=chars(MIDDLE),
        lead=0 if needs_no_lead(model) else LEAD,
    )


def chars(n_tokens: int) -> int:
    """Return how many characters about so many tokens have."""
    return int(n_tokens * CHARS_PER_TOKEN)


def rings(arms: Iterable[str]) -> dict[str, DrivenRing]:
    """Return the rings that *arms* need; one in any case."""
    needed = {*arms} & {*RINGS} or {RINGS[0]}
    return {name: DrivenRing(chars(int(name.removeprefix("ring")))) for name in sorted(needed)}


def compose_arm(arm: str, place: Place, repo: str, model: str) -> Prompt:
    """Return what an arm shows at a place, as the session would send it when nothing is typed."""
    ring = place.rings[arm] if arm in RINGS else ()
    if arm == "unrelated":
        ring = group(_unrelated(place), _CHUNK_LINES)
    chunks = tuple(Chunk(chunk.name, chunk.text) for chunk in ring)
    window = place.window
    if arm == "wider":
        window = place_window(place.document, place.position, budget(model, MORE), None)
    frame = Frame(Header(repo, chunks, place.path), window)
    return compose(frame, frame.middle(TextPlace(place.document, place.position)))


def _unrelated(place: Place) -> list[Piece]:
    """Return pieces of this project for the room of `MORE`, others at each place."""
    files = sorted(file for file in _UNRELATED.rglob("*.py") if is_code(file.name))
    file = files[sum(place.commit.encode()) % len(files)]
    lines = tuple(split(file.read_text("utf-8")))
    chosen, room = list[Piece](), chars(MORE)
    for piece in read(Source(file.name, file.name, language_of(file.name), 0, lines)):
        room -= len(piece.text)
        if room >= 0:
            chosen.append(piece)
    return chosen
