"""The near part: lines around the last edits, and the file at work out of sight."""

from __future__ import annotations

import pytest

from fim_lsp.context.chunks import Piece, Why
from fim_lsp.context.near import choose_near
from fim_lsp.context.ring import Viewport
from tests.context.test_memory import A, B, Editor, functions

ROOM = 1_700  # characters
SECRET = "ghp_" + "Zx8Kq2Lm9Rt4Vb7Nc1Wp5Hd3Jf6Gs0Yu8Ea2"


def near(editor: Editor, line: int = 2, n_chars: int = ROOM, shown: tuple = ()) -> list[Piece]:
    """Return the near part of a window of ten lines in the first file."""
    view = Viewport(A, line, max(0, line - 5), line + 5)
    return [*choose_near(editor.memory.snapshot(view), n_chars, shown)]


def many(n: int, word: str = "name") -> str:
    return functions(*(f"{word}{idx}" for idx in range(n)))


def test_lines_around_the_last_edits_come_last() -> None:
    """Twelve above and four below, in their order; the newest edit stands next to the cursor."""
    editor = Editor(a=functions("one"), b=many(40), c=many(40, "other"))
    editor.insert(B, 50, "changed = 1\n")
    editor.insert("file:///w/c.py", 60, "changed_too = 2\n")
    pieces = [piece for piece in near(editor) if piece.why is Why.EDITED]
    assert [piece.name for piece in pieces] == ["b.py", "c.py"]
    assert "changed = 1" in pieces[0].text
    assert 50 - 12 <= pieces[0].start < 50 - 8  # blank lines are left out
    assert 50 + 2 < pieces[0].end <= 50 + 1 + 4


def test_a_stretch_of_edited_lines_has_one_piece() -> None:
    """Lines that were typed one after the other, and near each other, are shown once."""
    editor = Editor(a=functions("one"), b=many(40))
    for line in range(50, 55):
        editor.insert(B, line, f"typed_{line} = {line}\n")
    pieces = near(editor, n_chars=9_000)
    lines = [n for piece in pieces for n in range(piece.start, piece.end)]
    assert len(lines) == len(set(lines))
    assert "typed_54 = 54" in pieces[-1].text


def test_the_window_and_the_ring_in_front_are_not_shown_again() -> None:
    """Edits in the window are in sight; what the ring shows is not repeated."""
    editor = Editor(a=many(40), b=many(40))
    editor.insert(A, 3, "here = 1\n")
    editor.insert(B, 50, "there = 1\n")
    pieces = near(editor)
    assert all(piece.end <= 0 or piece.start >= 7 for piece in pieces if piece.uri == A)
    [edited] = [piece for piece in pieces if piece.why is Why.EDITED]
    again = near(editor, shown=(edited,))
    assert not any(edited.start < p.end and p.start < edited.end for p in again if p.uri == B)


def test_the_file_at_work_is_shown_by_what_it_shares_with_the_cursor() -> None:
    """Of what is out of sight, the part that uses the words around the cursor."""
    text = functions("price") + many(20) + "def total():\n    return price(1) + price_total\n"
    pieces = near(Editor(a=text))
    assert {piece.why for piece in pieces} == {Why.FAR}
    assert "price(1)" in pieces[-1].text


@pytest.mark.parametrize("n_chars", [0, 100, 500, 3_000])
def test_it_has_the_room_that_it_is_given(n_chars: int) -> None:
    """Headings count; half of it at most is for edits."""
    editor = Editor(a=many(60), b=many(60))
    for line in (20, 60, 100, 140):
        editor.insert(B, line, f"typed_{line} = {line}\n")
    pieces = near(editor, n_chars=n_chars)
    sizes = {why: sum(len(p.text) for p in pieces if p.why is why) for why in Why}
    assert sum(sizes.values()) <= n_chars
    assert sizes[Why.EDITED] <= n_chars // 2


@pytest.mark.security
def test_no_secret_stands_in_it() -> None:
    """A piece with a secret is left out, whichever half it would be in."""
    editor = Editor(a=many(20) + f'token = "{SECRET}"\n', b=many(20))
    editor.insert(B, 30, f'api_token = "{SECRET}"\n')
    assert all(SECRET not in piece.text for piece in near(editor, n_chars=20_000))


@pytest.mark.security
def test_a_file_that_is_gone_is_not_in_it() -> None:
    """Its edits are forgotten with it."""
    editor = Editor(a=functions("one"), b=many(40))
    editor.insert(B, 50, "changed = 1\n")
    assert any(piece.uri == B for piece in near(editor))
    editor.memory.note_deletion(B)
    assert not any(piece.uri == B for piece in near(editor))
