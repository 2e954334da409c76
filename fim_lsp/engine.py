"""
Decisions: what to ask the model and what to make of its answer. Pure; `session` does the waiting.

`why_not` says why a request gets nothing, `compose` makes the prompt, `budget` and `terms` size the
work by what the backend can do, `suggestion` makes of raw text what the editor is to insert.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from fim_lsp import tape, window
from fim_lsp.config import Config
from fim_lsp.documents import Document, Position, body
from fim_lsp.flight import Terms
from fim_lsp.pretokens import heal
from fim_lsp.window import Budget, Window
from server_bridge.protocol import Chunk, Prompt, State

LONGEST_LINE = 10_000  # characters; a longer one is minified or data, and slow in every part of us
STEP_S = 0.25  # a step of prefill: what somebody who types on may have to wait for
STEP_TOKENS = (64, 4096)
BURST = 8  # tokens; benchmarks/bursts.py: the shortest that costs < 5 % throughput on the bundled model


class Suggestion(NamedTuple):
    """Replace the text from *start* to *end* by *text* (with `\\n` line ends)."""

    id: str
    start: Position
    end: Position
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: where, and whether the user asked for it by hand."""

    document: Document
    position: Position
    invoked: bool
    selected: tuple[Position, Position, str] | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """The part of a prompt that does not depend on the cursor."""

    repo: str
    chunks: tuple[Chunk, ...]
    path: str


def why_not(asked: Asked, config: Config) -> str | None:
    """The reason to answer nothing without asking anybody, or None."""
    if not (config.completion.auto or asked.invoked):
        return "automatic completions are off"
    if asked.document.language in config.languages.off:
        return f"completions are off for {asked.document.language}"
    if len(asked.document.lines[asked.position.line]) > LONGEST_LINE:
        return "the line is too long"
    return None


def budget(config: Config, state: State) -> Budget:
    """Window sizes in characters: as configured, and never more than a share of a small context."""
    prompt, per = config.prompt, state.chars_per_token
    n_ctx = state.n_ctx or 4096
    return Budget(
        prefix=int(min(prompt.prefix_tokens, n_ctx // 6) * per),
        suffix=int(min(prompt.suffix_tokens, n_ctx // 12) * per),
        middle=int(min(prompt.middle_tokens, n_ctx // 12) * per),
    )


def compose(
    header: Header, window_: Window, typed: str, known: tape.Tape, *, classic: bool = False
) -> Prompt:
    """The prompt for a cursor behind *typed*, the middle of *window_*."""
    kept, half = heal(typed)
    prefix = window_.prefix + kept if classic else window_.prefix
    middle = "" if classic else kept
    return Prompt(
        repo=header.repo,
        chunks=header.chunks,
        path=header.path,
        prefix=prefix,
        suffix=window_.suffix,
        middle=middle,
        tape=tape.spelled(known, middle),
        forced=half,
    )


def step_tokens(state: State) -> int:
    """How many tokens the backend evaluates in one step of about `STEP_S`."""
    low, high = STEP_TOKENS
    return max(low, min(high, int(state.prefill_per_s * STEP_S)))


def terms(asked: Asked, config: Config, state: State) -> Terms:
    """How long and in what portions to decode."""
    one_line = not window.closes_only(window.right_of(asked.document, asked.position))

    def enough(text: str) -> bool:
        lines = text.split("\n")
        return len(lines) > 1 and (one_line or bool(lines[0].strip()))

    return Terms(BURST, config.completion.max_tokens, step_tokens(state), enough)


def suggestion(asked: Asked, text: str, number: int) -> Suggestion | None:
    """What to insert at the cursor for the raw *text*."""
    text = text.split("\n")[0].rstrip() if text.strip() else ""
    rest = body(asked.document.lines[asked.position.line])[asked.position.column :]
    if not text or text == rest:
        return None
    return Suggestion(str(number), asked.position, asked.position, text)
