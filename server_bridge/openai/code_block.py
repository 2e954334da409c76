"""
The block of code that a chat's answer is to be, without what models wrap around it. Pure.

Thoughts before it, the marks of a channel, characters that are not shown, any line end; a fence of
backticks or tildes, with any word behind it. Prose before a block is no answer: the model did not
do what it was asked for.
"""

from __future__ import annotations

import re

_THOUGHTS = ("think", "thinking", "thought", "reasoning")
_THOUGHT = "|".join(_THOUGHTS)
# What stands before a block: OpenAI's gpt-oss thinks in a channel of its own (its harmony format).
_BEFORE = re.compile(
    rf"[\s\u200b\u200e\u200f\u2060\ufeff]+|<({_THOUGHT})>.*?</\1>|</(?:{_THOUGHT})>"
    r"|<\|channel\|>analysis<\|message\|>.*?<\|end\|>"
    r"|(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHT_BEGINS = (*(f"<{name}>" for name in _THOUGHTS), "<|channel|>analysis<|message|>")
_THOUGHT_ENDS = re.compile(rf"</(?:{_THOUGHT})>", re.IGNORECASE)
_OPENING = re.compile(r"(`{3,8}|~{3,8})[^`~\n]{0,100}\n")
_CLOSING = re.compile(r"^[ \t]{0,64}(`{3,}|~{3,})", re.MULTILINE)


def find_block(text: str) -> tuple[str | None, bool]:
    """
    Return the code in the block that *text* is, which may go on; None where it is none; and whether
    more cannot come.
    """
    text = text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")
    at = _skip(text, 0)
    opening = _OPENING.match(text, at)
    if not opening and (thought := _THOUGHT_ENDS.search(text, at)):  # the template began it
        at = _skip(text, thought.end())
        opening = _OPENING.match(text, at)
    if not opening:  # prose may turn out to be a thought, until there is a block in it
        is_open = len(_CLOSING.findall(text, at)) < 2  # noqa: PLR2004
        is_open |= text[at:].lower().startswith(_THOUGHT_BEGINS)
        return ("", False) if is_open else (None, True)
    fence, block = opening[1], text[opening.end() :]
    fences = _CLOSING.finditer(block)
    if closing := next((found for found in fences if found[1].startswith(fence)), None):
        return block[: closing.start()], True
    last = block.rpartition("\n")[2]
    if fence.startswith(last.strip()):  # it may become the end
        block = block[: len(block) - len(last)]
    return block, False


def _skip(text: str, at: int) -> int:
    """Return where what stands before a block ends, from *at* on."""
    while before := _BEFORE.match(text, at):
        at = before.end()
    return at
