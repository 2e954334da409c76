"""
A `Request` into the options of llama.cpp's `/completion`, its answer into a `Reply`. Pure.

`n_probs` gives log-probabilities and, with them, the tokens' bytes. Measured on two slow cores, it
costs nothing with a vocabulary of 4,000 and 1 ms per token with one of 150,000.
"""

from __future__ import annotations

from server_bridge.fim.layout import grammar
from server_bridge.http.shapes import Object, label
from server_bridge.llama.answers import DRAFTERS, Completion
from server_bridge.protocol import Request, Stop, Timings, Token

TEMPERATURE = 0.8  # llama.cpp's default; alternatives should differ
GREEDY = {"temperature": 0, "samplers": ["top_k"], "top_k": 1}
FIELDS = (
    "content tokens completion_probabilities stop_type truncated id_slot tokens_cached timings "
    + DRAFTERS
)
ALWAYS = {"cache_prompt": True, "return_tokens": True, "response_fields": FIELDS.split()}
STOPS = {"eos": Stop.END, "word": Stop.WORD, "limit": Stop.LIMIT}
MAX_MS = 1e8  # a day; a longer time is none


def options(request: Request) -> Object:
    """How to decode."""
    found: Object = {"n_predict": request.n_predict, "n_probs": 1}
    if request.sample:
        found |= {"temperature": TEMPERATURE, "seed": request.sample}
    else:
        found |= GREEDY
    if request.stop:
        found["stop"] = request.stop
    if request.prompt.forced:
        found["grammar"] = grammar(request.prompt.forced)
    return found


def text(answer: Completion) -> str:
    """The text, without the half character that a burst may end in (sent as U+FFFD)."""
    at_limit = answer.stop_type == "limit"
    return answer.content.removesuffix("\ufffd") if at_limit else answer.content


def stop(answer: Completion, n_prompt: int, n_ctx: int) -> Stop:
    """Why decoding ended; a full context looks like a limit on the wire."""
    full = answer.truncated or n_prompt + len(answer.tokens) >= n_ctx
    found = STOPS[answer.stop_type]
    return Stop.FULL if found is Stop.LIMIT and full else found


def drafters(answer: Completion) -> str:
    """The kinds of speculation that the server was started with, "" for none."""
    told = label(answer.drafters) if isinstance(answer.drafters, str) else ""
    return ",".join(name for name in told.split(",") if name not in {"", "none"})


def next_tokens(answer: Completion) -> dict[int, float]:
    """The likeliest first tokens with their log-probabilities."""
    entries = answer.completion_probabilities
    likeliest = entries[0].top_logprobs if entries else []
    return {best.id: best.logprob for best in likeliest if best.logprob is not None}


def rated(tokens: tuple[Token, ...], answer: Completion) -> tuple[Token, ...]:
    """
    The tokens with their log-probabilities, where known.

    There is one entry per token, or per character where that takes several; none for a cut last one.
    """
    left = iter(answer.completion_probabilities)
    entry, found = next(left, None), []
    for token in tokens:
        if entry is not None and entry.id == token.id:
            found.append(token._replace(logprob=log_probability(entry.logprob)))
            entry = next(left, None)
        else:
            found.append(token)
    return tuple(found)


def timings(answer: Completion, expected: int | None) -> Timings:
    """What it cost, beside what we *expected* to be cached."""
    found = answer.timings
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
