"""
The outcome of a request, as `fim/stats` counts it, into words: the source of a suggestion, or why
there is none. Pure.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from fim_lsp.documents import DOCUMENT_CHARS

TOY = "the bundled model, a toy for Python: `fim-lsp setup` gets a real one"


@enum.unique
class Outcome(enum.StrEnum):
    """
    How a request ended: its name in `fim/stats`, and the words for why it got nothing.

    A filter that left nothing has its own name. `{}` stands for the rule that says so.
    """

    words: str

    def __new__(cls, name: str, words: str = "") -> Self:
        """Return the outcome *name*; an outcome without *words* of its own is told by its name."""
        outcome = str.__new__(cls, name)
        outcome._value_ = name
        outcome.words = words or name
        return outcome

    BACKEND = "backend"
    CACHE = "cache", "what is left of the suggestion is too short to be worth a key"
    LOCAL = "local", "no line in sight begins like this one, and the model could not be asked"
    EARLY = "early: {}", "it is too early: whether the file is private is not known yet ({})"
    PRIVATE = "private: {}", "the file is private, nothing of it is used ({})"
    DISABLED = "fim.completion.disabledFor names {}"
    LONG_LINE = "the line is too long"
    OFF = "automatic suggestions are off", "fim.completion.auto is false"
    NOT_SURE = "not sure", "the model was too unsure of its answer (fim.suggestions)"
    IN_COMMENT = "in a comment", "no suggestions come in comments (fim.completion.quietIn)"
    IN_STRING = "in a string", "no suggestions come in strings (fim.completion.quietIn)"
    INSIDE_WORD = "inside a word", "the cursor is inside a word; suggestions come at its end"
    BEFORE_CODE = "before other code", "there is code right of the cursor, not only brackets"
    BEFORE_BODY = "before the body of a block", "the block already has its body"
    IN_PROMPT = "in a prompt", "there are no automatic suggestions in a prompt or a chat"
    NOT_NOW = "not now", "you snoozed suggestions (fim.snooze; fim.resume ends it)"
    EMPTY_TEXT = "in an empty text", "the file is empty"
    AFTER_DELETION = "after a deletion", "suggestions come after you type, not after you delete"
    MODEL = "model", "the model wrote nothing here"
    UNASKED = "not asked", "no suggestion was asked for here since the last edit"
    NOT_OPEN = "not open", "the file is not open"
    LARGE = "too large", f"files of more than {DOCUMENT_CHARS:,} characters get no suggestions"
    SUPERSEDED = "superseded", "the next key came before the answer"
    FAILED = "failed", "fim-lsp failed, which is a bug: its log has more"
    NO_MODEL = "model failed", "the model server could not answer"
    SLOW = "slow", "the model was not done when the editor's list was due; the next key may show it"
    TOO_LATE = "too late", "the model did not answer in time (fim.completion.deadlineMs)"

    INVISIBLE = "invisible", "the model's answer has only characters that are not shown"
    SPECIAL_TOKENS = "special_tokens", "the model's answer began with a control token"
    OTHER_TEXT = "other_text", "the model began another file, a patch or a chat"
    REINDENTED = "reindented", "the model's answer was only white space"
    TYPED_AGAIN = "typed_again", "the model only repeated the text before the cursor"
    STUTTERING = "stuttering", "the model repeated the same words"
    LOOPING_LINES = "looping_lines", "the model repeated the line above"
    EXTENT = "extent", "the statement is complete already"
    LINES_BELOW = "lines_below", "the model repeated the text below the cursor"
    CLOSED_BELOW = "closed_below", "the model closed a bracket that the next line closes"
    OPENED_HERE = "opened_here", "the model closed a bracket around the lines below"
    UNFINISHED = "unfinished", "the model's answer broke off within its first word"
    BROKEN_CHARACTER = "broken_character", "the model's answer broke off within a character"
    RIGHT_TEXT = "right_text", "the model repeated the text right of the cursor"
    PARSES = "parses", "the model's answer {}"
    TRAILING_SPACE = "trailing_space", "the model's answer was only white space"
    TOO_SHORT = "too_short", "the model's answer is too short to be worth a key"


class End(NamedTuple):
    """
    The end of a request: its *outcome*, the *rule* that says so, if there is one, and what is
    *told* in place of the outcome's own words. *is_failure*: the model could not answer.
    """

    outcome: Outcome
    rule: str = ""
    told: str = ""
    is_failure: bool = False

    @property
    def key(self) -> str:
        """The outcome as `fim/stats` counts it."""
        return self.outcome.value.format(self.rule)

    @property
    def words(self) -> str:
        """The source of the suggestions, or why there are none."""
        return self.told or self.outcome.words.format(self.rule)


# Ends after which the user is told to ask by hand.
ENDS_ONLY_WHILE_TYPING = frozenset({
    Outcome.OFF, Outcome.DISABLED, Outcome.IN_PROMPT, Outcome.NOT_NOW, Outcome.AFTER_DELETION,
    Outcome.IN_COMMENT, Outcome.IN_STRING, Outcome.INSIDE_WORD, Outcome.BEFORE_CODE,
    Outcome.BEFORE_BODY, Outcome.EMPTY_TEXT,
    Outcome.NOT_SURE, Outcome.PARSES, Outcome.TOO_LATE, Outcome.LOCAL, Outcome.SLOW,
    Outcome.TOO_SHORT, Outcome.UNASKED,
})  # fmt: skip
_KEYS = tuple(each.partition("{}")[0] for each in ENDS_ONLY_WHILE_TYPING)  # without their rules


def report(text: str, outcome: str, why: str, *, by_hand: bool) -> str:
    """
    Return what a request got, or that it got nothing, *why* (`End.words`), and whether to ask by
    hand. *outcome* is its name in `fim/stats` (`End.key`).
    """
    if text:
        line = " ⏎ ".join(map(str.strip, text.splitlines())).strip()
        return f"{'By hand' if by_hand else 'While you type'} {line!r}, by {why}"
    advice = " Ask by hand." if outcome.startswith(_KEYS) and not by_hand else ""
    return f"No suggestion {'by hand' if by_hand else 'while you type'}: {why}.{advice}"


def notice(backend: Mapping[str, Any]) -> str:
    """Return a note about the model, "" for none."""
    if backend.get("state") == "loading":
        return "the model is still loading"
    if backend.get("state") != "ready":
        return str(backend.get("message") or f"the model server is {backend.get('state')}")
    return str(backend.get("message") or (backend.get("bundled") and TOY) or "")
