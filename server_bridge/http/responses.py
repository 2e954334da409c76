"""
What a server answers, into JSON objects or into one of protocol's errors.

The statuses are llama.cpp's own (`format_error_response`, tools/server) and those that proxies,
vLLM and SGLang put in front; every message says where it comes from.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    BackendUnusable,
    Health,
    PromptTooLong,
    State,
)

OK = 200

Object = dict[str, Any]


class Loading(BackendUnavailable):
    """The server is there, its model is not yet."""


class NotJson(BackendUnavailable):
    """Something answered that does not speak our language."""


def state_after(state: State, error: BackendError) -> State:
    """What a failure says about the server."""
    causes: dict[type[BackendError], Health] = {
        Loading: Health.LOADING,
        BackendUnavailable: Health.DOWN,
        BackendUnusable: Health.UNUSABLE,
    }
    found = next((health for kind, health in causes.items() if isinstance(error, kind)), None)
    return replace(state, health=found, message=str(error)) if found else state


class Refused(BackendUnusable):
    """The key is not the right one."""


async def events_in(url: str, response: Any) -> AsyncGenerator[Object, None]:
    """What a server sends piece by piece; comments (keep-alives) are left out."""
    kind = response.headers.get("content-type", "")
    if response.status_code != OK or not kind.startswith("text/event-stream"):
        yield object_in(url, response.status_code, await response.aread())
        return
    async with aclosing(response.aiter_lines()) as lines:
        async for line in lines:
            if line.startswith("data:") and line[5:].strip() != "[DONE]":
                yield object_in(url, OK, line[5:].encode())


def object_in(url: str, status: int, content: bytes) -> Object:
    """The JSON object in an answer, or the error it means."""
    try:
        data = json.loads(content)
    except ValueError:
        data = None
    if status == OK:
        data = {"list": data} if isinstance(data, list) else data
        if not isinstance(data, dict):
            raise NotJson(f"{url} answered something that is not a JSON object")
        return data
    error = data.get("error") if isinstance(data, dict) else None
    error = error if isinstance(error, dict) else {}
    message = f"{url} answered {status}: {error.get('message') or content[:200].decode('utf-8', 'replace')}"
    if status in (401, 403):
        raise Refused(
            f"{url} refused the API key: say where it is in fim.backend.apiKeyEnv, "
            "apiKeyFile or apiKeyCommand"
        )
    if error.get("type") == "exceed_context_size_error":
        raise PromptTooLong(error.get("n_prompt_tokens", 0), error.get("n_ctx", 0))
    if status == 501:  # noqa: PLR2004
        raise BackendUnusable(message)
    if status == 503 and error.get("type") == "unavailable_error":  # noqa: PLR2004
        raise Loading(message)
    if status == 429 or status >= 500:  # noqa: PLR2004
        raise BackendUnavailable(message)
    raise BackendRejected(message)
