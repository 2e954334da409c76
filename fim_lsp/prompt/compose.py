"""
Decisions: what to ask the model and what to make of its answer. Pure; `session` does the waiting.

`asked` looks at a request, `why_not` says why it gets nothing, `compose` makes the prompt, `budget`
and `terms` size the work by what the backend can do, `suggestion` says what the editor is to insert.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from fim_lsp import tape
from fim_lsp.config import Config
from fim_lsp.context.ring import Limits
from fim_lsp.context.secrets import scrubbed_parts
from fim_lsp.documents import Document, Edit, Position, after, edited
from fim_lsp.flight import Flight, Terms
from fim_lsp.pretokens import heal
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import confidence, preferred
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.local import continued
from fim_lsp.suggest.place import ABOVE_LINES, BELOW_LINES, Draft, Place, place_at
from fim_lsp.suggest.repeats import looping_lines, stuttering
from fim_lsp.view import Frame, View
from fim_lsp.window import Budget, Window
from server_bridge.protocol import Chunk, Measure, Prompt, State

STEP_S = 0.25  # a step of prefill: what somebody who types on may have to wait for
STEP_TOKENS = (64, 4096)
SMALL_CONTEXT = 4096  # tokens, until the backend says
SIGHT_LINES = 8000  # looked through for one that begins as the typed one does: half a millisecond
TELLING = 12  # characters of a line that says more than `else:` or `return None`
SCAFFOLD = 64  # tokens of control marks, names and paths
BURST_S = 0.05  # of decoding on the wire: a newer key waits for it, and does not feel it
# Two, so that a server's drafts are of use; eight, because a suggestion of a line is about as long, and
# whatever is decoded past its end is waited for, too.
BURST_TOKENS = (2, 8)


class Suggestion(NamedTuple):
    """Replace the text from *start* to *end* by *text* (with `\\n` line ends)."""

    id: str
    start: Position
    end: Position
    text: str


class Selected(NamedTuple):
    """An entry of the editor's completion menu that is selected: as if *text* stood there already."""

    start: Position
    end: Position
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """
    One request: where, what stands around, and whether the user asked for it by hand.

    With a selected menu entry, *document* and *position* are as if it had been accepted.
    """

    document: Document
    position: Position
    place: Place
    invoked: bool
    selected: Selected | None = None


def asked(
    document: Document, position: Position, path: str, *, invoked: bool, selected: Selected | None
) -> Asked:
    """The request as the rest of us looks at it; *path* is the document's within its workspace."""
    if selected is not None:
        start = document.clamp(selected.start)
        document = edited(document, [Edit(start, selected.end, selected.text)], document.version)
        position = Position(start.line, start.column + len(selected.text))
    position = document.clamp(position)
    place = place_at(document, position, path, by_hand=invoked)
    return Asked(document, position, place, invoked, selected)


def why_off(asked: Asked, config: Config) -> str:
    """The reason to do nothing at all for this request, "" for none."""
    if boundary.too_long(asked.place):
        return "the line is too long"
    if asked.invoked:
        return ""
    if not config.completion.auto:
        return "automatic suggestions are off"
    if asked.document.language in config.languages.off:
        return f"suggestions are off for {asked.document.language}"
    return ""


def why_not(asked: Asked, config: Config, *, deleted: bool) -> str:
    """The reason to suggest nothing at this place now, "" for none; *deleted*: see `boundary.quiet`."""
    if asked.invoked:
        return ""
    scope, excluded = boundary.scope(asked.place), config.completion.quiet_in
    return boundary.quiet(asked.place, deleted=deleted, scope=scope, excluded=excluded)


def accepted(asked: Asked, suggestion: Suggestion, path: str) -> Asked:
    """The request that would follow if *suggestion* was accepted."""
    edit = Edit(suggestion.start, suggestion.end, suggestion.text)
    document = edited(asked.document, [edit], asked.document.version)
    position = after(suggestion.start, suggestion.text)
    return Asked(document, position, place_at(document, position, path), invoked=False)


def budget(config: Config, state: State, scale: float = 1.0) -> Budget:
    """Window sizes in characters: as configured, and never more than a share of a small context."""
    prompt, per = config.prompt, state.chars_per_token * scale
    n_ctx = state.n_ctx or SMALL_CONTEXT
    return Budget(
        prefix=int(min(prompt.prefix_tokens, n_ctx // 6) * per),
        suffix=int(min(prompt.suffix_tokens, n_ctx // 12) * per),
        middle=int(min(prompt.middle_tokens, n_ctx // 12) * per),
    )


def ring_limits(config: Config, state: State) -> Limits:
    """How large a ring may be: as configured, in what the largest window leaves of the context."""
    size = budget(config, state)
    window = 2 * size.prefix + size.suffix + 2 * size.middle
    spare = (state.n_ctx or SMALL_CONTEXT) - config.completion.max_tokens - SCAFFOLD
    n_chars = max(0, int(spare * state.chars_per_token) - window)
    return Limits(config.ring.chunks, config.ring.chunk_lines, n_chars)


def compose(frame: Frame, typed: str, known: tape.Tape, *, classic: bool = False) -> Prompt:
    """The prompt for a cursor behind *typed*, the middle of the frame's window."""
    kept, half = heal(typed)
    prefix, middle, forced, suffix = _public((frame.window.prefix, kept, half, frame.window.suffix))
    if classic:
        prefix, middle = prefix + middle, ""
    return Prompt(
        repo=frame.header.repo,
        chunks=frame.header.chunks,
        path=frame.header.path,
        prefix=prefix,
        suffix=suffix,
        middle=middle,
        tape=tape.spelled(known, middle),
        forced=half if forced == half else "",
        language=frame.header.language,
    )


@lru_cache(maxsize=64)  # a place is composed for several times: measured, warmed, asked
def _public(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The text around the cursor with what looks like a secret blotted out."""
    return scrubbed_parts(parts)


def step_tokens(state: State) -> int:
    """How many tokens the backend evaluates in one step of about `STEP_S`."""
    low, high = STEP_TOKENS
    return max(low, min(high, int(state.prefill_per_s * STEP_S)))


def burst_tokens(state: State) -> int:
    """How many tokens the backend decodes in one burst of about `BURST_S`."""
    low, high = BURST_TOKENS
    return max(low, min(high, int(1e3 * BURST_S / state.decode_ms)))


def terms(asked: Asked, config: Config, state: State, sample: int = 0) -> Terms:
    """How long and in what portions to decode: until the text is syntactically whole."""
    return Terms(
        burst=burst_tokens(state),
        n_predict=config.completion.max_tokens,
        step=step_tokens(state),
        enough=partial(enough, place=asked.place),
        stop=boundary.stops(asked.place),
        sample=sample,
    )


def enough(text: str, place: Place) -> bool:
    """Whether decoding can stop: the text is whole, or it went into a loop that would be cut."""
    draft = Draft(text, whole=False)
    loops = any(step(draft, place).text != text for step in (stuttering, looping_lines))
    return loops or boundary.enough(text, place)


def beside(chunks: tuple[Chunk, ...], path: str, shown: Window) -> tuple[Chunk, ...]:
    """
    Of *chunks* of an earlier prompt those that may stand in one with another window of *path*.

    They end before the first that shows lines of the window again; so the backend has all of them.
    """
    lines = set(map(str.strip, (shown.prefix + shown.suffix).splitlines()))
    for idx, chunk in enumerate(chunks):
        mine = [line.strip() for line in chunk.text.splitlines() if len(line.strip()) >= TELLING]
        if chunk.name == path and any(line in lines for line in mine):
            return chunks[:idx]
    return chunks


def affordable(frame: Frame, measure: Measure) -> tuple[int, Frame]:
    """A measured *frame* without the chunks the backend does not hold, and how many tokens are left."""
    ends = itertools.accumulate(measure.chunks, initial=measure.repo)
    n_held = sum(end <= measure.cached for end in list(ends)[1:])
    if n_held == len(measure.chunks):
        return measure.total - measure.cached, frame
    left = measure.total - measure.repo - sum(measure.chunks)
    header = replace(frame.header, chunks=frame.header.chunks[:n_held])
    return left, replace(frame, header=header)


def lines_in_sight(
    here: Document | None, view: View, others: Mapping[str, Document]
) -> Iterator[str]:
    """
    Lines that may be said again, the likeliest first: of the file itself beyond those around the
    cursor, of *others* (by path), of chunks of files that are not open.
    """
    line = view.position.line if view.position else 0
    own = here.lines if here else ()
    shown = view.frame.header.chunks if view.frame else ()
    unseen = (chunk for chunk in reversed(shown) if chunk.name not in {view.file.path, *others})
    runs = itertools.chain(
        [reversed(own[: max(0, line - ABOVE_LINES)]), own[line + 1 + BELOW_LINES :]],
        (other.lines for other in others.values()),
        (chunk.text.splitlines() for chunk in unseen),
    )
    return itertools.islice(itertools.chain.from_iterable(runs), SIGHT_LINES)


def drafted(flight: Flight, elsewhere: Iterable[str], *, lines_too: bool) -> Draft:
    """
    What is to be kept of a whole *flight*: its text, or a line in sight that is surer.

    *elsewhere* are lines of places out of sight; *lines_too* says whether lines may be offered at all.
    """
    said = Draft(flight.text, whole=not flight.short)
    shown = polish(said, flight.place).text
    said = replace(said, sure=confidence(flight.tokens, flight.half, shown))
    return preferred(said, said.sure, continued(flight.place, elsewhere)) if lines_too else said


def doubted(asked: Asked, draft: Draft, config: Config) -> bool:
    """Whether the model was too unsure of *draft* to disturb anybody with it."""
    return not asked.invoked and draft.sure < config.completion.min_confidence


def suggestion(asked: Asked, draft: Draft, id: str) -> Suggestion | None:
    """What to insert for a polished *draft*, None for an empty one."""
    if not draft.text:
        return None
    start, end = (
        asked.position,
        asked.position._replace(column=asked.position.column + draft.replaces),
    )
    if asked.selected is None:
        return Suggestion(id, start, end, draft.text)
    selected = asked.selected
    end = selected.end._replace(column=selected.end.column + draft.replaces)
    return Suggestion(id, selected.start, end, selected.text + draft.text)
