"""A generation that goes on inside a word goes on from its own tokens, and from no others."""

from __future__ import annotations

import pytest

from fim_lsp.prompt.half_words import resume
from server_bridge.protocol import Prompt, Token

PROMPT = Prompt("", (), "a.py", "", "", middle="x = f(", forced=" cha")


def tokens(*texts: bytes) -> tuple[Token, ...]:
    """Return tokens with these texts."""
    return tuple(Token(n, text) for n, text in enumerate(texts))


@pytest.mark.parametrize(
    ("made", "n_kept"),
    [
        ((), 0),
        ((b" c",), 1),
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
