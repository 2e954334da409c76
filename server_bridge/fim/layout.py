"""
A prompt into an ordered list of segments, and tokens into what llama.cpp's JSON wants. Pure.

Token ids are kept the way they are used: as text for the request's body and as packed integers for
the mirror, both made once per text. A prompt of 8,000 tokens is then joined, not built.

For backends that take no token ids the same is written as text (`render`): only there the special
tokens are spelled out, and what looks like one in the user's text is broken by a space, so that it
cannot become one.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeVar

from server_bridge.fim.tokens import CONTROLS, Family, Specials, n_common, specials
from server_bridge.protocol import Prompt, Token


class Part(NamedTuple):
    """A piece of a prompt as it is sent."""

    kind: Kind
    text: str


def render(prompt: Prompt, family: Family) -> list[Part]:
    """Return the prompt in the family's order, without what is forced; the middle stands last."""
    spellings = family.spellings
    marks = specials(family, {spelling: (n,) for n, spelling in enumerate(spellings)}, start=())
    assert marks is not None
    parts = []
    for kind, numbers, text in layout(prompt, marks):
        text = prompt.middle if kind == "middle" else text  # noqa: PLW2901
        parts.append(Part(kind, _spell_marks(spellings, numbers) + neutral(text, family)))
    return parts


@lru_cache(maxsize=64)  # frozen texts come with every key
def neutral(text: str, family: Family) -> str:
    """
    Return the text with a space in everything that the family's tokenizer would take for a special
    token.
    """
    special = _looks_special(family)
    while special.search(text):  # a name may stand in another: `<[/INST]>`
        text = special.sub(lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)
    return text


@lru_cache(maxsize=64)  # there are fewer families
def _looks_special(family: Family) -> re.Pattern[str]:
    own = [re.escape(spelling.lstrip("▁")) for spelling in family.spellings]
    return re.compile("|".join((*own, *CONTROLS, *filter(None, (family.controls,)))))


def _spell_marks(spellings: tuple[str, ...], numbers: tuple[int, ...]) -> str:
    """
    Return the special tokens as one writes them: a piece that begins with U+2581 begins with a
    space.
    """
    return "".join(re.sub("^▁", " ", spellings[number]) for number in numbers)


Kind = Literal["repo", "chunk", "path", "prefix", "suffix", "turn", "middle"]
WIDTH = array("i").itemsize  # bytes of one packed token id
V = TypeVar("V")


class Segment(NamedTuple):
    """Control tokens, then text of which no part is read as a control token."""

    kind: Kind
    marks: tuple[int, ...]
    text: str


class Ids(NamedTuple):
    """A run of token ids: *packed* to compare, *listed* (comma-separated) to send."""

    packed: bytes
    listed: str

    @property
    def n(self) -> int:
        """Return how many there are."""
        return len(self.packed) // WIDTH


def ids(numbers: Sequence[int]) -> Ids:
    """Make `Ids` of token ids."""
    return Ids(array("i", numbers).tobytes(), ",".join(map(str, numbers)))


def join_runs(runs: Iterable[Ids]) -> Ids:
    """Join several runs."""
    runs = [run for run in runs if run.packed]
    return Ids(b"".join(r.packed for r in runs), ",".join(r.listed for r in runs))


def head(run: Ids, n: int) -> Ids:
    """Return the first *n* ids of a run."""
    return ids(array("i", run.packed[: n * WIDTH])) if n < run.n else run


def count_shared(a: bytes, b: bytes) -> int:
    """Return how many ids two packed sequences have in common at their beginning."""
    return n_common(a, b) // WIDTH


def layout(prompt: Prompt, fim: Specials) -> list[Segment]:
    """
    Return the prompt in the order the model was trained on, as far as that leaves stable parts
    first.

    The middle is always last and its text is given by tokens (see `split_tape`), not here.
    Instructions come behind what prompts to fill the gap share, so that what was evaluated for one
    kind serves the other.
    """
    family = fim.family
    head = family.head.format
    inside = fim.prefix if family.named_inside and prompt.path else ()
    segments = []
    is_named = family.named_alone or prompt.chunks
    if prompt.repo and family.repo and is_named:
        segments.append(Segment("repo", fim.repo, family.title.format(name=prompt.repo)))
    segments += [Segment("chunk", fim.file, head(name=c.name) + c.text) for c in prompt.chunks]
    if prompt.path and is_named:
        segments.append(Segment("path", fim.file + inside, head(name=prompt.path)))
    prefix = Segment("prefix", () if inside else fim.prefix, family.lead + prompt.prefix)
    suffix = Segment("suffix", fim.suffix, prompt.suffix if family.suffix else "")
    segments += (suffix, prefix) if family.suffix_first else (prefix, suffix)
    if prompt.turns:
        begin = itertools.chain((fim.ask,), itertools.cycle((fim.answer, fim.again)))
        segments += [Segment("turn", *turn) for turn in zip(begin, prompt.turns, strict=False)]
    segments.append(Segment("middle", fim.answer if prompt.turns else fim.middle, ""))
    segments[0] = segments[0]._replace(marks=fim.start + segments[0].marks)
    return segments


def split_tape(middle: str, tape: tuple[Token, ...]) -> tuple[str, tuple[Token, ...]]:
    """
    Return *middle* up to where *tape* spells it, text still to be tokenised, and the tape.

    A tape may begin inside a character; then its first tokens are left out.
    """
    data = middle.encode()
    spelled = b"".join(token.text for token in tape)
    assert data.endswith(spelled), "the tape must end the middle"
    at = len(data) - len(spelled)
    while tape and _inside_character(data, at):
        at += len(tape[0].text)
        tape = tape[1:]
    return data[:at].decode(), tape


def find_spelling(
    numbers: Sequence[int], pieces: Mapping[int, bytes], text: str
) -> tuple[Token, ...]:
    """
    Return the longest run of these tokens that spells a beginning of *text* in whole characters.

    A stop string may cut the text inside a token, and a limit inside a character; such a token is
    left out.
    """
    data = text.encode()
    at = 0
    tokens = []
    whole = 0
    for number in numbers:
        piece = pieces.get(number)
        if piece is None or not data.startswith(piece, at):
            break
        at += len(piece)
        tokens.append(Token(number, piece))
        if not _inside_character(data, at):
            whole = len(tokens)
    return tuple(tokens[:whole])


def _inside_character(data: bytes, at: int) -> bool:
    """Return whether UTF-8 goes on with a continuation byte (10xxxxxx) here."""
    return at < len(data) and data[at] & 0xC0 == 0x80  # noqa: PLR2004
