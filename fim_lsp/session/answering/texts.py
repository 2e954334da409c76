"""
Texts that models said of each open document, or are saying: found again at a cursor, begun, kept,
ended.

A text belongs to the view that it was made for (`ModelView`): it goes with that, and where nothing
of the view may be used any more, its streams end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from fim_lsp.session.answering.generation import Generation
from fim_lsp.session.answering.life import StreamEvent, StreamState
from fim_lsp.session.state.model_view import ModelView
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.suggest.cursor import Cursor
from fim_lsp.suggest.known import Continuations, Known
from fim_lsp.suggest.request import CompletionRequest

RESTING = 4  # generations that were left and may be resumed: the last few places of the cursor
SAID = frozenset({StreamState.WHOLE, StreamState.SHORT})


@dataclass(slots=True, repr=False)
class KnownText:
    """
    State: what models said (*kept*), the *generations* under way, the newest first, and where a
    model was last asked for its other texts.
    """

    kept: Continuations = field(default_factory=Continuations)
    generations: deque[Generation] = field(default_factory=lambda: deque(maxlen=RESTING))
    _others_at: tuple[Cursor, str] | None = None

    def at(self, request: CompletionRequest, model: str) -> Known:
        """Return what is known for *request* without waiting, of what *model* said."""
        kept = tuple(self.kept.find(request.cursor, model))
        return Known(kept, has_line=bool(kept))

    def note_others(self, cursor: Cursor, model: str) -> None:
        """Note that *model* has said all the texts at *cursor* that it is asked for there."""
        self._others_at = cursor, model

    def has_others(self, cursor: Cursor, model: str) -> bool:
        """Return whether it has, as the newest place where it was asked for them."""
        return self._others_at == (cursor, model)

    def end(self) -> None:
        """Stop decoding."""
        for generation in self.generations:
            generation.happen(StreamEvent.CUT)


class KnownTexts:
    """The texts of each view that a model was asked about, for as long as there is the view."""

    def __init__(self) -> None:
        self._by_view = WeakKeyDictionary[ModelView, KnownText]()

    def of(self, doc: OpenDocument) -> KnownText:
        """Return the texts of the view of *doc* now."""
        view = doc.view
        if view not in self._by_view:
            texts = KnownText()
            self._by_view[view] = texts
            view.call_at_end(texts.end)
        return self._by_view[view]

    def find(self, doc: OpenDocument, request: CompletionRequest, model: str) -> Known:
        """Return what is known for *request* in *doc* without waiting, of what *model* said."""
        shown = doc.requests.displayed
        on_screen = shown.at(request, model) if shown else None
        return on_screen or self.of(doc).at(request, model)

    def joinable(self, doc: OpenDocument, request: CompletionRequest) -> Generation | None:
        """Return the generation under way in *doc* that agrees with *request*."""
        frame = doc.view.ladder.current
        if frame is None or request.position.line < frame.window.anchor:
            return None
        typed = request.document.before(request.position, frame.window.anchor)
        under_way = self.of(doc).generations
        return next((one for one in under_way if one.completion.agrees(frame.window, typed)), None)

    def begin(self, generation: Generation) -> None:
        """Add *generation* to those under way."""
        self.of(generation.doc).generations.appendleft(generation)

    def keep(self, generation: Generation, model: str) -> None:
        """Let go of *generation*, which has ended, and keep its text, which *model* said."""
        known = self.of(generation.doc)
        if generation in known.generations:
            known.generations.remove(generation)
        completion = generation.completion
        if completion.state in SAID:
            [text] = completion.at(completion.request).candidates
            known.kept.put(completion.request.cursor, text, model, completion.sample)

    def note_key(self, doc: OpenDocument) -> None:
        """Stop decoding what the cursor in *doc* can no longer reach."""
        for generation in self.of(doc).generations:
            if not generation.is_reachable:
                generation.happen(StreamEvent.KEY)
