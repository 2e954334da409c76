"""
The prompt for a cursor, and how large its parts may be. Pure.

Sizes are given in tokens (settings, the backend's context) and spent in characters, by the measured
characters per token of the user's own text (`State.chars_per_token`).
"""

from __future__ import annotations

from functools import lru_cache

from fim_lsp.context.ring import Limits
from fim_lsp.context.secrets.scan import scrub_parts
from fim_lsp.prompt.frame import Frame
from fim_lsp.prompt.healing import heal
from fim_lsp.prompt.window import Budget
from fim_lsp.settings.config import Config
from server_bridge.protocol import Prompt, State

SMALL_CONTEXT = 4096  # tokens, until the backend says
MIDDLE_TOKENS = 256  # some 25 typed lines between two prefills
SCAFFOLD = 64  # tokens of control marks, names and paths


def compose(frame: Frame, typed: str) -> Prompt:
    """Return the prompt for a cursor behind *typed*, the middle of the frame's window."""
    kept, half = heal(typed)
    prefix, middle, forced, suffix = _scrub((frame.window.prefix, kept, half, frame.window.suffix))
    if forced != half:  # the output cannot begin with what is redacted
        middle, forced = middle + forced, ""
    return Prompt(
        repo=frame.header.repo,
        chunks=frame.header.chunks,
        path=frame.header.path,
        prefix=prefix,
        suffix=suffix,
        middle=middle,
        forced=forced,
    )


@lru_cache(maxsize=64)  # one cursor is composed for several times: measured, prefilled, asked
def _scrub(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the text around the cursor without what looks like a secret, half-typed ones included."""
    return scrub_parts(parts)


def budget(config: Config, state: State, scale: float = 1.0) -> Budget:
    """Return window sizes in characters: as configured, and never more than a share of a small context."""
    prompt, per = config.prompt, state.chars_per_token * scale
    n_ctx = state.n_ctx or SMALL_CONTEXT
    return Budget(
        prefix=int(min(prompt.prefix_tokens, n_ctx // 6) * per),
        suffix=int(min(prompt.suffix_tokens, n_ctx // 12) * per),
        middle=int(min(MIDDLE_TOKENS, n_ctx // 12) * per),
    )


def ring_limits(config: Config, state: State) -> Limits:
    """Return the size limits of a ring: as configured, in what the largest window leaves of the context."""
    size = budget(config, state)
    window = 2 * size.prefix + size.suffix + 2 * size.middle
    spare = (state.n_ctx or SMALL_CONTEXT) - config.completion.max_tokens - SCAFFOLD
    n_chars = max(0, int(spare * state.chars_per_token) - window)
    return Limits(config.ring.chunks, config.ring.chunk_lines, n_chars)
