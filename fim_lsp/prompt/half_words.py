r"""
Half-typed words: where one begins, and the tokens of one that the model has begun. Pure.

A model reads `ret` as a token that it never continues with `urn`. So the last pre-token of the
typed text leaves the prompt and the output is forced to begin with it (token healing, `heal`). A
byte-pair tokenizer never merges across pre-tokens, so what stays is spelled by the same tokens for
good.

The pattern is the GPT-4 family's in Qwen2's form (`llama-vocab.cpp`, LLAMA_VOCAB_PRE_TYPE_QWEN2).
The standard library's `re` has no `\p{L}`: `[^\W\d_]` stands for it and differs only at letter-like
numbers (`²`, `Ⅷ`), which stay with their word here. For other families a cut may fall at another
place than their own; healing then gains less and harms nothing.

The tape: a prompt is spelled as the tokenizer would, because a model goes on as it reads: a half
word that was forced may have come out as `c` and `hat`, and words behind it would be broken at the
same place. Only where a generation goes on inside a word its own tokens stand, because the rest of
that word follows them and no others (`resume`).
"""

from __future__ import annotations

import re
from dataclasses import replace

from fim_lsp.documents import HALF
from server_bridge.protocol import Prompt, Token, append_text

# No pre-token reaches from one line into the text of the next, so a single line is all it sees and
# the parts of the original about line ends are left out.
PRETOKEN = re.compile(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"  # contractions
    r"|(?:[^\w\r\n]|_)?[^\W\d_]+"  # letters, with one sign or space before them
    r"|\d"
    r"| ?(?:[^\s\w]|_)+"  # signs
    r"|\s+(?!\S)|\s+"  # spaces; the last one before a word belongs to the word
)

# Forcing costs one decoded token per token of the fragment. A longer run of one kind is a ruler,
# data or prose without spaces, not a half-typed name; and of `getElementBy` only `By` is forced:
# the first token of the model's own comes sooner so, and is as often right.
FRAGMENT_CHARS = 32
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def heal(text: str) -> tuple[str, str]:
    r"""
    Split *text* into what the prompt keeps and the fragment that the output must begin with.

    The fragment is the last pre-token of the last line, from its last hump on, "" at the start of a
    line; it never holds a line end. The two always join to *text*, which has `\n` line ends. Costs
    a pass over the last line.
    """
    fragment = HUMP.split(_last_pretoken(text))[-1]
    return text[: len(text) - len(fragment)], fragment


Tape = tuple[Token, ...]


def resume(prompt: Prompt, text: str, tokens: Tape) -> Prompt:
    """
    Return the prompt that goes on behind *text*, which *tokens* spell: finished words are spelled
    again.
    """
    whole = append_text(prompt, text, tokens)
    return replace(whole, tape=_last_word(whole.middle, whole.tape))


def _last_pretoken(text: str) -> str:
    """
    Return the last pre-token of the last line, "" where there is none or it cannot be forced.
    """
    last = (PRETOKEN.findall(text[text.rfind("\n") + 1 :]) or [""])[-1]
    return last if len(last) <= FRAGMENT_CHARS and not HALF.search(last) else ""


def _last_word(middle: str, tape: Tape) -> Tape:
    """
    Return those of *tape* that spell the last word of *middle*, or more where one of them reaches
    before it.
    """
    size = len(_last_pretoken(middle).encode())
    n = 0
    while size > 0 and n < len(tape):
        n += 1
        size -= len(tape[-n].text)
    return tape[len(tape) - n :]
