"""
A request decoded in short requests, one after the other: for servers that do not stop when a stream is closed.

mlx_lm.server decodes to the end even when the client is gone, and serves nothing else meanwhile. So it is asked for
so much at a time that a newer key need not wait long. Each reply costs the evaluation of one token at least.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace

from server_bridge.protocol import Reply, Request, State, Stop, rest

SHORT_S = 0.05  # of decoding: a newer key waits for it, and its delay is not felt
# Two, so that a server's drafts are of use; eight, because a suggestion of a line is about as long, and
# whatever is decoded past its end is waited for, too.
SHORT_TOKENS = (2, 8)


async def stream(
    complete: Callable[[Request], Awaitable[Reply]], request: Request, state: State
) -> AsyncGenerator[Reply, None]:
    """Yield the replies to *request*, each decoded in one go; see `Model.stream`."""
    while request.n_predict > 0:
        n_predict = min(request.n_predict, short_tokens(state))
        reply = await complete(replace(request, n_predict=n_predict))
        yield reply
        if reply.stop is not Stop.LIMIT:
            return
        request = rest(request, reply)


def short_tokens(state: State) -> int:
    """Return how many tokens the server decodes in about `SHORT_S`."""
    low, high = SHORT_TOKENS
    return max(low, min(high, int(1e3 * SHORT_S / state.decode_ms)))
