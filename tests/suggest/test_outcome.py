"""How a request ended, in words for the user."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.reasons import ENDS_ONLY_WHILE_TYPING, TOY, Outcome, notice, report

READY = {
    "state": "ready", "ready": True, "kind": "llama-server", "model": "qwen.gguf",
    "url": "http://127.0.0.1:8080",
}  # fmt: skip
ADVISED = "No suggestion while you type: because. Ask by hand."
DOWN = {"state": "down", "message": "nothing answers at http://127.0.0.1:8080"}


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (READY, ""),
        ({**READY, "bundled": True}, TOY),
        ({**READY, "bundled": True, "message": "x is gone"}, "x is gone"),
        ({"state": "loading"}, "the model is still loading"),
        ({"state": "busy", "message": "busy since 9:41"}, "busy since 9:41"),
        (DOWN, DOWN["message"]),
        ({"state": "down"}, "the model server is down"),
        ({"state": "asleep", "ready": True}, "the model server is asleep"),
    ],
)
def test_what_else_is_to_be_known(backend: dict[str, object], words: str) -> None:
    """Of a model that is no real one, or is not there."""
    assert notice(backend) == words


@pytest.mark.parametrize(
    ("text", "outcome", "by_hand", "words"),
    [
        ("me)", "backend", False, "While you type 'me)', by because"),
        ("me)", "backend", True, "By hand 'me)', by because"),
        ("\n    a = 1\n    b", "backend", True, "By hand '⏎ a = 1 ⏎ b', by because"),
        ("", "not sure", False, ADVISED),
        ("", "not sure", True, "No suggestion by hand: because."),
        ("", "superseded", False, "No suggestion while you type: because."),
        ("", "fim.completion.disabledFor names python", False, ADVISED),
        ("", "in an empty text", False, ADVISED),
        ("", "before the body of a block", False, ADVISED),
        ("", "private: slow", False, "No suggestion while you type: because."),
    ],
)
def test_what_a_request_got(text: str, outcome: str, by_hand: bool, words: str) -> None:
    """Asking by hand is advised where it may help, and was not done."""
    assert report(text, outcome, "because", by_hand=by_hand) == words


@pytest.mark.parametrize("outcome", Outcome)
def test_asking_by_hand_is_advised_after_these_ends(outcome: Outcome) -> None:
    """Also where the name in `fim/stats` has the rule; and after no end whose name begins alike."""
    said = report("", outcome.value.format("late"), "because", by_hand=False)
    assert (said == ADVISED) == (outcome in ENDS_ONLY_WHILE_TYPING)
