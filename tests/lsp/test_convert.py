"""`fim_lsp.lsp.convert`: positions in every encoding against a walk over the characters, and items."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import (
    Document,
    Edit,
    Position,
    apply_edits,
    body,
    join_halves,
    open_document,
    split,
    well_formed,
)
from fim_lsp.events import Focused, PartlyAccepted, Shown, Yanked
from fim_lsp.lsp import convert, structure
from fim_lsp.lsp.rpc import types

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
WIDTH = {
    "utf-8": lambda c: len(c.encode()),
    "utf-16": lambda c: 2 if ord(c) > 0xFFFF else 1,
    "utf-32": lambda c: 1,
}
TRICKY = [
    "a", "b", " ", "\t", "é", "e\u0301", "漢", "😀", "👩‍👩‍👧", "\n", "\r\n", "\r", "\f", "\u2028",
]  # fmt: skip
texts = st.lists(st.sampled_from(TRICKY), max_size=20).map("".join)
encodings = st.sampled_from(ENCODINGS)
places = st.builds(types.Position, st.integers(0, 8), st.integers(0, 30))


def document(text: str, language: str = "python") -> Document:
    return open_document("file:///a.py", language, 1, text)


def walked(line: str, units: int, encoding: str) -> int:
    """Return the column at *units*, one character at a time; one reached half does not count."""
    column = 0
    for character in line:
        units -= WIDTH[encoding](character)
        if units < 0:
            break
        column += 1
    return column


def walked_offset(
    text: str, place: types.Position | structure.ClientPosition, encoding: str
) -> int:
    lines = split(text)
    if place.line >= len(lines):
        return len(text)
    column = walked(body(lines[place.line]), place.character, encoding)
    return sum(map(len, lines[: place.line])) + column


client_places = st.builds(lambda p: structure.ClientPosition(p.line, p.character), places)
changes = st.one_of(
    st.builds(
        lambda ends, text: structure.ContentChange(min(ends), max(ends), text),
        st.tuples(client_places, client_places),
        texts,
    ),
    st.builds(structure.ContentChange, st.none(), st.none(), texts),
)


def edits(
    before: Document, changes: list[structure.ContentChange], encoding: str
) -> tuple[Edit, ...]:
    *_, result = convert.edits_stepwise(before, changes, encoding)
    return result


@given(texts, st.lists(changes, max_size=4), st.sampled_from(["utf-8", "utf-32"]))
def test_changes_agree_with_a_plain_string(
    text: str, changes: list[structure.ContentChange], encoding: str
) -> None:
    """Changes in the client's units do to the document what they do to a string."""
    before = document(text)
    after = apply_edits(before, edits(before, changes, encoding), 2)
    for change in changes:
        if change.start is None or change.end is None:
            text = change.text
        else:
            start = walked_offset(text, change.start, encoding)
            end = walked_offset(text, change.end, encoding)
            text = text[:start] + change.text + text[end:]
    assert after.text == text


@given(texts, st.lists(changes, max_size=4), encodings)
def test_many_changes_are_one_edit_that_does_the_same(
    text: str, changes: list[structure.ContentChange], encoding: str
) -> None:
    """A replacement in a whole file is one event for the session."""
    before = document(text)
    many = changes * convert.MOST_EDITS
    result = edits(before, many, encoding)
    for change in many:
        before = apply_edits(before, edits(before, [change], encoding), 2)
    assert apply_edits(document(text), result, 2).lines == before.lines
    is_new = any(change.start is None for change in many)
    assert len(result) == (1 if is_new or len(many) > convert.MOST_EDITS else len(many))


def test_a_whole_new_text_is_what_differs() -> None:
    """A client that sends all of it with each key types, too; what is the same changes nothing."""
    before = document("a\nbc\n")
    at = Position(1, 1)
    assert edits(before, [structure.ContentChange(None, None, "a\nbxc\n")], "utf-8") == (
        Edit(at, at, "x"),
    )
    [same] = edits(before, [structure.ContentChange(None, None, before.text)], "utf-8")
    assert (same.start, same.text) == (same.end, "")


def test_changes_are_converted_in_steps() -> None:
    """One for each, so that other tasks can go on in between."""
    change = structure.ContentChange(None, None, "x")
    assert [*convert.edits_stepwise(document(""), [change] * 9, "utf-8")][:-1] == [()] * 8


RANGE = {"start": {"line": 1, "character": 2}, "end": {"line": 3, "character": 4}}


@pytest.mark.parametrize(
    ("raw", "change"),
    [
        ({"text": "x"}, (None, None, "x")),
        ({"text": "x", "range": None, "rangeLength": 3}, (None, None, "x")),
        ({"text": "x", "range": RANGE, "rangeLength": 3}, ((1, 2), (3, 4), "x")),
        ({"text": 3}, None),
        ({"range": RANGE}, None),
        ({"text": "x", "range": 3}, None),
        ({"text": "x", "range": {"start": RANGE["start"]}}, None),
        ({"text": "x", "range": {**RANGE, "end": {"line": -1, "character": 0}}}, None),
        ({"text": "x", "range": {**RANGE, "end": {"line": 1.5, "character": 0}}}, None),
        (None, None),
    ],
)
def test_a_content_change_is_read_or_refused(raw: object, change: object) -> None:
    """As LSP has it; anything else is malformed."""
    if change is None:
        with pytest.raises(ValueError, match="has a"):
            structure.content_change(raw)
    else:
        assert structure.content_change(raw) == change


ROCKET, GRIN = "\U0001f680", "\U0001f600"  # d83d de80, d83d de00


@pytest.mark.parametrize(
    ("text", "changes", "after"),
    [
        ("#  x", [(2, 2, "\ud83d"), (3, 3, "\ude00")], f"# {GRIN} x"),
        ("#  x", [(2, 2, "\ude00"), (2, 2, "\ud83d")], f"# {GRIN} x"),
        ("#  x", [(2, 2, "\ud800"), (3, 3, "\udc00")], "# \U00010000 x"),  # the first of all
        ("#  x", [(2, 2, "\udbff"), (3, 3, "\udfff")], "# \U0010ffff x"),  # and the last
        ("#  x", [(2, 2, "\ud83d"), (0, 0, "y"), (4, 4, "\ude00")], f"y# {GRIN} x"),
        (f"x = '{ROCKET}'  # end", [(6, 7, "\ude00"), (8, 8, "AB")], f"x = '{GRIN}'AB  # end"),
        (f"x = '{ROCKET}'", [(5, 6, "\ud83c")], "x = '\U0001f280'"),
        (f"x = '{ROCKET}'", [(6, 6, "-"), (6, 7, "")], f"x = '{ROCKET}'"),
        (f"{ROCKET}{GRIN}", [(1, 3, ""), (2, 2, "!")], f"{GRIN}!"),
        (ROCKET, [(1, 1, "\n")], "\ud83d\n\ude80"),
        ("\ud83d\n\ude80", [(1, 99, "")], "\ud83d\n\ude80"),  # past the end of the line is its end
        (f"a{ROCKET}", [(99, 99, "\ud83d")], f"a{ROCKET}\ud83d"),
        ("漢\ud83d", [(2, 2, "\ude00é")], f"漢{GRIN}é"),
    ],
)
def test_halves_of_characters_are_kept_until_they_meet(
    text: str, changes: list[tuple[int, int, str]], after: str
) -> None:
    """Edits in UTF-16 may come between the halves of a character, in one message or in several."""
    at = partial(structure.ClientPosition, 0)
    said = [structure.ContentChange(at(start), at(end), new) for start, end, new in changes]
    assert apply_both(text, said) == after


UNITS = st.text(st.sampled_from(["a", "\n", "漢", GRIN, "\ud83d", "\ude00"]), max_size=6)


@given(UNITS, st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), UNITS), max_size=4))
def test_a_text_is_what_an_editor_of_utf_16_has(text: str, changes: list[tuple[int, int, str]]):
    """Whatever is inserted and removed, between characters or within one."""
    units = in_units(text)
    said = []
    for first, second, new in changes:
        start, end = sorted(min(at, len(units)) for at in (first, second))
        first_place, last_place = (
            structure.ClientPosition(before.count("\n"), len(before.rpartition("\n")[2]))
            for before in ("".join(units[:start]), "".join(units[:end]))
        )
        said.append(structure.ContentChange(first_place, last_place, join_halves(new)))
        units[start:end] = in_units(new)
    assert apply_both(text, said) == join_halves("".join(units))


def apply_both(text: str, said: list[structure.ContentChange]) -> str:
    """Return the text after what was *said*, the same in one message and in several."""
    before = there = document(join_halves(text))
    for change in said:
        there = apply_edits(there, edits(there, [change], "utf-16"), 2)
    assert apply_edits(before, edits(before, said, "utf-16"), 2).text == there.text
    return there.text


def in_units(text: str) -> list[str]:
    """Return the text as UTF-16 has it, each half of a character alone."""
    data = text.encode("utf-16-le", "surrogatepass")
    pairs = (data[at : at + 2] for at in range(0, len(data), 2))
    return [pair.decode("utf-16-le", "surrogatepass") for pair in pairs]


@given(encodings, st.text(max_size=8), st.integers(0, 8))
def test_a_half_takes_the_columns_that_it_has_as_a_model_reads_it(
    encoding: str, text: str, cut: int
) -> None:
    """What stands for it is a character of as many units, and nothing else is changed."""
    broken = text[:cut] + "\ud83d" + text[cut:]
    fixed = well_formed(broken)
    fixed.encode()  # would raise
    assert well_formed(text) == text
    for column in range(len(broken) + 1):
        n_units = convert.units(broken, column, encoding)
        assert n_units == convert.units(fixed, column, encoding)
        assert convert.column(broken, n_units, encoding) == column


def test_the_selected_menu_item_is_read_in_ours() -> None:
    """`selectedCompletionInfo` becomes two positions and a text."""
    info = types.SelectedCompletionInfo(
        range=types.Range(types.Position(0, 2), types.Position(0, 4)), text="append"
    )
    assert convert.parse_selected(document("😀ap"), info, "utf-16") == ((0, 1), (0, 3), "append")


ITEM = {"insertText": "😀x\ny", "command": {"title": "", "command": "c", "arguments": ["s1"]}}


@pytest.mark.parametrize(
    ("read", "params", "event"),
    [
        (convert.parse_yank, {"text": "a\ud800", "operator": "y"}, Yanked("", "a\ud800")),
        (convert.parse_yank, {"textDocument": {"uri": "u"}}, None),
        (convert.parse_yank, {"text": "x" * 100_001}, None),
        (convert.parse_focus, {"textDocument": {"uri": "u"}}, Focused("u")),
        (convert.parse_focus, None, Focused("")),
        (convert.parse_show, {"item": ITEM}, Shown("s1")),
        (convert.parse_show, {"item": {"insertText": "x"}}, None),
        (convert.parse_show, [], None),
        (convert.parse_partial, {"item": ITEM, "acceptedLength": 3}, PartlyAccepted("s1", 2)),
        (convert.parse_partial, {"item": ITEM, "acceptedLength": 99}, PartlyAccepted("s1", 4)),
        (convert.parse_partial, {"item": ITEM, "acceptedLength": -1}, None),
        (convert.parse_partial, {"item": ITEM}, None),
    ],
)
def test_what_is_missing_in_our_own_notifications_is_no_error(read, params, event) -> None:
    """Any params at all are an event or nothing."""
    assert read(params) == event


@pytest.mark.parametrize(
    ("said", "name", "language"),
    [
        ("", "a.py", "python"),
        ("python-base", "a.py", "python"),
        ("python3", "a.py", "python"),
        ("js-base", "a%20b.js", "javascript"),
        ("c++-base", "a.h", "cpp"),
        ("", "README", ""),
        ("python", "a.txt", "python"),
        ("plaintext", "a.py", "plaintext"),
        ("django-html", "a.html", "django-html"),
        ("objective-c", "a.h", "objective-c"),
        ("python3", "n.ipynb", "python3"),
    ],
)
def test_a_language_that_is_not_known_gives_way_to_the_files_name(
    said: str, name: str, language: str
) -> None:
    """Where the client says none, or that one by a name of its own; another language stays."""
    item = types.TextDocumentItem(f"file:///shop/{name}", said, 1, "")
    assert convert.parse_open(item).language == language
