"""Half-typed words: `half_words.heal` against the tokenizer pattern it stands for; what goes on inside a word."""

from __future__ import annotations

import re
from typing import Final

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.prompt.half_words import FRAGMENT_CHARS, heal, resume
from server_bridge.protocol import Prompt, Token
from tests.real_code import SMALL, read_code

# Qwen2's own pattern, as its tokenizer.json has it.
QWEN2 = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
REAL_CODE = read_code(SMALL)


def reference(text: str) -> str:
    """Return the last pre-token by the original pattern, from its last hump on, if there is one."""
    pretokens = QWEN2.findall(text)
    pretoken = "" if not pretokens or text.endswith("\n") else pretokens[-1]
    return re.split("(?<=[a-z])(?=[A-Z])", pretoken)[-1]


def check(text: str, fragment: str) -> None:
    assert heal(text) == (text[: len(text) - len(fragment)], fragment)


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", ""), ("def f():\n", ""), ("    ret", " ret"), ("x = ", " "), ("self.max_le", "_le"),
        ("getElementBy", "By"), (" HTTPServer.getU", "U"), ("x1", "1"), ("# größe", " größe"),
        ("# " + "=" * 70, ""), ("x" * FRAGMENT_CHARS, "x" * FRAGMENT_CHARS),
        ("x" * (FRAGMENT_CHARS + 1), ""),
    ],
)  # fmt: skip
def test_the_fragment_is_the_last_pretoken(text: str, fragment: str) -> None:
    """What was typed since the last pre-token boundary is forced, unless it is no half-typed name."""
    check(text, fragment)


def test_it_cuts_where_the_model_s_own_pattern_cuts() -> None:
    """On real code, at every place a cursor may stand, the fragment is the tokenizer's own."""
    lines = REAL_CODE.split("\n")
    for line in lines[: len(lines) // 2]:
        for end in range(len(line) + 1):
            expected = reference("x\n" + line[:end])
            if len(expected) <= FRAGMENT_CHARS:
                assert heal("x\n" + line[:end])[1] == expected, line[:end]


# The documented difference, the separators 1c–1f, and what one Unicode table knows and the other does not.
OURS: Final = ("Nl", "No", "Cc", "Cn", "Cs")
anything = st.text(st.characters(exclude_categories=OURS) | st.sampled_from("\n\t '_"))


@given(anything)
def test_it_agrees_with_the_pattern_on_any_text(text: str) -> None:
    """Any text, in any script: the same cut as the original pattern."""
    expected = reference(text)
    check(text, expected if len(expected) <= FRAGMENT_CHARS else "")


@given(st.text())
def test_nothing_is_lost_and_no_line_end_is_forced(text: str) -> None:
    """Both parts join to the text, and the fragment stays within the last line."""
    kept, fragment = heal(text)
    assert kept + fragment == text
    assert "\n" not in fragment


PROMPT = Prompt("", (), "a.py", "", "", middle="x = f(", forced=" cha")


def tokens(*texts: bytes) -> tuple[Token, ...]:
    return tuple(Token(n, text) for n, text in enumerate(texts))


@pytest.mark.parametrize(
    ("made", "n_kept"),
    [
        ((), 0),
        ((b" c", b"hat"), 2),
        ((b" c", b"hat", b"_temp"), 1),
        ((b" c", b"hat", b"_temp", b"late", b"):\n"), 0),
        ((b" chat", b"\n    ret"), 1),
        ((b" chat", b"Elem", b"By", b"I"), 4),  # a name is one word
    ],
)
def test_only_the_last_word_keeps_its_tokens(made: tuple[bytes, ...], n_kept: int) -> None:
    """Finished words are left to the tokenizer; a token that reaches before the last word stays whole."""
    tape = tokens(*made)
    prompt = resume(PROMPT, b"".join(made).decode(), tape)
    assert prompt.tape == tape[len(tape) - n_kept :]
    assert prompt.middle == PROMPT.middle + b"".join(made).decode()


def test_what_is_left_of_the_half_word_is_still_forced() -> None:
    """A generation that stopped inside it goes on to its end."""
    assert resume(PROMPT, " c", tokens(b" c")).forced == "ha"


def test_tokens_that_are_not_all_of_the_text_are_not_used() -> None:
    """Some servers tell no ids for some characters; their text is spelled by the tokenizer."""
    assert resume(PROMPT, " cha", tokens(b" c")).tape == ()
