"""Facts about a server that it does not tell: whether it is one of ours, and who uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from server_bridge.llama.checkpoints import ModelMemory
from server_bridge.llama.link import Process


async def _always() -> bool:
    return True


async def _never() -> bool:
    return False


class Own(NamedTuple):
    """
    Facts about a server of our own: the build and flags of its *engine*, its model's *memory*,
    its *process*. Its slots do not share one cache. *is_shared*: other sessions use it now, too.
    """

    engine: str
    memory: ModelMemory
    process: Process | None = None
    is_shared: Callable[[], Awaitable[bool]] = _never


FOREIGN = Own("", ModelMemory(), is_shared=_always)
