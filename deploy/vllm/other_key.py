"""
For vLLM's `--middleware`: a second key that counts while the servers' key is changed.

vLLM takes several keys as arguments only, where they stand in its log and in the list of processes.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Awaitable, Callable
from typing import Any


class OtherKey:
    """An ASGI application before *app*: OTHER_SERVER_KEY in a request becomes vLLM's own key."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app
        self._own = _bearer("VLLM_API_KEY")
        self._other = _bearer("OTHER_SERVER_KEY")

    async def __call__(self, scope: dict[str, Any], receive: object, send: object) -> None:
        """Pass a request on; vLLM refuses what has neither key."""
        if self._own and self._other and "headers" in scope:
            headers = [(name, self._exchange(name, value)) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        await self._app(scope, receive, send)

    def _exchange(self, name: bytes, value: bytes) -> bytes:
        is_other = name == b"authorization" and hmac.compare_digest(value, self._other)
        return self._own if is_other else value


def _bearer(variable: str) -> bytes:
    key = os.environ.get(variable, "")
    return f"Bearer {key}".encode() if key else b""
