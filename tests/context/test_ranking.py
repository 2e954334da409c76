"""The newest pieces are chosen, and nothing is chosen twice."""

from __future__ import annotations

import pytest

from fim_lsp.context.chunks import Piece, Source, Why
from fim_lsp.context.memory import Memory
from fim_lsp.context.ranking import Ranking, Room, ShownLines, choose
from fim_lsp.context.ring import RingLimits, Viewport, update_ring
from fim_lsp.documents import Edit, Position, apply_edits, open_document
from tests.parsing import read_here

names = ("here.py", "alfa.py", "beta.py")
HERE, A, B = names
ROOM_OF_ONE = RingLimits(n_chunks=16, chunk_lines=64, n_chars=330)


def lines_of(name: str, n_lines: int = 64) -> str:
    """Return lines that have words of their own, in pieces of 16."""
    own = name.removesuffix(".py")
    return "".join(
        f"{own}_{chr(97 + n // 26)}{chr(97 + n % 26)} = {own}()\n" for n in range(n_lines)
    )


def look(memory: Memory, name: str, line: int) -> None:
    """The user goes to a line."""
    memory.note_focus(name)
    memory.note_move(name, line)


def edit(memory: Memory, name: str, line: int) -> None:
    """The user writes a line."""
    change = Edit(Position(line, 0), Position(line, 0), "new = 1\n")
    after = apply_edits(open_document(name, "python", 1, lines_of(name)), [change], 2)
    memory.note_edit(after, [change])


def copy(memory: Memory, name: str, line: int) -> None:
    """The user copies four lines."""
    memory.note_yank(name, "".join(lines_of(name).splitlines(keepends=True)[line : line + 4]))


@pytest.mark.parametrize(
    ("acts", "name", "line"),
    [
        ([(look, A, 0), (look, B, 0)], B, 0),  # the file looked at last
        ([(look, B, 0), (look, A, 0)], A, 0),
        ([(look, A, 50)], A, 50),  # there the lines near the cursor
        ([(edit, A, 2), (look, B, 0)], A, 2),  # an edit is newer than any look
        ([(edit, A, 2), (edit, B, 40), (look, A, 0)], B, 40),  # the last one
        ([(edit, A, 40), (edit, B, 2), (edit, A, 2)], A, 2),
        ([(copy, A, 20), (look, B, 0)], A, 20),  # so is a copy
        ([(copy, A, 20), (edit, B, 2), (look, A, 50)], B, 2),
        ([(edit, B, 2), (copy, A, 20), (look, B, 50)], A, 20),  # of two as old the one copied
    ],
)  # fmt: skip
def test_with_room_for_one_piece_the_newest_is_shown(acts: list, name: str, line: int) -> None:
    """By the last edit or copy, then by the last look, then by the cursor."""
    memory = Memory(ROOM_OF_ONE)
    for each in names:
        memory.note_open(Source(each, each, "python", 1, tuple(lines_of(each).splitlines(True))))
    for act, *place in acts:
        act(memory, *place)
    memory.note_focus(HERE)
    ring = update_ring(memory.snapshot(Viewport(HERE, 0, 0, 60)), read_here)
    pieces = [piece for chunk in ring.chunks for piece in chunk.pieces]
    [piece] = [piece for piece in pieces if piece.n_lines > 1]  # an edit leaves a line at the end
    assert (piece.uri, piece.start <= line < piece.end) == (name, True)


def piece(name: str, text: str, start: int = 0) -> Piece:
    return Piece(name, name, start, start + 1, 1, text, Why.OPENED)


def choose_from(pool: list[Piece], n_chars: int, lines: frozenset[str] = frozenset()) -> list[str]:
    """Return the texts of what is chosen of *pool*, which is in order; *lines* are in sight."""
    ranks = {(piece.uri, piece.start): rank for rank, piece in enumerate(pool)}
    ranking = Ranking(pool, lambda piece: (ranks.get((piece.uri, piece.start), 99),), n_chars)
    room = Room(n_chars, 9, 64, 0, file_chars=400)
    return [p.text for p in choose(ranking, ShownLines("", lines), (), room, frozenset())[0]]


ONE = "apple = make_apple(seed, size, colour)"
OTHER = "cedar = make_cedar(seed, size, colour)"
LONG = "oak = " + " + ".join(["acorn"] * 40)


@pytest.mark.parametrize(
    ("pool", "chosen"),
    [
        ([piece("a", ONE), piece("b", OTHER)], [ONE, OTHER]),
        ([piece("a", ONE), piece("b", ONE), piece("c", OTHER)], [ONE, OTHER]),  # a copy
        ([piece("a", "x = 1"), piece("b", "x = 1"), piece("c", "x = 2")], ["x = 1", "x = 2"]),
        ([piece("a", f"{ONE} # 1"), piece("b", f"{ONE} # 2")], [f"{ONE} # 1"]),  # but for a number
        ([piece("a", f"{ONE}\nx_1 = 1"), piece("b", f"{ONE}\nx_2 = 2")], [f"{ONE}\nx_1 = 1"]),
        ([piece("a", ONE), piece("b", f"{ONE}\n{OTHER}")], [ONE, OTHER]),  # the rest of it
        ([piece("a", LONG), piece("a", f"{LONG}!", 9), piece("b", ONE)], [LONG, ONE]),  # its share
    ],
)  # fmt: skip
def test_nothing_is_shown_twice_and_no_file_fills_the_ring(
    pool: list[Piece], chosen: list[str]
) -> None:
    """The room goes to something else."""
    assert choose_from(pool, 900) == chosen


def test_lines_in_sight_are_not_shown_again() -> None:
    """They stand in the window."""
    assert choose_from([piece("a", f"{ONE}\n{OTHER}")], 900, frozenset({ONE})) == [OTHER]


def test_a_piece_counts_half_behind_each_ring_of_newer_ones() -> None:
    """So a change pays once enough is newer."""
    pool = [piece("a", "x" * 100), piece("b", "y" * 200), piece("c", "z" * 100)]
    ranking = Ranking(pool, lambda each: (pool.index(each),), 300)
    assert [ranking.worth(each) for each in pool] == [100, 200 * 0.5 ** (1 / 3), 50]


def test_one_file_makes_others_older_by_its_share_only() -> None:
    """More of it is not shown."""
    pool = [piece("a", "x" * 900, n) for n in range(4)] + [piece("b", "y" * 100)]
    ranking = Ranking(pool, lambda each: (pool.index(each),), 3600)
    assert ranking.worth(pool[-1]) == 100 * 0.5 ** (1 / 3)


def test_what_is_old_is_left_out_though_there_is_room() -> None:
    """What so much newer text is behind is noise."""
    pool = [piece(f"f{n}", lines_of(f"f{n}", 20)) for n in range(60)]
    small = piece("small", "name = 1")
    assert "name = 1" in choose_from([pool[0], small], 900)
    assert "name = 1" not in choose_from([*pool, small], 900)
