"""
The words of a refusal about the length of a prompt: that it is too long, and what fits. Pure.
"""

from __future__ import annotations

import re

from server_bridge.http import responses

# The context, as servers say it in words: "maximum context length is 4096 tokens", "exceed context
# window of 400", "must be <= 400", "n_keep (442) >= n_ctx (400)"
SIZE = r"(?:context|sequence)[ _](?:length|window|size|limit)|n_ctx"
LIMIT = re.compile(
    rf"(?:{SIZE}|maximum|limit|at most|less than|<=|>=?)[^0-9.]{{0,80}}(\d{{1,9}})", re.IGNORECASE
)
COUNT = re.compile(r"\d{1,9}")
# Not tokens, in a refusal: commas in numbers, characters, vLLM's value of the field that it names.
NO_COUNT = re.compile(r"(?<=\d),(?=\d{3})|(?<!\d)\d{1,9} (?:\w{1,20} )?characters|value=\d{1,9}")
# Names of the text that is too long, and words that say it.
LENGTH = re.compile(
    r"context|prompt|input|message|token|length|request (?:body|entity)|payload", re.IGNORECASE
)
EXCESS = re.compile(
    r"too (?:long|large|big|many)|exceed|longer|larger|greater|maximum|at most|less than|fewer|<="
    rf"|overflow|reduce|not enough|limit|{SIZE}",
    re.IGNORECASE,
)


def is_length(message: str) -> bool:
    """Return whether a refusal in words is about the length of a prompt."""
    message = message[: responses.LONGEST]
    return bool(LENGTH.search(message) and EXCESS.search(message))


def find_limit(message: str, n_predict: int, n_all: int) -> tuple[int, int]:
    """
    Return how many tokens a refused prompt has with an answer of *n_predict*, about *n_all* as far
    as is known, and how many fit; 0 where no number says that.
    """
    message = NO_COUNT.sub("", message[: responses.LONGEST])
    limits = [int(limit) for limit in LIMIT.findall(message)]
    counts = [int(count) for count in COUNT.findall(message)]
    others = [count for count in counts if count not in {*limits, n_predict}]
    sizes = (max(counts, default=0), max(others) + n_predict if others else 0, n_all)
    most = next((size for size in sizes if size > max(limits, default=0)), n_all)
    return most, max((limit for limit in limits if n_predict < limit < most), default=0)
