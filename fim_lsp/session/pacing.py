"""How much to ask of the backend at a time, by its measured speed; and when a text is whole. Pure."""

from __future__ import annotations

from functools import partial

from fim_lsp.session.generation import Terms
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import least
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.repeats import looping_lines, stuttering
from fim_lsp.suggest.request import CompletionRequest
from server_bridge.protocol import State

STEP_S = 0.25  # a step of prefill: what a request that comes meanwhile may have to wait for
STEP_TOKENS = (16, 4096)  # fewer cost more in requests than in evaluation


def step_tokens(state: State) -> int:
    """How many tokens the backend evaluates in one step of about `STEP_S`."""
    low, high = STEP_TOKENS
    return max(low, min(high, int(state.prefill_per_s * STEP_S)))


def terms(request: CompletionRequest, sample: int = 0) -> Terms:
    """How long to decode: until the text is syntactically whole."""
    return Terms(
        n_predict=request.config.completion.max_tokens,
        step=step_tokens(request.state),
        enough=partial(enough, cursor=request.cursor),
        stop=boundary.stops(request.cursor),
        sample=sample,
        least=least(request.config.completion.min_confidence),
    )


def enough(text: str, cursor: Cursor) -> bool:
    """Whether decoding can stop: the text is whole, or it went into a loop that would be cut."""
    candidate = Candidate(text, whole=False)
    loops = any(step(candidate, cursor).text != text for step in (stuttering, looping_lines))
    return loops or boundary.enough(text, cursor)
