"""`FILE:LINE[:COL]`: which arguments are positions, and one clear sentence for all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from fim_lsp.cli.complete import PLACE, InputError, find_position, root_of
from fim_lsp.documents import Position

THREE_LINES = b"one\ntwo two\n\tthree\n"


@pytest.mark.parametrize(
    ("argument", "path", "line", "column"),
    [
        ("a.py:3", "a.py", "3", None),
        ("dir/with:colon.py:3:5", "dir/with:colon.py", "3", "5"),
        ("a:1:2:3", "a:1", "2", "3"),
        (r"C:\src\a.py:3", r"C:\src\a.py", "3", None),
    ],
)
def test_the_numbers_at_the_end_are_the_position(
    argument: str, path: str, line: str, column: str | None
) -> None:
    """Only the last one or two numbers count, whatever colons the path holds."""
    match = PLACE.fullmatch(argument)
    assert match
    assert (match["path"], match["line"], match["column"]) == (path, line, column)


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ("1", Position(0, 3)), ("1:1", Position(0, 0)), ("2:8", Position(1, 7)),
        ("4", Position(3, 0)),
    ],
)  # fmt: skip
def test_a_position_counts_from_one(tmp_path: Path, given: str, position: Position) -> None:
    """Without a column it is the end of the line; the line after the last line end exists."""
    file = tmp_path / "a.py"
    file.write_bytes(THREE_LINES)
    assert find_position(f"{file}:{given}").position == position


@pytest.mark.parametrize(
    ("content", "position", "says"),
    [
        (THREE_LINES, "", "write FILE:LINE"),
        (THREE_LINES, ":0", "has no line 0: choose 1 to 3"),
        (THREE_LINES, ":5", "has no line 5: choose 1 to 3"),
        (THREE_LINES, ":1:0", "no column 0: choose 1 to 4"),
        (THREE_LINES, ":1:5", "no column 5: choose 1 to 4"),
        (b"\x7fELF\0\0", ":1", "looks binary"),
        ("naïve\n".encode("latin1"), ":1", "is not UTF-8 (byte 0xef at offset 2)"),
    ],
)
def test_a_wrong_position_is_one_sentence(tmp_path, content: bytes, position: str, says: str):
    """Every wrong position gives one line that names the fix."""
    file = tmp_path / "a.py"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        find_position(f"{file}{position}")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_text_is_as_an_editor_sends_it(tmp_path: Path) -> None:
    """With its line ends, and without a byte order mark, which no column counts."""
    file = tmp_path / "a.py"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert find_position(f"{file}:1:4")[1:] == ("one\r\ntwo\r\n", Position(0, 3))


def test_the_root_is_the_repository_or_else_the_folder(tmp_path: Path) -> None:
    """Outside any repository the file's own folder is the workspace."""
    deep = tmp_path / "one" / "two"
    deep.mkdir(parents=True)
    (tmp_path / "one" / ".git").mkdir()
    assert root_of(deep / "a.py") == tmp_path / "one"
    assert root_of(tmp_path / "a.py") == tmp_path
