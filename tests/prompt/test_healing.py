"""`healing.heal` against the tokenizer pattern it stands for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.prompt.half_words import FRAGMENT_CHARS, heal

# Qwen2's own pattern, as its tokenizer.json has it.
QWEN2 = regex.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
REAL_CODE = Path(re.__file__).read_text("utf-8")


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
        ("", ""),
        ("\n", ""),
        ("def f():\n", ""),
        ("    ret", " ret"),
        ("ret", "ret"),
        ("x = ", " "),
        ("x =", " ="),
        ("    ", "    "),
        ("\t\t", "\t\t"),
        ("if x:\n\t", "\t"),
        ("self.max_le", "_le"),
        ("self.", "."),
        ("print(", "("),
        ("print(va", "(va"),
        ("getElementBy", "By"),
        (" HTTPServer.getU", "U"),
        (" HTTPSer", " HTTPSer"),
        ("x1", "1"),
        ("12", "2"),
        ("don't", "'t"),
        ('"se', '"se'),
        ("# größe", " größe"),
        ("# 你好世", " 你好世"),
        ("e\u0301", "\u0301"),
        ("🙂", "🙂"),
        ("# " + "=" * 70, ""),
        ("x" * FRAGMENT_CHARS, "x" * FRAGMENT_CHARS),
        ("x" * (FRAGMENT_CHARS + 1), ""),
    ],
)
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
