"""
A `Request` into the options of llama.cpp's `/completion`, its answer into a `Reply`. Pure.

`n_probs` gives log-probabilities and, with them, the tokens' bytes. Measured on two slow cores, it
costs nothing with a vocabulary of 4,000 and 1 ms per token with one of 150,000.
"""

from __future__ import annotations

from typing import Any

from server_bridge.encoding import grammar
from server_bridge.protocol import Request, Stop, Timings, Token

TEMPERATURE = 0.8  # llama.cpp's default; alternatives should differ
GREEDY = {"temperature": 0, "samplers": ["top_k"], "top_k": 1}
DRAFTERS = "generation_settings/speculative.types"
FIELDS = (
    "content tokens completion_probabilities stop_type truncated id_slot tokens_cached timings "
    + DRAFTERS
)
ALWAYS = {"cache_prompt": True, "return_tokens": True, "response_fields": FIELDS.split()}
STOPS = {"eos": Stop.END, "word": Stop.WORD, "limit": Stop.LIMIT}

Object = dict[str, Any]


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


def text(answer: Object) -> str:
    """The text, without the half character that a burst may end in (sent as U+FFFD)."""
    content: str = answer["content"]
    return content.removesuffix("\ufffd") if answer["stop_type"] == "limit" else content


def stop(answer: Object, n_prompt: int, n_ctx: int) -> Stop:
    """Why decoding ended; a full context looks like a limit on the wire."""
    full = answer["truncated"] or n_prompt + len(answer["tokens"]) >= n_ctx
    found = STOPS[answer["stop_type"]]
    return Stop.FULL if found is Stop.LIMIT and full else found


def entries(answer: Object) -> list[Any]:
    """One entry per token, or per character where that takes several; none for the cut last one."""
    found: list[Any] = answer.get("completion_probabilities", [])
    return found


def drafters(answer: Object) -> str:
    """The kinds of speculation that the server was started with, "" for none."""
    names = str(answer.get(DRAFTERS, "")).split(",")
    return ",".join(name for name in names if name not in {"", "none"})


def next_tokens(answer: Object) -> dict[int, float]:
    """The likeliest first tokens with their log-probabilities."""
    likeliest = entries(answer)[0]["top_logprobs"] if entries(answer) else []
    return {best["id"]: best["logprob"] for best in likeliest}


def rated(tokens: tuple[Token, ...], answer: Object) -> tuple[Token, ...]:
    """The tokens with their log-probabilities, where known."""
    left = iter(entries(answer))
    entry, found = next(left, None), []
    for token in tokens:
        if entry is not None and entry["id"] == token.id:
            found.append(token._replace(logprob=entry["logprob"]))
            entry = next(left, None)
        else:
            found.append(token)
    return tuple(found)


def timings(answer: Object, expected: int | None) -> Timings:
    """What it cost, beside what we *expected* to be cached."""
    found = answer["timings"]
    return Timings(
        prompt_n=found["prompt_n"],
        cache_n=found["cache_n"],
        predicted_n=found["predicted_n"],
        prompt_ms=found["prompt_ms"],
        predicted_ms=found["predicted_ms"],
        expected_n=expected,
        draft_n=found.get("draft_n", 0),
        draft_accepted_n=found.get("draft_n_accepted", 0),
    )
