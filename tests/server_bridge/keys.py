"""API keys for the tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable


def giving(key: str) -> Callable[[], Awaitable[str]]:
    """Return a place that holds *key*."""

    async def read() -> str:
        return key

    return read
