"""
The tape: the tokens of a word that the model has begun. Pure.

A prompt is spelled as the tokenizer would, because a model goes on as it reads: a half word that was forced may have
come out as `c` and `hat`, and words behind it would be broken at the same place. Only where a generation goes on
inside a word its own tokens stand, because the rest of that word follows them and no others.
"""

from __future__ import annotations

from dataclasses import replace

from fim_lsp.prompt.healing import heal
from server_bridge.protocol import Prompt, Token, appended

Tape = tuple[Token, ...]


def resumed(prompt: Prompt, text: str, tokens: Tape) -> Prompt:
    """The prompt that goes on behind *text*, which *tokens* spell: finished words are spelled again."""
    whole = appended(prompt, text, tokens)
    return replace(whole, tape=_last_word(whole.middle, whole.tape))


def _last_word(middle: str, tape: Tape) -> Tape:
    """Those of *tape* that spell the last word of *middle*, or more where one of them reaches before it."""
    size = len(heal(middle)[1].encode())
    n = 0
    while size > 0 and n < len(tape):
        n += 1
        size -= len(tape[-n].text)
    return tape[len(tape) - n :]
