"""The account and the prefix of the ring hold under any history of turns."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fim_lsp.context.chunks import ContextChunk, Piece, Why
from fim_lsp.context.ranking import Ranking
from fim_lsp.context.ring import Ring, RingLimits, RingScene, refill, visible

LIMITS = RingLimits(n_chunks=4, chunk_lines=25, n_chars=1200)  # two and a half pieces


def piece(uri: str, start: int, words: list[str]) -> Piece:
    text = "\n".join(f"    {word} = {word}({start})" for word in words)
    return Piece(uri, uri, start, start + len(words), 1, text, Why.OPENED)


def scene(
    pieces: list[Piece], files: Sequence[str], edited: Sequence[Piece] = (), n_chars: int = 1200
) -> RingScene:
    """Return what a ring is chosen for where *edited* were edited in this order."""

    def age(piece: Piece) -> tuple[int, int, int]:
        clock = edited.index(piece) if piece in edited else -1
        return -clock, files.index(piece.uri), piece.start

    return RingScene(Ranking(pieces, age, n_chars), "", frozenset(), files)


FILES = ["a", "b", "c", "d"]
WORDS = [f"word{n}" for n in range(40)]
POOL = [
    piece(uri, at * 10, random.Random(f"{uri}{at}").sample(WORDS, 8))
    for uri in FILES
    for at in range(6)
]
TURNS = st.lists(
    st.tuples(
        st.permutations(FILES),
        st.sets(st.sampled_from(range(len(POOL))), max_size=4),
        st.lists(st.sampled_from(POOL), max_size=10, unique=True),
    ),
    max_size=12,
)


@given(TURNS)
def test_all_that_is_evaluated_is_at_most_twice_what_is_admitted(turns: list) -> None:
    """Over any history; the ring keeps its limits, shows no line twice and nothing bad."""
    ring = Ring()
    admitted = 0
    carried = 0
    for files, bad_ones, edited in turns:
        bad_pieces = {POOL[n] for n in bad_ones}
        bad = lambda chunk, gone=bad_pieces: any(p in gone for p in chunk.pieces)  # noqa: E731
        candidates = [p for p in POOL if p not in bad_pieces]
        fresh = refill(ring, scene(candidates, files, edited), LIMITS, bad)
        same = 0
        while (
            same < min(len(ring.chunks), len(fresh.chunks))
            and ring.chunks[same] == fresh.chunks[same]
        ):
            same += 1
        old = {piece for chunk in ring.chunks for piece in chunk.pieces}
        for chunk in fresh.chunks[same:]:
            again = [len(piece.text) + 1 for piece in chunk.pieces if piece in old]
            n_again = chunk.size if len(again) == len(chunk.pieces) else sum(again)
            carried += n_again
            admitted += chunk.size - n_again
        ring = fresh
        shown = [p for chunk in ring.chunks for p in chunk.pieces]
        assert carried <= admitted
        assert 0 <= ring.credit <= admitted - carried
        assert len(ring.chunks) <= LIMITS.n_chunks
        assert ring.size <= LIMITS.n_chars
        assert len(set(shown)) == len(shown)
        assert not any(bad(chunk) for chunk in ring.chunks)


@given(TURNS)
@settings(max_examples=30)
def test_the_same_history_gives_the_same_ring(turns: list) -> None:
    """No randomness, no order in which pieces come: same events, same prompt."""
    rings = []
    for order in (1, -1):
        ring = Ring()
        for files, _, edited in turns:
            ring = refill(ring, scene(POOL[::order], files, edited), LIMITS, lambda _: False)
        rings.append(ring)
    assert rings[0] == rings[1]


def test_what_is_bad_hides_what_stands_behind_it_and_nothing_else() -> None:
    """A prefix of the ring is shown: the backend has evaluated it already."""
    chunks = tuple(ContextChunk((p,)) for p in POOL[:4])
    assert visible(Ring(chunks), lambda chunk: chunk == chunks[2]) == chunks[:2]
    assert visible(Ring(chunks), lambda _: False) == chunks


def test_without_news_the_ring_comes_to_rest() -> None:
    """Turns at the same place stop changing it, so the cache stays hot."""
    rings = [Ring()]
    for _ in range(6):
        rings.append(refill(rings[-1], scene(POOL, FILES), LIMITS, lambda _: False))
    assert rings[-1].chunks
    assert rings[-1] == rings[-2]


def test_a_ring_without_room_is_filled_with_nothing() -> None:
    """Such as that of a model of a small context, behind one of a large."""
    full = refill(Ring(), scene(POOL, FILES), LIMITS, lambda _: False)
    for ring in (Ring(), full):
        left = refill(ring, scene(POOL, FILES, n_chars=0), RingLimits(4, 25, 0), lambda _: False)
        assert {*left.chunks} <= {*ring.chunks}


def test_fewer_chunks_are_kept_where_fewer_are_allowed() -> None:
    """As the settings of now say."""
    full = refill(Ring(), scene(POOL, FILES), LIMITS, lambda _: False)
    left = refill(full, scene(POOL, FILES), RingLimits(1, 25, 1200), lambda _: False)
    assert len(full.chunks) > 1 >= len(left.chunks)


def test_the_front_is_evicted_in_bulk_once_others_are_newer() -> None:
    """Old chunks leave together once enough was admitted to pay for it."""

    def words(prefix: str) -> list[str]:
        return [f"{prefix}{n}" for n in range(8)]

    old = [piece("a", n * 10, words(f"old{n}_")) for n in range(4)]
    new = [piece(uri, n * 10, words(f"{uri}{n}_")) for uri in "bc" for n in range(4)]
    ring = refill(Ring(), scene(old, ["a"]), LIMITS, lambda _: False)
    full = refill(ring, scene(old + new, ["c", "b", "a"], new), LIMITS, lambda _: False)
    assert {chunk.uri for chunk in ring.chunks} == {"a"}
    assert {chunk.uri for chunk in full.chunks} & {"b", "c"}
    assert full.evicted > 0


def test_pieces_that_do_not_fill_their_chunks_count_as_the_chunks_they_make() -> None:
    """Two pieces of eight lines go into a chunk of 20, so four of them fill two chunks, not five."""
    news = [piece("a", at * 8, [f"name{at}{n}" for n in range(8)]) for at in range(9)]
    ring = refill(
        Ring(), scene(news, FILES, n_chars=100_000), RingLimits(2, 20, 100_000), lambda _: False
    )
    assert [len(chunk.pieces) for chunk in ring.chunks] == [2, 2]


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        (RingLimits(16, 64, 6000), True),
        (RingLimits(16, 64, 6800), True),
        (RingLimits(16, 64, 7000), False),
        (RingLimits(16, 64, 5999), False),  # less room is less room
        (RingLimits(15, 64, 6000), False),
        (RingLimits(16, 32, 6100), False),
    ],
)
def test_a_little_more_room_is_not_used(limits: RingLimits, kept: bool) -> None:
    """How long a token is, is only estimated; each new chunk costs the window behind it."""
    assert RingLimits(16, 64, 6000).grow(limits) == (RingLimits(16, 64, 6000) if kept else limits)
