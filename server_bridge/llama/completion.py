"""
A `Request` into the options of llama.cpp's `/completion`, its answer into a `Reply`. Pure.

`n_probs` gives log-probabilities and, with them, the tokens' bytes. Measured on two slow cores, it
costs nothing with a vocabulary of 4,000 and 1 ms per token with one of 150,000.
"""

from __future__ import annotations

from collections.abc import Iterable

from server_bridge.fim.layout import grammar
from server_bridge.http.shapes import Object, label
from server_bridge.llama.answers import DRAFTERS, Completion, Cost, Entry
from server_bridge.protocol import Request, Stop, Timings, Token

TEMPERATURE = 0.8  # llama.cpp's default; alternatives should differ
GREEDY = {"temperature": 0, "samplers": ["top_k"], "top_k": 1}
FIELDS = (
    "content tokens completion_probabilities stop_type truncated id_slot tokens_cached timings "
    f"stop tokens_predicted {DRAFTERS}"
)
ALWAYS: Object = {
    "cache_prompt": True,
    "return_tokens": True,
    "response_fields": FIELDS.split(),
}
STREAMED: Object = {**ALWAYS, "stream": True, "timings_per_token": True}
STOPS = {"eos": Stop.END, "word": Stop.WORD, "limit": Stop.LIMIT}
MAX_MS = 1e8  # a day; a longer time is none


def options(request: Request, stop: str = "") -> Object:
    """How to decode; *stop* is the family's."""
    found: Object = {"n_predict": request.n_predict, "n_probs": 1}
    if request.sample:
        found |= {"temperature": TEMPERATURE, "seed": request.sample}
    else:
        found |= GREEDY
    if stops := [*request.stop, *filter(None, (stop,))]:
        found["stop"] = stops
    if request.prompt.forced:
        found["grammar"] = grammar(request.prompt.forced)
    return found


def text(content: str, stop_type: str) -> str:
    """The text, without the half character that a limit may end it in (sent as U+FFFD)."""
    return content.removesuffix("\ufffd") if stop_type == "limit" else content


def stop(stop_type: str, *, is_full: bool) -> Stop:
    """Why decoding ended; a full context looks like a limit on the wire."""
    found = STOPS.get(stop_type, Stop.LIMIT)
    return Stop.FULL if found is Stop.LIMIT and is_full else found


def drafters(told: object) -> str:
    """The kinds of speculation that the server was started with, "" for none."""
    names = label(told).split(",") if isinstance(told, str) else []
    return ",".join(name for name in names if name not in {"", "none"})


def next_tokens(answer: Completion) -> dict[int, float]:
    """The likeliest first tokens with their log-probabilities."""
    entries = answer.completion_probabilities
    likeliest = entries[0].top_logprobs if entries else []
    return {best.id: best.logprob for best in likeliest if best.logprob is not None}


def rated(
    tokens: tuple[Token, ...], entries: Iterable[Entry], *, drafted: bool = False
) -> tuple[Token, ...]:
    """
    The tokens with their log-probabilities, where known.

    There is one entry per token, or per character where that takes several; none for a cut last one. Where
    tokens are *drafted* an accepted one is told to be certain, and a 0 means that nothing is known.
    """
    left = iter(entries)
    entry, found = next(left, None), []
    for token in tokens:
        if entry is not None and entry.id == token.id:
            known = None if drafted and not entry.logprob else entry.logprob
            found.append(token._replace(logprob=log_probability(known)))
            entry = next(left, None)
        else:
            found.append(token)
    return tuple(found)


def timings(found: Cost, expected: int | None) -> Timings:
    """What it cost, beside what we *expected* to be cached."""
    return Timings(
        prompt_n=found.prompt_n,
        cache_n=found.cache_n,
        predicted_n=found.predicted_n,
        prompt_ms=milliseconds(found.prompt_ms),
        predicted_ms=milliseconds(found.predicted_ms),
        expected_n=expected,
        draft_n=found.draft_n,
        draft_accepted_n=found.draft_n_accepted,
    )


def log_probability(told: float | None) -> float | None:
    """A log-probability as the server tells it; rounding may lift one above 0."""
    return None if told is None else min(0.0, told)


def milliseconds(told: float) -> float:
    """A duration as the server tells it; 0 where it cannot be one."""
    return told if 0 <= told <= MAX_MS else 0.0
