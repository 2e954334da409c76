"""
Text that outgrows its context: what a llama.cpp server is asked for it, and what its events say. Pure.

With `--context-shift` the server, once a slot is full, keeps `n_keep` tokens, drops `n_discard` behind
them and moves the rest up (StreamingLLM). Without it the text ends there, and both say `truncated`:
only the number of tokens tells them apart. Measured with 256 tokens of context and 1,000 to generate:
`n_keep` -1 finds all of its prompt in the cache afterwards, 4 finds four tokens, 0 none.
"""

from __future__ import annotations

from server_bridge.http.shapes import Object
from server_bridge.llama.answers import Event
from server_bridge.protocol import BackendUnusable, Sink

KEPT = 4  # tokens: the attention sink
SINKS: dict[Sink, dict[str, int]] = {
    Sink.PROMPT: {"n_keep": -1, "n_discard": 0},  # 0: half of what is not kept, few shifts
    Sink.START: {"n_keep": KEPT, "n_discard": 1},
}
# Greedy text runs in circles after some hundred tokens; with a seed it is the same every time.
SAMPLING = {"temperature": 0.4, "seed": 1}


def options(n_predict: int, sink: Sink, stop: str) -> Object:
    """Return the options of generating; *stop* is the family's, "" for none."""
    return {
        **({"stop": [stop]} if stop else {}),
        "n_predict": n_predict,
        "stream": True,
        "return_tokens": True,
        "cache_prompt": True,
        **SINKS[sink],
        **SAMPLING,
    }


def predict_held(prompt: list[int], made: list[int], n_ctx: int, sink: Sink) -> list[int]:
    """Return the tokens in the slot afterwards, as far as a prompt can find them again."""
    whole = prompt + made[:-1]  # the last token was not evaluated
    if len(whole) < n_ctx:
        return whole
    return prompt if sink is Sink.PROMPT else prompt[:KEPT]


def check_end(event: Event, n_ctx: int, url: str) -> None:
    """Raise BackendUnusable if the text ended only because the context did."""
    full = event.truncated and event.stop_type == "limit"
    if full and event.tokens_predicted <= n_ctx - event.tokens_evaluated:
        raise BackendUnusable(
            f"{url} cannot write past its context of {n_ctx} tokens: start llama-server with "
            "--context-shift"
        )
