"""
A full ring: files to have open before a trace begins, and how much of it was new to the server. Pure but for reading.

"New context" is what somebody has to evaluate at least once: the tokens of every chunk that ever stood
in a prompt, and of every window (what stands above the anchor, and right of and below the cursor) each
time it was anchored anew. What was typed is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from benchmarks.editor import Step
from benchmarks.places import CHUNK_LINES, LIBRARY
from fim_lsp.documents import Position
from fim_lsp.events import Opened
from server_bridge.protocol import Chunk

N_CHUNKS = 16  # `fim.ring.chunks`
# Modules of the standard library that are near to what the traces type into (argparse, inspect).
NAMES = (
    "ast", "cmd", "codeop", "csv", "dataclasses", "doctest", "enum", "fileinput", "fractions", "functools",
    "gettext", "getopt", "optparse", "pdb", "pprint", "pydoc", "shlex", "string", "textwrap", "trace",
    "traceback", "types", "typing", "warnings",
)  # fmt: skip


def openings() -> list[Step]:
    """An editor with all these files open: steps to go before a trace."""
    steps = []
    for name in NAMES:
        uri = f"file:///demo/{name}.py"
        event = Opened(uri, "python", 1, _text(name))
        steps.append(Step("open", 0.0, (event,), uri, Position(0, 0), key=False, asks=False))
    return steps


def chunks() -> tuple[Chunk, ...]:
    """A full ring for clients whose own choice of chunks is not what is measured: the files' middles."""
    found = []
    for name in NAMES[:N_CHUNKS]:
        lines = _text(name).splitlines(keepends=True)
        start = max(0, (len(lines) - CHUNK_LINES) // 2)
        found.append(Chunk(f"{name}.py", "".join(lines[start : start + CHUNK_LINES])))
    return tuple(found)


def n_new(prompts: Iterable[list[int]], marks: set[int | None]) -> int:
    """
    Tokens of new context in *prompts*; *marks* are the control tokens that parts begin with.

    The last part is what was typed, or what one step of an evaluation ends in, and is not counted.
    """
    known: set[int] = set()
    n_tokens = 0
    for prompt in prompts:
        begins = [idx for idx, token in enumerate(prompt) if token in marks]
        for start, end in pairwise(begins):
            part = hash(tuple(prompt[start:end]))
            n_tokens += (end - start) * (part not in known)
            known.add(part)
    return n_tokens


def _text(name: str) -> str:
    return (LIBRARY / f"{name}.py").read_text("utf-8")
