"""
The tape: the tokens of the middle as the backend's cache holds them. Pure.

Every reply says how it spelled the prompt's middle and what it generated; together that is what
lies in the cache after `<|fim_middle|>`. Typing through a suggestion or accepting it walks along
the tape (nothing to evaluate), backspace and undo walk back, other text leaves it behind. No state
machine is needed for that: the tape that serves a text is the longest run that spells its beginning.
"""

from __future__ import annotations

from server_bridge.protocol import Reply, Token

Tape = tuple[Token, ...]


def spelled(tape: Tape, middle: str) -> Tape:
    """The longest run of *tape* that spells a beginning of *middle*; O(tokens of the middle)."""
    wanted, at = middle.encode(), 0
    for n, token in enumerate(tape):
        if not wanted.startswith(token.text, at):
            return tape[:n]
        at += len(token.text)
    return tape


def after(reply: Reply) -> Tape:
    """What the cache holds after *reply*."""
    return reply.middle + reply.tokens
