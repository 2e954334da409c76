"""One request, and what the editor is to insert."""

from __future__ import annotations

from fim_lsp.documents import Edit, Position, open_document
from fim_lsp.settings.config import Config
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.request import (
    CompletionRequest,
    Suggestion,
    accept,
    request_at,
    suggestion,
)
from server_bridge.protocol import Health, State

TEXT = "def area(width):\n    return wi\n"
HERE = Position(1, 13)
READY = State(Health.READY, "llama-server")


def request(
    config: Config | None = None, *, invoked: bool = False, selected: Edit | None = None
) -> CompletionRequest:
    document = open_document("file:///a.py", "python", 1, TEXT)
    return request_at(
        document, HERE, "a.py", config or Config(), READY, invoked=invoked, selected=selected
    )


def test_a_suggestion_replaces_the_closers_it_brings() -> None:
    """*replaces* characters right of the cursor go."""
    found = suggestion(request(), Candidate("dth)", replaces=1), "7")
    assert found == Suggestion("7", HERE, Position(1, 14), "dth)")
    assert suggestion(request(), Candidate(""), "8") is None


def test_a_selected_menu_entry_is_part_of_the_suggestion() -> None:
    """The request sees it as typed; what is inserted begins with it and replaces what it would."""
    start = Position(1, 11)
    chosen = request(selected=Edit(start, HERE, "width"))
    assert chosen.document.text.splitlines()[1] == "    return width"
    found = suggestion(chosen, Candidate(" * 2"), "7")
    assert found == Suggestion("7", start, HERE, "width * 2")


def test_the_request_after_acceptance_stands_behind_the_text() -> None:
    """It is automatic, and its document has the suggestion."""
    found = suggestion(request(invoked=True), Candidate("dth * 2"), "7")
    assert found is not None
    after = accept(request(invoked=True), found)
    assert after.document.text == "def area(width):\n    return width * 2\n"
    assert (after.position, after.invoked) == (Position(1, 20), False)


def test_one_line_is_wanted_while_typing_only() -> None:
    """A user who asked gets all; what follows an acceptance is automatic again."""
    config = Config(suggestions="one line")
    assert request(config, invoked=False).cursor.one_line
    by_hand = request(config, invoked=True)
    assert not by_hand.cursor.one_line
    found = suggestion(by_hand, Candidate("dth * 2"), "7")
    assert found is not None
    assert accept(by_hand, found).cursor.one_line
    assert not request(Config(), invoked=False).cursor.one_line


def test_unsure_candidates_are_shown_by_hand_only() -> None:
    """A wrong guess is worse than none while typing; a user who asked wants to see it."""
    assert request(invoked=False).sure > 0
    assert request(invoked=True).sure == 0
