"""
What models say of the text behind the cursor of one document: kept, or being decoded.

Goal: one value (`Known`) says what can be answered at a request, so that the dispatcher only
starts, waits and ends. A generation says itself what it says (`Generation.at`). Nothing here waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fim_lsp.prompt.window import Window
from fim_lsp.session.generation import Generation
from fim_lsp.suggest.continuations import Continuations
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.known import Known
from fim_lsp.suggest.request import CompletionRequest

RESTING = 4  # generations that were left and may be resumed: the last few places of the cursor


@dataclass(slots=True, repr=False)
class KnownText:
    """
    State: what models said (*kept*), and the *generations* under way, the newest first.
    """

    kept: Continuations = field(default_factory=Continuations)
    generations: deque[Generation] = field(default_factory=lambda: deque(maxlen=RESTING))

    def at(self, request: CompletionRequest, model: str) -> Known:
        """Return what is known for *request* without waiting, of what *model* said."""
        kept = tuple(self.kept.find(request.cursor, model))
        return Known(kept, has_line=bool(kept))

    def joinable(self, shown: Window | None, request: CompletionRequest) -> Generation | None:
        """Return the generation under way, in the window *shown*, that agrees with *request*."""
        if shown is None or request.position.line < shown.anchor:
            return None
        typed = request.document.before(request.position, shown.anchor)
        return next((other for other in self.generations if other.agrees(shown, typed)), None)

    def begin(self, generation: Generation) -> None:
        """Add *generation* to those under way."""
        self.generations.appendleft(generation)

    def keep(self, generation: Generation, model: str) -> None:
        """Let go of *generation*, which has ended, and keep its text."""
        if generation in self.generations:
            self.generations.remove(generation)
        if generation.hand_over():
            text = generation.said.find_rest(generation.typed) or Candidate("")
            self.kept.put(generation.request.cursor, text, model, generation.sample)

    def pause(self, *, unless: Callable[[Generation], bool]) -> None:
        """Stop decoding what the cursor can no longer reach."""
        for generation in self.generations:
            if not unless(generation):
                generation.pause()

    def end(self) -> None:
        """Stop decoding."""
        for generation in self.generations:
            generation.end()
