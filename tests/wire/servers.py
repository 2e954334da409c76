"""What a llama.cpp server and an OpenAI-style one answer: status, headers, body in pieces."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from tests.wire.network import Asked

N_CTX = 8192
N_SLOTS = 2
MODEL = "qwen2.5-coder-7b-instruct"
TOKEN = re.compile(r"\w{1,5}| {1,8}|[^\w ]", re.ASCII)
MARK = re.compile(r"(<\|\w+\|>)")
FORCED = re.compile(r'root ::= "(.*)" \.\*')
SAYS = "price * rate + value\n"
PREFILL_S = 0.0005
TOKEN_S = 0.01

Object = dict[str, Any]


@dataclass
class Answer:
    """An answer: each of *events* is an object of a stream, and the *body* is one of an answer."""

    status: int = 200
    body: Object | list[Any] | None = None
    events: AsyncGenerator[Object, None] | None = None
    headers: dict[str, str] = field(default_factory=dict)


def number(text: str) -> int:
    """Return the id of a token."""
    return zlib.crc32(text.encode()) >> 12


def tokens(text: str, *, parse_special: bool = False) -> list[str]:
    """Return the tokens of *text*."""
    parts = MARK.split(text) if parse_special else [text]
    whole = ([part] if MARK.fullmatch(part) and parse_special else None for part in parts)
    return [t for part, one in zip(parts, whole, strict=True) for t in one or TOKEN.findall(part)]


def n_shared(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return how many items both begin with."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    return sum(1 for _ in same)


class LlamaCpp:
    """A llama.cpp server with one model, and two slots of which it uses the first."""

    def __init__(self) -> None:
        self.held: list[int] = []
        self.is_processing = False

    def answer(self, asked: Asked) -> Answer:
        """Return what it answers."""
        said: Object = json.loads(asked.body or b"{}")
        if asked.path == "/completion":
            return Answer(events=self._complete(said))
        body = self._body(asked.path.split("?")[0], said)
        error = {"error": {"code": 404, "type": "not_found_error"}}
        return Answer(body=body) if body is not None else Answer(404, error)

    def _body(self, path: str, said: Object) -> Any:
        match path:
            case "/props":
                return {
                    "build_info": "b9000", "model_path": f"/models/{MODEL}.gguf",
                    "total_slots": N_SLOTS, "default_generation_settings": {"n_ctx": N_CTX},
                }  # fmt: skip
            case "/tokenize":
                spelled = tokens(said["content"], parse_special=said["parse_special"])
                pieces = [{"id": number(token), "piece": token} for token in spelled]
                return {"tokens": pieces if said.get("with_pieces") else [*map(number, spelled)]}
            case "/slots":
                held = (len(self.held), 0)
                busy = (self.is_processing, False)
                return [
                    {"id": n, "n_prompt_tokens": held[n], "is_processing": busy[n]} for n in (0, 1)
                ]
            case "/apply-template":
                turns = (f"{m['role']}\n{m['content']}<|im_end|>\n" for m in said["messages"])
                return {"prompt": "<|im_start|>".join(["", *turns, "assistant\n"])}
            case "/health":
                return {"status": "ok"}
        return None

    async def _complete(self, asked: Object) -> AsyncGenerator[Object, None]:
        prompt: list[int] = asked["prompt"]
        n_held = min(n_shared(prompt, self.held), len(prompt) - 1)
        forced = FORCED.fullmatch(asked.get("grammar", ""))
        said = [*tokens(forced[1] if forced else ""), *tokens(SAYS)][: asked["n_predict"]]
        self.is_processing = True
        try:
            await asyncio.sleep(PREFILL_S * (len(prompt) - n_held))
            self.held = prompt[:]
            cost = {"prompt_n": len(prompt) - n_held, "cache_n": n_held, "prompt_ms": 50.0}
            for n, token in enumerate(said, 1):
                await asyncio.sleep(TOKEN_S)
                one = {"id": number(token), "bytes": [*token.encode()], "logprob": -0.1}
                yield {
                    "content": token, "tokens": [one["id"]], "id_slot": -1, "stop": False,
                    "tokens_predicted": n,
                    "timings": {**cost, "predicted_n": n, "predicted_ms": 10.0 * n},
                    "completion_probabilities": [{**one, "top_logprobs": [one]}],
                }  # fmt: skip
            self.held += [number(token) for token in said[:-1]]
            is_cut = len(said) == asked["n_predict"]
            yield {
                "content": "", "tokens": [], "id_slot": 0, "stop": True,
                "stop_type": "limit" if is_cut else "eos",
                "tokens_predicted": len(said), "tokens_cached": len(self.held),
                "timings": {**cost, "predicted_n": len(said), "predicted_ms": 10.0 * len(said)},
            }  # fmt: skip
        finally:
            self.is_processing = False


class OpenAi:
    """An OpenAI-style server with one model."""

    def __init__(self) -> None:
        self.held = ""

    def answer(self, asked: Asked) -> Answer:
        """Return what it answers."""
        if asked.path == "/v1/models":
            model = {"id": MODEL, "owned_by": "sglang", "max_model_len": N_CTX}
            return Answer(body={"object": "list", "data": [model]})
        if asked.path in ("/v1/completions", "/v1/chat/completions"):
            return Answer(events=self._complete(json.loads(asked.body)))
        return Answer(404, {"detail": "Not Found"})

    async def _complete(self, asked: Object) -> AsyncGenerator[Object, None]:
        prompt: str = asked.get("prompt", "")
        n_held = n_shared(prompt, self.held)
        await asyncio.sleep(PREFILL_S * (len(prompt) - n_held) / 3)
        self.held = prompt
        said = tokens(f"```\n{SAYS}```" if "messages" in asked else SAYS)[: asked["max_tokens"]]
        for n, token in enumerate(said, 1):
            await asyncio.sleep(TOKEN_S)
            why = None if n < len(said) else "length" if n == asked["max_tokens"] else "stop"
            logprobs = {"tokens": [token], "token_logprobs": [-0.1]}
            chat = {"delta": {"content": token}}
            choice = chat if "messages" in asked else {"text": token, "logprobs": logprobs}
            yield {"choices": [{**choice, "finish_reason": why}]}
        cached = {"cached_tokens": n_held // 3}
        usage = {"prompt_tokens": len(prompt) // 3, "completion_tokens": len(said)}
        yield {"choices": [], "usage": {**usage, "prompt_tokens_details": cached}}


SERVERS: dict[str, type[LlamaCpp | OpenAi]] = {"llama-server": LlamaCpp, "openai": OpenAi}


async def written(answer: Answer) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of *answer*."""
    reason = "OK" if answer.status == 200 else "X"
    head = f"HTTP/1.1 {answer.status} {reason}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    if answer.events is None:
        body = json.dumps(answer.body).encode()
        yield f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        return
    yield f"{head}Transfer-Encoding: chunked\r\n\r\n".encode()
    async with aclosing(answer.events) as events:
        async for event in events:
            yield chunk(b"data: %s\n\n" % json.dumps(event).encode())
    yield chunk(b"data: [DONE]\n\n") + chunk(b"")


def chunk(piece: bytes) -> bytes:
    """Return *piece* as one of a chunked body; of nothing it is the end."""
    return b"%x\r\n%s\r\n" % (len(piece), piece)
