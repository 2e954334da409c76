"""
Texts into pieces, and chosen pieces into the chunks a model is shown. Pure.

A `Source` is a text we may use: an open document, one closed lately, a file of the workspace. It is
cut once per version into small pieces at the borders of its parts. Pieces are what is chosen,
because a dense half of a screen beats a whole one; the prompt gets chunks, several pieces of one
file in their order under one heading, because headings cost tokens and a file told in order reads
better.
"""

from __future__ import annotations

import enum
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from fim_lsp.context.secrets.scan import REACH, key_lines, looks_secret, n_begun_above
from fim_lsp.documents import LINE_CHARS, body, unix

SOURCE_CHARS = 1_000_000
"""Characters of a text that is cut into pieces: 25,000 lines, parsed in 0.2 s. Nothing is learned
from a longer one, which is data or generated code; the lines around the cursor are shown all the
same."""

PIECES = 2_000
"""Pieces of one text, its first ones: all of 32,000 lines. A piece takes about 4 kB of memory."""

PIECE_CHARS = 4_000
"""Characters of a piece. The usual one has 600; denser text is data and its words are no names."""

YANK_CHARS = 20_000
"""Characters of a yank that is kept: what a ring can show. A file that is copied whole is no
hint."""

PIECE_LINES = 16
"""Eight lines cut through most functions, sixteen hold the typical one whole; longer pieces recall
less at equal tokens."""

WORD = re.compile(r"[^\W\d]\w+")
"""A name of two characters or more: single letters are everywhere and tell nothing."""

TELLING_WORDS = 5
"""Words from which a line is a copy when it stands in two files; shorter ones are idioms, like
`def __init__(self) -> None:` and `from __future__ import annotations`."""

SAME = 0.9
"""The same piece, lightly edited: the newer one replaces the older. One changed line in twenty
costs about 0.05; llama.vim uses 0.9 for this, too, on a measure of its own."""

ABOVE = 8  # lines above a piece that may say that it holds a secret

_PLACES = 50
"""Places of one line that are looked at for the lines around it: a text may be one line 100,000
times."""

_NUMBER = re.compile(r"\d+")

HEADING = 4  # characters a chunk costs besides its name and text: separator token, line ends


class Why(enum.Enum):
    """The reason why a piece is known. `ranking` decides which of them are shown."""

    OPENED = "in a file you opened"

    YANKED = "yanked"


@dataclass(frozen=True, slots=True)
class Source:
    """One version of one text, *name* as the model may see it: relative to the workspace."""

    uri: str
    name: str
    language: str
    version: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines [start, end) of one version of a text."""

    uri: str
    name: str
    start: int
    end: int
    version: int
    text: str
    why: Why
    copied: int = -1  # clock of the `Memory` when it was yanked
    fresh: bool = True  # False once its lines were edited or are gone

    @property
    def n_lines(self) -> int:
        """Return how many lines it has."""
        return self.text.count("\n") + 1

    @property
    def home(self) -> str:
        """The file of these lines; what stands in no file, or no more, counts as its own file."""
        return self.uri if self.end else f"{self.why.value} from {self.uri}"


@dataclass(frozen=True, slots=True)
class ContextChunk:
    """Pieces of one file in order, as the prompt shows them."""

    pieces: tuple[Piece, ...]

    @property
    def name(self) -> str:
        """The workspace-relative path: `server_bridge.protocol.Chunk.name`."""
        return self.pieces[0].name

    @property
    def uri(self) -> str:
        """The URI of its file."""
        return self.pieces[0].uri

    @property
    def text(self) -> str:
        """The text for the model; ends with a line end."""
        return "\n".join(piece.text for piece in self.pieces) + "\n"

    @property
    def size(self) -> int:
        """Characters in the prompt, heading included."""
        return sum(len(piece.text) + 1 for piece in self.pieces) + len(self.name) + HEADING

    @property
    def n_lines(self) -> int:
        """Lines of code in it."""
        return sum(piece.n_lines for piece in self.pieces)


Pieces = tuple[Piece, ...]
Read = Callable[[Source], Pieces]  # `cut`, at the borders that a parser finds


def cut(source: Source, borders: Iterable[int]) -> Pieces:
    """Cut *source* at these lines."""
    text = unix("".join(source.lines))
    lines = text.split("\n")
    keys = [*key_lines(text)]
    spans = _list_spans(sorted({0, len(lines), *borders}))
    made = (
        _make_piece(source, lines, Why.OPENED, (start, end), PIECE_CHARS)
        for start, end in spans
        if not any(key.start < end and start < key.stop for key in keys)
    )
    return tuple(itertools.islice(filter(None, made), PIECES))


def read_yank(source: Source, text: str, clock: int) -> Piece | None:
    """
    Return a yank as the user took it at *clock*; None when there is nothing to learn from it or it
    is secret.
    """
    if len(text) > YANK_CHARS:
        return None
    lines = unix(text).strip("\n").split("\n")
    if (made := _make_piece(source, lines, Why.YANKED, (0, len(lines)), YANK_CHARS)) is None:
        return None
    piece = replace(made, copied=clock)
    if not (found := locate(piece, source)).fresh:
        return piece
    above = _join_above(source.lines, found.start)  # a secret that begins there goes on in it
    return None if _n_begun_above(above, found.text) else piece


def add_yank(yanks: Pieces, source: Source, text: str, clock: int) -> Pieces:
    """
    Return *yanks* with the one of *text* as the last, in place of yanks that say the same; none at
    all where there is nothing to learn from it. For *clock* see `read_yank`.
    """
    if (fresh := read_yank(source, text, clock)) is None:
        return ()
    return *(piece for piece in yanks if similarity(text, piece.text) < SAME), fresh


def similarity(a: str, b: str) -> float:
    """
    Return 1 for texts that differ in spacing only, 0 for texts with no line and no word in common.

    It is the mean of two Dice coefficients over multisets, one of normalised lines and one of
    words. Lines alone would call a renamed copy new; words alone would call two loops over other
    things the same.
    """
    return sum(map(_compare, _list_features(a), _list_features(b))) / 2


def _list_features(text: str) -> tuple[Counter[str], Counter[str]]:
    """Return the lines that are not blank, without indent and extra spaces, and the words."""
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return Counter(filter(None, lines)), Counter(WORD.findall(text))


def _compare(a: Counter[str], b: Counter[str]) -> float:
    n_all = a.total() + b.total()
    return 2 * (a & b).total() / n_all if n_all else 1.0


def locate(piece: Piece, source: Source) -> Piece:
    """Return the piece where its lines stand in *source* now; not fresh when they do not."""
    wanted = piece.text.split("\n")
    elsewhere = itertools.islice(find_line(wanted[0], source.lines), _PLACES)
    for start in itertools.chain((piece.start,), elsewhere):
        end = start + len(wanted)
        if [body(line) for line in source.lines[start:end]] == wanted:
            return replace(
                piece, uri=source.uri, name=source.name, version=source.version,
                start=start, end=end, fresh=True,
            )  # fmt: skip
    return replace(piece, fresh=False)


def find_line(line: str, lines: tuple[str, ...]) -> Iterator[int]:
    """
    Yield the places of *line*, whatever its line end; the search runs in C: 10,000 lines in 0.1 ms.
    """
    for end in ("\n", "\r\n", "\r", ""):
        at = -1
        for _ in range(lines.count(line + end)):
            at = lines.index(line + end, at + 1)
            yield at


@functools.lru_cache(maxsize=512)  # asked of each shown piece at each request
def find_telling(text: str) -> frozenset[str]:
    """Return the lines of *text* that say enough to be a copy when they stand elsewhere, too."""
    return select_telling(text.split("\n"))


@functools.lru_cache(maxsize=512)
def list_shapes(text: str) -> frozenset[str]:
    """Return the same with 0 for each number: generated code has such lines a thousand times."""
    return frozenset(_NUMBER.sub("0", line) for line in find_telling(text))


def select_telling(lines: Iterable[str]) -> frozenset[str]:
    """Return the same of *lines*, with or without their ends."""
    return frozenset(filter(None, map(_strip_telling, lines)))


def cut_out(
    piece: Piece, doubled: AbstractSet[str], others: Sequence[Piece] = ()
) -> Iterator[Piece]:
    """
    Yield what is left of *piece*, in one part or more, without the lines *doubled* and those of
    *others*, of its file.
    """
    lines = piece.text.split("\n")
    taken = {n - piece.start for other in others for n in range(other.start, other.end)}
    out = [n in taken or _strip_telling(line) in doubled for n, line in enumerate(lines)]
    for is_doubled, run in itertools.groupby(range(len(lines)), key=out.__getitem__):
        if not is_doubled:
            yield from _make_part(piece, lines, list(run))


def overlap(one: Piece, other: Piece) -> bool:
    """Return whether two pieces of one file share lines."""
    return one.start < other.end and other.start < one.end


def group(chosen: Iterable[Piece], max_lines: int) -> tuple[ContextChunk, ...]:
    """
    Return the pieces as chunks of at most *max_lines*: neighbours of one file share a heading.
    """
    chunks: list[ContextChunk] = []
    for piece in chosen:
        last = chunks[-1] if chunks else None
        if last and last.uri == piece.uri and last.n_lines + piece.n_lines <= max_lines:
            chunks[-1] = ContextChunk((*last.pieces, piece))
        else:
            chunks.append(ContextChunk((piece,)))
    return tuple(chunks)


def _make_part(piece: Piece, lines: Sequence[str], run: Sequence[int]) -> Iterator[Piece]:
    text = "\n".join(lines[n] for n in run)
    start = piece.start + run[0]
    if can_tell(text):
        yield replace(piece, start=start, end=start + len(run), text=text)


@functools.lru_cache(maxsize=2048)  # the lines of the window, and of the pieces next to be chosen
def _strip_telling(line: str) -> str:
    """Return the line without its indent, "" when it has too few words to be more than an idiom."""
    line = line.strip()
    return line if len(line) <= LINE_CHARS and len(WORD.findall(line)) >= TELLING_WORDS else ""


def _list_spans(borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """
    Yield the line ranges of pieces: neighbouring parts share one while they fit, longer ones are
    divided.
    """
    start = borders[0]
    for border, beyond in itertools.pairwise((*borders[1:], borders[-1] + PIECE_LINES + 1)):
        while border - start > PIECE_LINES:
            yield start, start + PIECE_LINES
            start += PIECE_LINES
        if beyond - start > PIECE_LINES and border > start:
            yield start, border
            start = border


def _make_piece(
    source: Source, lines: Sequence[str], why: Why, span: tuple[int, int], n_chars: int
) -> Piece | None:
    """
    Make a piece; None for lines without words, for data, and for lines that hold a secret: they
    never leave.
    """
    start, end = span
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    if any(len(line) > LINE_CHARS for line in lines[start:end]):
        return None
    text = "\n".join(lines[start:end])
    is_useful = len(text) <= n_chars and can_tell(text)
    if not is_useful or _n_begun_above(_join_above(lines, start, "\n"), text):
        return None
    return Piece(source.uri, source.name, start, end, source.version, text, why)


def _join_above(lines: Sequence[str], start: int, end: str = "") -> str:
    """
    Return the last characters of what stands above the line *start*; *end* is the line end that
    *lines* lack.
    """
    above = (line[-REACH:] + end for line in lines[max(0, start - ABOVE) : start])
    return unix("".join(above))[-REACH:]


# After an edit most are as they were.
_n_begun_above = functools.lru_cache(maxsize=1024)(n_begun_above)


@functools.lru_cache(maxsize=1024)  # after an edit most pieces of a file are as they were
def can_tell(text: str) -> bool:
    """Return whether there is anything to learn from *text*: it has words, and no secret."""
    return not looks_secret(text) and WORD.search(text) is not None
