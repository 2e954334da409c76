"""How a request ended, in words for the user."""

from __future__ import annotations

import pytest

from fim_lsp.session.stats import Answer
from fim_lsp.suggest.reasons import TOY, Outcome, notice, reason, report, source

READY = {
    "state": "ready", "ready": True, "kind": "llama-server", "model": "qwen.gguf",
    "url": "http://127.0.0.1:8080",
}  # fmt: skip
OURS = {"kind": "embedded", "bundled": True}
DOWN = {"state": "down", "message": "nothing answers at http://127.0.0.1:8080"}


@pytest.mark.parametrize(
    ("outcome", "backend", "words"),
    [
        (Outcome.PRIVATE, READY, "the file is private, nothing of it is used (*.{a,b})"),
        (Outcome.NO_MODEL, DOWN, DOWN["message"]),
        (Outcome.NO_MODEL, {"state": "ready", "ready": True}, "the model server could not answer"),
        (Outcome.FAILED, READY, Outcome.FAILED.words),
        (Outcome.MODEL, {"state": "busy", "ready": True}, "the model wrote nothing here"),
        (Outcome.MODEL, DOWN, Outcome.LOCAL.words),
        (Outcome.LONG_LINE, READY, "the line is too long"),
    ],
)
def test_why_there_is_nothing(outcome: Outcome, backend: dict[str, str], words: str) -> None:
    """A place, the model or the lack of one; some name the rule that says so."""
    assert reason(outcome, "*.{a,b}", backend) == words


@pytest.mark.parametrize(
    ("outcome", "rule", "key"),
    [
        (Outcome.SUPERSEDED, "", "superseded"),
        (Outcome.PRIVATE, "it matches *.{a,b}", "private: it matches *.{a,b}"),
        (Outcome.DISABLED, "{}", "fim.completion.disabledFor names {}"),
    ],
)
def test_an_outcome_is_counted_by_its_name(outcome: Outcome, rule: str, key: str) -> None:
    """And by the rule that says so: the names of `fim/stats` are stable."""
    assert Answer([], outcome, rule).key == key


@pytest.mark.parametrize(
    ("outcome", "backend", "words"),
    [
        (Outcome.LOCAL, READY, "a line in sight that begins as this one does"),
        (Outcome.BACKEND, READY, "qwen.gguf (http://127.0.0.1:8080)"),
        (Outcome.BACKEND, {**READY, "kind": "embedded"}, "qwen.gguf (on this machine)"),
        (Outcome.BACKEND, {**READY, **OURS}, "qwen.gguf (inside this package)"),
        (Outcome.BACKEND, {**READY, "model": ""}, "the model (http://127.0.0.1:8080)"),
    ],
)
def test_where_a_suggestion_comes_from(outcome: Outcome, backend: dict[str, str], words: str):
    """The model and its server, or no model at all."""
    assert source(outcome, backend) == words


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
        ("", "not sure", False, "No suggestion while you type: because. Ask by hand."),
        ("", "not sure", True, "No suggestion by hand: because."),
        ("", "superseded", False, "No suggestion while you type: because."),
    ],
)
def test_what_a_request_got(text: str, outcome: str, by_hand: bool, words: str) -> None:
    """Asking by hand is advised where it may help, and was not done."""
    assert report(text, outcome, "because", by_hand=by_hand) == words
