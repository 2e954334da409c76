"""
The fate of suggestions: accepted, accepted in part or ignored. Pure.

Operations: `offer` when suggestions go out, `note_report` when the editor says something of them,
`follow` when a text changes. Goal: numbers to believe, from any editor. Few report everything:
Helix tells nothing, VS Code nothing of parts. So a change that inserts exactly what was offered, or
a beginning that ends with a word, is taken for acceptance too, and what is both inferred and
reported counts once. Plan: suggestions that stood on screen together are one `OfferedSuggestion`,
from the answer that brought them through all keys that were typed along, whatever ids they had. Its
text is a path: `passed` says how far along it the document is, `counted` how far acceptance has
been counted.

Every offer that was shown is exactly one of open, accepted, partly accepted and ignored; typing
it out by hand is to ignore it. The numbers go into `fim/stats` and nowhere else.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fim_lsp.documents import Document, Edit, Position, after, minimal, unix
from fim_lsp.events import Accepted, PartlyAccepted, Shown
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.back_off import ALONG_CHARS, Reaction
from fim_lsp.suggest.request import Suggestion

KNOWN = 64  # suggestions an editor may still name when it says what was accepted
PAIRED = ")]}>\"'`"  # what editors add to the opening one that is typed


class Fate(enum.Enum):
    """The fate of an offer."""

    UNSEEN = "unseen"
    OPEN = "open"
    ACCEPTED = "accepted"
    PARTLY = "partlyAccepted"
    IGNORED = "ignored"


@dataclass(slots=True, eq=False)
class OfferedSuggestion:
    """
    Suggestions that were shown together; *edits* are what they would still change, the best first;
    *since* is when it was first shown (seconds), None once the reaction is known, or says nothing.
    """

    edits: list[Edit]
    since: float | None
    fate: Fate = Fate.UNSEEN
    passed: int = 0
    counted: int = 0


class Followed(NamedTuple):
    """
    A suggestion by id: *edit* from *at* on the offer's path; *head* of its text stood there before.
    """

    offer: OfferedSuggestion
    at: int
    head: int
    edit: Edit


class Acceptance:
    """
    State of one document: the offer on screen, and suggestions by id.

    *quiet* counts how the user reacts. *says_shown*: the client names each suggestion that it
    shows, so what it does not name is not on screen.
    """

    def __init__(self, stats: Stats, quiet: Quietness, *, says_shown: bool = False) -> None:
        self._stats = stats
        self._quiet = quiet
        self._offer: OfferedSuggestion | None = None
        self._known: OrderedDict[str, Followed] = OrderedDict()
        self._says_shown = says_shown

    def offer(
        self, document: Document, suggestions: Iterable[Suggestion], *, by_itself: bool = True
    ) -> None:
        """
        Replace the suggestions on screen by these; none clear it. The reaction to those that did
        not come *by_itself* says nothing.
        """
        sent = [(each, minimal(document, Edit(*each[1:]))) for each in suggestions]
        left = [changes for _, changes in sent]
        offer = self._offer
        if offer is None or not left or not _goes_on(offer.edits[0], left[0]):
            self.end()
            if not left:
                return
            since = self._quiet.clock() if by_itself else None
            offer = self._offer = OfferedSuggestion(left, since)
            if not self._says_shown:
                self._become(offer, Fate.OPEN)
        offer.edits = left
        for suggestion, changes in sent:
            head = len(document.between(suggestion.start, changes.start))
            self._known[suggestion.id] = Followed(offer, offer.passed, head, changes)
        while len(self._known) > KNOWN:
            self._known.popitem(last=False)

    @property
    def line(self) -> int | None:
        """The line in which a suggestion is, or may be, on screen."""
        return self._offer.edits[0].start.line if self._offer else None

    def note_report(self, event: Shown | Accepted | PartlyAccepted) -> None:
        """
        Record what the editor says of a suggestion; one that is not followed any more is ignored.
        """
        self._says_shown |= isinstance(event, Shown)
        followed = self._known.get(event.id)
        if followed is None:
            return
        match event:
            case Shown() if followed.offer.fate is Fate.UNSEEN:
                self._become(followed.offer, Fate.OPEN)
            case Accepted():
                self._accept(followed, len(followed.edit.text))
            case PartlyAccepted(_, n_chars):
                self._accept(followed, max(0, n_chars - followed.head))

    def follow(self, document: Document, edits: tuple[Edit, ...]) -> None:
        """
        Note that *document* is about to be changed by *edits*, of which each counts on what the
        last one left.
        """
        if self._offer is not None:
            if len(edits) == 1:
                self._pass(self._offer, minimal(document, edits[0]))
            else:
                self.end()

    def dismiss(self) -> None:
        """The user hid what is on screen."""
        if self._offer is not None:
            self._note_reaction(self._offer, Reaction.DISMISSED)

    def end(self) -> None:
        """End what is on screen: another text takes its place, or the document was closed."""
        offer = self._offer
        self._offer = None
        if offer and offer.fate is not Fate.UNSEEN:
            along = offer.passed >= ALONG_CHARS
            self._note_reaction(offer, Reaction.TYPED_ALONG if along else Reaction.IGNORED)
        if offer and offer.fate is Fate.OPEN:
            self._become(offer, Fate.IGNORED)

    def _accept(self, followed: Followed, n_chars: int) -> None:
        offer = followed.offer
        n_all = len(followed.edit.text)
        if n_chars >= n_all:
            self._take(offer, followed.at, n_all, Fate.ACCEPTED)
            if self._offer is offer:
                self._offer = None
        elif n_chars:
            self._take(offer, followed.at, n_chars, Fate.PARTLY)

    def _pass(self, offer: OfferedSuggestion, edit: Edit) -> None:
        """Go along *offer* as far as *edit* agrees with it; an edit that does not agree ends it."""
        edit = edit._replace(text=unix(edit.text))
        if not edit.text and edit.start == edit.end:
            return
        if edit in offer.edits:
            if len(edit.text) >= ALONG_CHARS:
                self._take(offer, offer.passed, len(edit.text), Fate.ACCEPTED)
            offer.passed = max(ALONG_CHARS, offer.passed)  # all of it, however short
            self.end()
            return
        for text in (edit.text, edit.text.rstrip(PAIRED)):
            left = [part for part in offer.edits if text and _begins(part, edit, text)]
            if left:
                break
        else:
            self.end()
            return
        if len(text) >= ALONG_CHARS and _ends_word(left[0].text, len(text)):
            self._take(offer, offer.passed, len(text), Fate.PARTLY)
        offer.edits = [_rest(part, len(text)) for part in left]
        offer.passed += len(text)

    def _take(self, offer: OfferedSuggestion, at: int, n_chars: int, fate: Fate) -> None:
        """Note that the user took *n_chars* *at* a point of the path; each counts once."""
        self._note_reaction(offer, Reaction.ACCEPTED)
        if offer.fate is not Fate.ACCEPTED:
            self._become(offer, fate)
        end = at + n_chars
        if (n_new := end - max(at, offer.counted)) > 0:
            offer.counted = end
            self._stats.count_accepted(n_new)

    def _note_reaction(self, offer: OfferedSuggestion, reaction: Reaction) -> None:
        """Count the reaction to *offer*, the first one only."""
        since = offer.since
        offer.since = None
        if since is not None:
            self._quiet.note_reaction(reaction, since)

    def _become(self, offer: OfferedSuggestion, fate: Fate) -> None:
        before = "" if offer.fate is Fate.UNSEEN else offer.fate.value
        offer.fate = fate
        self._stats.count_fate(fate.value, before)


def _goes_on(offered: Edit, edit: Edit) -> bool:
    """Return whether *edit* says the same as what is on screen, or more, or less."""
    alike = offered.text.startswith(edit.text) or edit.text.startswith(offered.text)
    return offered.start == edit.start and alike


def _begins(offered: Edit, edit: Edit, text: str) -> bool:
    """Return whether *edit* inserts a beginning of what is offered."""
    inserts = edit.start == edit.end == offered.start
    return inserts and len(text) < len(offered.text) and offered.text.startswith(text)


def _rest(offered: Edit, n_chars: int) -> Edit:
    """Return the rest of an offer once its first *n_chars* stand in the text."""
    start = after(offered.start, offered.text[:n_chars])
    width = offered.end.column - offered.start.column  # a suggestion replaces text of one line only
    return Edit(start, Position(start.line, start.column + width), offered.text[n_chars:])


def _ends_word(text: str, n_chars: int) -> bool:
    """
    Return whether no word goes on behind the first *n_chars*: editors accept by words and lines.
    """
    last = text[n_chars - 1]
    following = text[n_chars : n_chars + 1]
    return not ((last.isalnum() or last == "_") and (following.isalnum() or following == "_"))
