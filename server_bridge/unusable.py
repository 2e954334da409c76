"""
Settings that cannot work, as a `Backend` that says so: the editor side goes on without completions,
and the user reads why.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from server_bridge.protocol import (
    BackendUnusable,
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
    Sink,
    State,
    Warmed,
)


class Unusable:
    """Never ready; *message* names what to change."""

    def __init__(self, kind: str, message: str) -> None:
        self.state = State(Health.UNUSABLE, kind, message=message)

    async def connect(self) -> State:
        """Still unusable."""
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:  # noqa: ARG002
        """Raise."""
        raise BackendUnusable(self.state.message)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:  # noqa: ARG002
        """Raise."""
        raise BackendUnusable(self.state.message)

    async def complete(self, request: Request) -> Reply:  # noqa: ARG002
        """Raise."""
        raise BackendUnusable(self.state.message)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:  # noqa: ARG002
        """Raise."""
        raise BackendUnusable(self.state.message)
        yield  # what makes it a generator

    async def save(self, prompt: Prompt) -> int:  # noqa: ARG002
        """Nothing was evaluated."""
        return 0

    async def restore(self, prompt: Prompt) -> int:  # noqa: ARG002
        """See `save`."""
        return 0

    async def continue_long(
        self,
        prompt: Prompt,  # noqa: ARG002
        n_predict: int,  # noqa: ARG002
        sink: Sink,  # noqa: ARG002
    ) -> AsyncGenerator[str, None]:
        """Raise."""
        raise BackendUnusable(self.state.message)
        yield ""  # what makes it a generator

    async def forward(
        self,
        path: str,  # noqa: ARG002
        body: bytes,  # noqa: ARG002
    ) -> AsyncGenerator[dict[str, object], None]:
        """Raise."""
        raise BackendUnusable(self.state.message)
        yield {}  # what makes it a generator

    async def aclose(self) -> None:
        """There is nothing to close."""
