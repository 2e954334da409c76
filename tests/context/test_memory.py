"""Events in, chunks out: lines move along, edits break pieces, the window is never repeated."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.context.chunks import Source, Why
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import RingLimits, Viewport, update_ring
from fim_lsp.documents import Document, Edit, Position, apply_edits, open_document
from tests.parsing import read_here
from tests.typist import rewrite

LIMITS = RingLimits(n_chunks=16, chunk_lines=64, n_chars=6000)
A = "file:///w/a.py"
B = "file:///w/b.py"


class Editor:
    """Documents and a memory kept alike: the one caller of `Memory` in these tests."""

    def __init__(self, **texts: str) -> None:
        self.memory = Memory(LIMITS)
        self.documents: dict[str, Document] = {}
        for name, text in texts.items():
            self.open(f"file:///w/{name}.py", text)

    def open(self, uri: str, text: str) -> None:
        self.documents[uri] = document = open_document(uri, "python", 1, text)
        self.memory.note_open(_source(document))

    def edit(self, uri: str, *edits: Edit) -> None:
        before = self.documents[uri]
        self.documents[uri] = after = apply_edits(before, edits, before.version + 1)
        self.memory.note_edit(after, edits)

    def insert(self, uri: str, line: int, text: str) -> None:
        self.edit(uri, Edit(Position(line, 0), Position(line, 0), text))

    def update_ring(self, uri: str, line: int, n_around: int = 5) -> list[str]:
        """One update with the cursor here; the names of what is shown."""
        viewport = Viewport(uri, line, max(0, line - n_around), line + n_around)
        snapshot = self.memory.snapshot(viewport)
        assert self.memory.accept(snapshot, update_ring(snapshot, read_here))
        return self.shown(viewport)

    def shown(self, viewport: Viewport) -> list[str]:
        return [chunk.name for chunk in self.memory.visible(viewport)]


def _source(document: Document) -> Source:
    name = document.uri.rpartition("/")[2]
    return Source(document.uri, name, "python", document.version, document.lines)


def functions(*names: str) -> str:
    return "\n\n".join(f"def {n}(x):\n    {n}_total = x\n    return {n}_total\n" for n in names)


def test_other_files_are_shown_and_the_window_is_not() -> None:
    """What stands in another file is context, what stands in the window is not."""
    editor = Editor(a=functions("one"), b=functions("two"))
    assert editor.update_ring(A, 0) == ["b.py"]
    assert editor.update_ring(B, 0) == ["a.py"]


def test_far_lines_of_the_same_file_are_context() -> None:
    """The window is 10 lines; the rest of the file is worth as much as another."""
    text = functions(*(f"name{n}" for n in range(20)))
    editor = Editor(a=text)
    assert set(editor.update_ring(A, 2)) == {"a.py"}
    assert all(p.start >= 7 for chunk in editor.memory.ring.chunks for p in chunk.pieces)


def letters(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def generated(n_lines: int) -> str:
    """Return lines of which each has words of its own."""
    names = (letters(n) for n in range(1000, 1000 + n_lines))
    return "".join(
        f"{n}_key = make_entry({n}_name, {n}_size, {n}_kind, {n}_owner)\n" for n in names
    )


def characters(editor: Editor, uri: str) -> int:
    return sum(chunk.size for chunk in editor.memory.ring.chunks if chunk.uri == uri)


def test_one_large_file_does_not_fill_the_ring() -> None:
    """A long file has a third of the characters, however many words are in it."""
    editor = Editor(big=generated(600), a=functions("one", "two"), b=functions("three"))
    editor.update_ring(B, 0)
    assert characters(editor, A) > 0
    assert 0 < characters(editor, "file:///w/big.py") <= LIMITS.n_chars / 3 * 1.1  # headings


def test_lines_that_differ_in_numbers_only_are_shown_once() -> None:
    """Generated code says the same a thousand times."""
    rows = "".join(f"entry_{n} = make_entry(name_{n}, size_{n}, kind_{n})\n" for n in range(500))
    editor = Editor(a=rows, b=functions("three"))
    editor.update_ring(B, 0)
    pieces = [piece for chunk in editor.memory.ring.chunks for piece in chunk.pieces]
    assert len(pieces) == 1


def test_places_that_were_looked_at_or_edited_come_before_the_others_of_a_file() -> None:
    """Not the first lines of a long file, which are shown to no better purpose."""
    # In whole pieces: a short one at the end would fill the room that is left.
    for act, n_lines in (("edit", 991), ("look", 992)):
        editor = Editor(a=generated(n_lines), b=functions("three"))
        if act == "edit":
            editor.insert(A, 600, "x = 1\n")
        else:
            editor.memory.note_move(A, 600)
        editor.update_ring(B, 0)
        pieces = [piece for chunk in editor.memory.ring.chunks for piece in chunk.pieces]
        assert pieces
        assert all(450 < piece.start < 750 for piece in pieces)


def test_pieces_move_with_their_lines_and_break_when_edited() -> None:
    """Typing above a piece moves it; typing in it hides it until the next update shows it as it is now."""
    editor = Editor(a=functions("one", "two"), b=functions("three"))
    elsewhere = Viewport(B, 0, 0, 10)
    editor.update_ring(B, 0)
    editor.insert(A, 0, "import os\nimport sys\n")
    (piece,) = editor.memory.ring.chunks[0].pieces
    assert piece.text == "".join(editor.documents[A].lines[piece.start : piece.end]).rstrip("\n")
    assert editor.shown(elsewhere) == ["a.py"]
    editor.insert(A, piece.start + 1, "    three_total = 3\n")
    assert editor.shown(elsewhere) == []
    assert editor.update_ring(B, 0) == ["a.py"]
    assert "three_total = 3" in editor.memory.ring.chunks[0].text


def test_a_deleted_file_leaves_and_a_changed_one_is_refreshed() -> None:
    """Nothing is shown that is not true; what is still true stays."""
    editor = Editor(a=functions("one"), b=functions("two"), c=functions("three"))
    viewport = Viewport(A, 0, 0, 5)
    c = "file:///w/c.py"
    editor.update_ring(A, 0)
    editor.memory.note_change(
        Source(c, "c.py", "python", 9, tuple(f"# new\n{functions('three')}".splitlines(True)))
    )
    assert sorted(editor.shown(viewport)) == ["b.py", "c.py"]
    editor.memory.note_deletion(B)
    editor.memory.note_deletion(c)
    assert editor.shown(viewport) == []
    assert editor.update_ring(A, 0) == []


def test_a_yank_is_shown_as_taken() -> None:
    """Yanked lines are one piece, and the file's own pieces do not repeat them."""
    editor = Editor(a=functions("one"), b=functions("two", "three", "four", "five"))
    taken = "".join(editor.documents[B].lines[1:8])
    editor.memory.note_yank(B, taken)
    editor.update_ring(A, 0)
    shown = [p for chunk in editor.memory.ring.chunks for p in chunk.pieces]
    assert [p.text for p in shown if p.why is Why.YANKED] == [taken.strip("\n")]
    assert "".join(c.text for c in editor.memory.ring.chunks).count("two_total = x") == 1


def test_what_happened_meanwhile_voids_an_update() -> None:
    """A result for another moment is dropped; the ring is not torn."""
    editor = Editor(a=functions("one"), b=functions("two"))
    snapshot = editor.memory.snapshot(Viewport(A, 0, 0, 5))
    editor.insert(B, 0, "x = 1\n")
    assert not editor.memory.accept(snapshot, update_ring(snapshot, read_here))
    assert editor.memory.ring.chunks == ()


def test_stats_count_what_is_there_and_what_waits() -> None:
    """Files with news wait for the next update."""
    editor = Editor(a=functions("one"), b=functions("two"))
    assert editor.memory.stats() == {"chunks": 0, "queued": 2, "evicted": 0}
    editor.update_ring(A, 0)
    assert editor.memory.stats() == {"chunks": 1, "queued": 0, "evicted": 0}


PLACES = st.tuples(st.integers(0, 30), st.integers(0, 3))
EDITS = st.tuples(
    PLACES, st.integers(0, 3), st.integers(0, 4),
    st.sampled_from(["", "x", "\n", "y = 1\n", "a\nb\n"]),
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from([A, B]), EDITS | st.sampled_from(["", "p = 1\nq = 2\n"])),
        max_size=12,
    )
)
def test_what_is_shown_stands_in_the_files_outside_the_window(history: list) -> None:
    """Any edits: every fresh piece is found at its lines, and no line of the window is repeated."""
    editor = Editor(a=functions(*"abcdefgh"), b=functions(*"stuvwxyz"))
    for step, (uri, edit) in enumerate(history):
        if isinstance(edit, str):
            editor.edit(uri, rewrite(edit))
        else:
            (line, column), n_lines, width, text = edit
            document = editor.documents[uri]
            start = document.clamp(Position(line, column))
            end = document.clamp(Position(start.line + n_lines, start.column + width))
            editor.edit(uri, Edit(start, max(start, end), text))
        if step % 3 == 0:
            editor.update_ring(uri, 10)
        viewport = Viewport(uri, 10, 8, 14)
        for piece in (p for chunk in editor.memory.visible(viewport) for p in chunk.pieces):
            lines = [line.rstrip("\n") for line in editor.documents[piece.uri].lines]
            assert lines[piece.start : piece.end] == piece.text.split("\n")
            assert piece.uri != uri or piece.end <= 8 or piece.start >= 14
