"""Windows: what is frozen, what fits, what moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import (
    LINE_CHARS,
    Document,
    Edit,
    Position,
    apply_edits,
    body,
    closes_only,
    open_document,
    unix,
)
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import Budget, Fit, fit, move, place_window

pytestmark = pytest.mark.promise("bounded-work")

BUDGET = Budget(prefix=400, suffix=200, middle=200)
CODE = "".join(f"line_{n:03} = {n}\n" for n in range(100))


def document(text: str = CODE) -> Document:
    return open_document("file:///a.py", "python", 1, text)


def at_end(doc: Document, line: int) -> Position:
    return Position(line, len(body(doc.lines[line])))


def insert(doc: Document, at: Position, text: str) -> Document:
    return apply_edits(doc, [Edit(at, at, text)], doc.version + 1)


def test_prefix_middle_and_suffix_are_the_text_around_the_cursor() -> None:
    """What the model sees joins to what stands in the file."""
    doc = document()
    here = Position(50, 8)
    window = place_window(doc, here, BUDGET, None)
    seen = window.prefix + doc.before(here, window.anchor) + window.suffix
    assert seen in CODE
    assert window.suffix.startswith(" = 50\n")
    assert len(window.prefix) <= BUDGET.prefix


@pytest.mark.parametrize("column", [0, 999, 1_000, 100_000, 200_000])
def test_of_a_long_line_only_what_stands_next_to_the_cursor_is_seen(column: int) -> None:
    """A file may be one line; all that is done with a prompt would hold up the editor."""
    budget = Budget(prefix=400, suffix=200, middle=800)
    line = "".join(map(str, range(50_000)))[:200_000]
    doc = document(f"above = 1\n{line}\nbelow = 2\n")
    here = Position(1, column)
    window = place_window(doc, here, budget, None)
    assert doc.before(here, window.anchor).endswith(line[max(0, column - LINE_CHARS) : column])
    assert len(doc.before(here, window.anchor)) <= LINE_CHARS + budget.middle
    assert window.suffix.startswith(line[column : column + LINE_CHARS])
    assert len(window.suffix) <= LINE_CHARS + budget.suffix
    assert fit(window, doc, here, budget) is not Fit.LOST


def test_typing_keeps_the_window() -> None:
    """A key, a new line, an auto-closed bracket: the frozen strings stay."""
    doc = document()
    here = at_end(doc, 50)
    window = place_window(doc, here, BUDGET, None)
    for text, cursor in [
        ("\nfoo", (51, 3)),
        ("\nfoo(\n", (52, 0)),
        ("\nfoo()", (51, 4)),
        ('\nx = ""', (51, 5)),
    ]:
        assert fit(window, insert(doc, here, text), Position(*cursor), BUDGET) is Fit.FITS, text


@pytest.mark.parametrize(
    ("line", "fitting"),
    [
        (50, Fit.LOST), (47, Fit.FITS), (40, Fit.LOST), (30, Fit.STALE), (56, Fit.STALE),
        (51, Fit.LOST), (90, Fit.FITS),
    ],
)  # fmt: skip
def test_an_edit_elsewhere_counts_by_its_distance(line: int, fitting: Fit) -> None:
    """Near the cursor the window is lost, farther it is stale, outside of it nothing happens."""
    doc = document()
    here = at_end(doc, 50)
    window = place_window(doc, here, BUDGET, None)
    changed = apply_edits(doc, [Edit(Position(line, 0), Position(line, 4), "edit")], 2)
    if line == 50:
        here = Position(49, 3)
    assert fit(window, changed, here, BUDGET) is fitting


def test_lines_inserted_above_move_the_window() -> None:
    """An import added at the top of the file costs nothing."""
    doc = document()
    here = at_end(doc, 50)
    window = place_window(doc, here, BUDGET, None)
    edit = Edit(Position(0, 0), Position(0, 0), "import os\nimport re\n")
    below = apply_edits(doc, [edit], 2)
    assert fit(move(window, edit), below, at_end(below, 52), BUDGET) is Fit.FITS


def test_a_middle_beyond_its_budget_is_stale_and_then_lost() -> None:
    """The middle is folded into the prefix while idle, or at twice its budget in any case."""
    doc = document()
    here = at_end(doc, 50)
    window = place_window(doc, here, BUDGET, None)
    for n_lines, fitting in [(5, Fit.FITS), (12, Fit.STALE), (30, Fit.LOST)]:
        longer = insert(doc, here, "\nfoo = 1234" * n_lines)
        assert fit(window, longer, at_end(longer, 50 + n_lines), BUDGET) is fitting


def test_a_new_window_begins_where_the_old_one_did() -> None:
    """Going on below only appends to the prefix, until it is twice as long."""
    doc = document()
    old = place_window(doc, at_end(doc, 50), BUDGET, None)
    new = place_window(doc, at_end(doc, 60), BUDGET, old)
    assert new.first == old.first
    assert new.prefix.startswith(old.prefix)
    assert place_window(doc, at_end(doc, 95), BUDGET, old).first > old.first


def test_a_window_never_starts_at_a_blank_line() -> None:
    """A blank first line would change its token with what stands before it."""
    doc = document("x = 1\n\n\n" * 60)
    for line in range(20, 150):
        window = place_window(doc, Position(line, 0), BUDGET, None)
        assert not window.prefix.startswith("\n")


TEXTS = st.text(st.sampled_from("ab \n\r\té漢😀()'"), max_size=120)


@given(TEXTS, st.integers(0, 30), st.integers(0, 30), TEXTS)
def test_typing_anything_after_the_anchor_leaves_prefix_and_middle_exact(
    text: str, line: int, column: int, typed: str
) -> None:
    """Whatever is typed at the cursor, prefix and middle spell the text before it."""
    doc = document(text)
    here = doc.clamp(Position(line, column))
    window = place_window(doc, here, BUDGET, None)
    longer = insert(doc, here, typed)
    n_lines = len(open_document("", "", 0, typed).lines) - 1
    last = open_document("", "", 0, typed).lines[-1]
    there = longer.clamp(Position(here.line + n_lines, len(last) + (0 if n_lines else here.column)))
    if fit(window, longer, there, BUDGET) is not Fit.LOST:
        before = longer.between(Position(0, 0), there)
        assert unix(before).endswith(window.prefix + longer.before(there, window.anchor))


def test_closers_are_what_editors_insert() -> None:
    """Brackets and quotes close; names do not."""
    assert closes_only(')]}"; ')
    assert closes_only("")
    assert not closes_only(") + x")


KEY = "".join(f"    {'A9+k' * 16}\n" for _ in range(20))
SPREAD = {
    "password: |\n  r3Vyww0xakpfPE*x\n": "r3Vy",
    "DB_PASSWORD = (\n    'r3Vyww0xakpfPE*x'\n)\n": "r3Vy",
    f"k = '''-----BEGIN PRIVATE KEY-----\n{KEY}-----END PRIVATE KEY-----'''\n": "A9+k",
}


@pytest.mark.promise("secrets-are-replaced")
@pytest.mark.parametrize("secret", SPREAD, ids=SPREAD.values())
def test_a_window_does_not_begin_in_a_secret(secret: str) -> None:
    """Wherever its first line is: what tells of the secret may stand above that."""
    around = ["".join(f"{name}_{n}: beta\n" for n in range(20)) for name in ("alpha", "gamma")]
    text = document(secret.join(around))
    for line in range(20 + secret.count("\n"), len(text.lines)):
        for n_chars in range(20, 900, 73):
            window = place_window(text, Position(line, 0), Budget(n_chars, 100, 400), None)
            frame = Frame(Header("shop", (), "a.yaml"), window)
            prompt = compose(frame, "".join(text.lines[window.anchor : line]))
            assert SPREAD[secret] not in prompt.prefix + prompt.middle + prompt.suffix
            assert window.first <= window.anchor <= line
