"""
A completion into the JSON that each client expects. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fim_lsp.http_server.requests import Body
from fim_lsp.session.stats import Cost

MANY = 1e6  # tokens per second where nothing was to be done
ID, OBJECT = "cmpl-fim-lsp", "text_completion"


def infill(body: Body, text: str, cost: Cost, model: str) -> object:
    """Return the answer of llama.cpp's `/infill` and `/completion`; a list where several texts were asked for."""
    whole = {
        "index": 0,
        "content": text,
        "id_slot": 0,
        "stop": True,
        "model": model,
        "tokens_predicted": cost.predicted,
        "tokens_evaluated": cost.evaluated + cost.cached,
        "has_new_line": "\n" in text,
        "truncated": False,
        "stop_type": "eos",
        "stopping_word": "",
        "tokens_cached": cost.evaluated + cost.cached + cost.predicted,
        "timings": _timings(cost),
    }
    answer = _choose_fields(whole, body.get("response_fields"))
    n_texts = body.get("n_cmpl")
    return [answer] if isinstance(n_texts, int) and n_texts > 1 else answer


def infill_piece(text: str, model: str) -> dict[str, Any]:
    """Return the next *text* of such an answer, before its last event."""
    return {"index": 0, "content": text, "id_slot": 0, "stop": False, "model": model}


def completion_piece(text: str, model: str) -> dict[str, Any]:
    """Return the next *text* of what `completion` answers, before its last event."""
    choice = {"text": text, "index": 0, "logprobs": None, "finish_reason": None}
    return {"id": ID, "object": OBJECT, "created": 0, "model": model, "choices": [choice]}


def completion(text: str, cost: Cost, model: str) -> dict[str, Any]:
    """Return the answer of OpenAI-style servers at `/v1/completions`, with llama.cpp's timings."""
    n_prompt = cost.evaluated + cost.cached
    return {
        "id": ID,
        "object": OBJECT,
        "created": 0,
        "model": model,
        "choices": [{"text": text, "index": 0, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": n_prompt,
            "completion_tokens": cost.predicted,
            "total_tokens": n_prompt + cost.predicted,
            "prompt_tokens_details": {"cached_tokens": cost.cached},
        },
        "timings": _timings(cost),
    }


def insertion(text: str, replaced: str) -> str:
    """
    Return *text* for a client that can only insert, where it was meant to replace *replaced*, right of the cursor.

    What is to be replaced stands in the text again; the part before it is inserted.
    """
    if text.endswith(replaced):
        return text.removesuffix(replaced)
    first = text.partition("\n")[0]
    return first[: max(0, first.rfind(replaced))]


def _timings(cost: Cost) -> dict[str, float]:
    return {
        "cache_n": cost.cached,
        "prompt_n": cost.evaluated,
        "prompt_ms": cost.prompt_ms,
        "prompt_per_token_ms": cost.prompt_ms / max(1, cost.evaluated),
        "prompt_per_second": _per_second(cost.evaluated, cost.prompt_ms),
        "predicted_n": cost.predicted,
        "predicted_ms": cost.predicted_ms,
        "predicted_per_token_ms": cost.predicted_ms / max(1, cost.predicted),
        "predicted_per_second": _per_second(cost.predicted, cost.predicted_ms),
    }


def _per_second(n_tokens: int, ms: float) -> float:
    return min(MANY, 1000 * n_tokens / ms) if ms else MANY


def _choose_fields(whole: Mapping[str, Any], names: object) -> dict[str, Any]:
    """Return the fields that `response_fields` names, `a/b` for one of an object; all where it names none."""
    if not isinstance(names, list):
        return dict(whole)
    found: dict[str, Any] = {}
    for name in names:
        outer, _, inner = str(name).partition("/")
        value = whole.get(outer)
        value = value.get(inner) if inner and isinstance(value, dict) else value
        if value is not None:
            found[str(name)] = value
    return found
