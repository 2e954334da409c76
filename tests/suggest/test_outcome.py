"""How a request ended, in words for the user."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.reasons import BY_HAND, ENDS, FILTERED, TOY, notice, reason, report, source

READY = {
    "state": "ready",
    "kind": "llama-server",
    "model": "qwen.gguf",
    "url": "http://127.0.0.1:8080",
}
DOWN = {"state": "down", "message": "nothing answers at http://127.0.0.1:8080"}


@pytest.mark.parametrize(
    ("outcome", "backend", "words"),
    [
        (
            "private: it is ignored",
            READY,
            "the file is private, nothing of it is used (it is ignored)",
        ),
        ("model failed", DOWN, DOWN["message"]),
        ("model failed", {"state": "ready"}, "the model server could not answer"),
        ("failed", READY, ENDS["failed"]),
        ("model", READY, ENDS["model"]),
        ("model", DOWN, ENDS["local"]),
        ("unfinished", READY, FILTERED["unfinished"]),
        ("superseded", READY, ENDS["superseded"]),
        ("of a newer version", READY, "of a newer version"),
    ],
)
def test_why_there_is_nothing(outcome: str, backend: dict[str, str], words: str) -> None:
    """A filter, a place, the model or the lack of one; an end without words of its own is shown as it is."""
    assert reason(outcome, backend) == words


@pytest.mark.parametrize(
    ("outcome", "backend", "words"),
    [
        ("local", READY, "a line in sight that begins as this one does"),
        ("backend", READY, "qwen.gguf (http://127.0.0.1:8080)"),
        ("backend", {**READY, "kind": "embedded"}, "qwen.gguf (inside this package)"),
        ("backend", {**READY, "model": ""}, "the model (http://127.0.0.1:8080)"),
    ],
)
def test_where_a_suggestion_comes_from(outcome: str, backend: dict[str, str], words: str) -> None:
    """The model and its server, or no model at all."""
    assert source(outcome, backend) == words


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (READY, ""),
        ({**READY, "model": "fim-tiny-q8_0.gguf"}, TOY),
        ({**READY, "model": "fim-tiny-q8_0.gguf", "message": "x is gone"}, "x is gone"),
        ({"state": "loading"}, "the model is still loading"),
        (DOWN, DOWN["message"]),
        ({"state": "down"}, "the model server is down"),
    ],
)
def test_what_else_is_to_be_known(backend: dict[str, str], words: str) -> None:
    """Of a model that is no real one, or is not there."""
    assert notice(backend) == words


@pytest.mark.parametrize(
    ("text", "outcome", "by_hand", "words"),
    [
        ("me)", "backend", False, "'me)', by because"),
        ("", "not sure", False, "nothing: because; ask by hand"),
        ("", "not sure", True, "nothing: because"),
        ("", "superseded", False, "nothing: because"),
    ],
)
def test_what_a_request_got(text: str, outcome: str, by_hand: bool, words: str) -> None:
    """Asking by hand is advised where it may help, and was not done."""
    assert report(text, outcome, "because", by_hand=by_hand) == words


def test_each_end_that_asks_for_a_hand_has_words() -> None:
    """An end that is renamed in one table only would lose its hint."""
    assert ENDS.keys() | FILTERED.keys() >= BY_HAND
    assert not ENDS.keys() & FILTERED.keys()
