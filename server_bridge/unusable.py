"""
Settings that cannot work, as a `Backend` that says so: the editor side goes on without completions,
and the user reads why.
"""

from __future__ import annotations

from server_bridge.protocol import (
    BackendUnusable,
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
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

    async def aclose(self) -> None:
        """Nothing to let go of."""
