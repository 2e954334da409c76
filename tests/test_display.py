"""`fim_lsp.display`: text of others, shown and logged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.display import escape, redact, sanitize


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain text", "plain text"),
        ("größe 漢😀", "größe 漢😀"),
        ("a\nb\r\nc\td", "a b  c d"),
        ("\x1b[31mred\x07\0", " [31mred  "),
        ("left\u202eright\u2066\u200f", "left right  "),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("lone \ud800", "lone  "),
        ("[repair](command:evil)", "[repair] (command:evil)"),
        ("[a][b]", "[a] [b]"),
        ("f(x)[0]", "f(x)[0]"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
        ("http://user:pw@host/path", "http://…@host/path"),
        ("x" * 70 + "http://user:" + "p" * 500 + "@host", "x" * 70 + "http://…@…"),
    ],
)
def test_a_message_is_one_short_line_without_links(text: str, line: str) -> None:
    """No new lines, no marks that turn the direction, no links to click, no passwords."""
    assert sanitize(text) == line


@given(st.text(max_size=200), st.integers(1, 100))
def test_whatever_is_shown_is_printable_and_short(text: str, most: int) -> None:
    """Any text at all."""
    line = sanitize(text, most)
    assert len(line) <= most
    assert line.isprintable()
    assert "](" not in line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain größe", "plain größe"),
        ("key\ncurl evil|sh\n", r"key\ncurl evil|sh\n"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\u202e\u2028\ud800\U000e0001", r"\u202e\u2028\ud800\U000e0001"),
        ("GET http://u:p@h/x", "GET http://…@h/x"),
    ],
)
def test_a_logged_text_is_one_line(text: str, line: str) -> None:
    """What cannot be printed is written as Python writes it."""
    assert escape(text) == line


@given(st.text())
def test_whatever_is_logged_can_be_written(text: str) -> None:
    """On one line, in any encoding that has the letters."""
    line = escape(text)
    assert line.isprintable()
    line.encode()


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("https://me:secret@llm.corp:8443/v1?a=b@c", "https://…@llm.corp:8443/v1?a=b@c"),
        ("https://token@host", "https://…@host"),
        ("https://me:a@b@host", "https://…@host"),
        ("http://host/a@b", "http://host/a@b"),
        ("a http://u:p@x and http://v:q@y", "a http://…@x and http://…@y"),
        ("me@example.com", "me@example.com"),
        ("://" * 3, "://" * 3),
    ],
)
def test_addresses_lose_their_passwords(text: str, without: str) -> None:
    """And their user names, which may be tokens."""
    assert redact(text) == without
