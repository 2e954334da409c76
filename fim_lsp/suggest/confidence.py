"""
How sure the model was of a text: the geometric mean of its tokens' probabilities, in (0, 1]. Pure.

Greedy decoding takes the likeliest token each time, so this says how much likelier than all others
together it was, averaged over the text that would be shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from server_bridge.protocol import Token


def confidence(tokens: Iterable[Token], skipped: str, text: str) -> float:
    """
    The confidence in *text*, which *tokens* spell after *skipped* (what was forced, or typed since).

    A token that is partly *skipped* counts: it was chosen. 1.0 where the backend tells no probabilities.
    """
    begin = len(skipped.encode())
    end = begin + len(text.encode())
    logprobs: list[float] = []
    at = 0
    for token in tokens:
        start, at = at, at + len(token.text)
        if start < end and at > begin and token.logprob is not None:
            logprobs.append(token.logprob)
    return math.exp(sum(logprobs) / len(logprobs)) if logprobs else 1.0
