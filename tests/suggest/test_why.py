"""Why a request got nothing: one value, made in one module."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.documents import Position, open_document
from fim_lsp.settings.config import CompletionConfig, Config
from fim_lsp.suggest import why
from fim_lsp.suggest.cursor import Candidate, FilterCut
from fim_lsp.suggest.reasons import ENDS_ONLY_WHILE_TYPING, End, Outcome
from fim_lsp.suggest.request import MENU, CompletionRequest, request_at
from server_bridge.protocol import BackendError, BackendTimeout, Health, State
from tests.test_tidy import parsed

PRODUCT = Path(why.__file__).parents[1]
READY = State(Health.READY, "llama-server", "http://127.0.0.1:8080", "qwen.gguf")
DOWN = State(Health.DOWN, "llama-server", message="nothing answers at http://127.0.0.1:8080")
TEXT = "def area(width):\n    return wi\n"
LONG = "x" * 100_000
OFF: dict[str, Any] = {"auto": False}
NOT_PYTHON: dict[str, Any] = {"disabled_for": ("python",)}
PRIVATE = why.why_hidden("*.pem", is_early=False)


def request(
    text: str = TEXT, *, invoked: bool = False, is_menu: bool = False, **wanted: Any
) -> CompletionRequest:
    document = open_document("file:///a.py", "python", 1, text)
    config = dataclasses.replace(Config(), completion=CompletionConfig(**wanted))
    here = Position(1, 13) if text is TEXT else Position(0, 1)
    client: dict[str, Any] = {"client": MENU} if is_menu else {}
    return request_at(document, here, "a.py", config, READY, invoked=invoked, **client)


@pytest.mark.parametrize(
    ("asked", "refusal", "is_snoozed", "deleted", "typed", "by_hand"),
    [
        (request(), None, False, False, None, None),
        (request(LONG, **OFF), PRIVATE, True, True, PRIVATE, PRIVATE),
        (request(LONG), why.LARGE, False, False, why.LARGE, why.LARGE),
        (request(LONG, **OFF), None, True, True, Outcome.LONG_LINE, Outcome.LONG_LINE),
        (request(**OFF, **NOT_PYTHON), None, True, True, Outcome.OFF, None),
        (request(**NOT_PYTHON), None, True, True, End(Outcome.DISABLED, "python"), None),
        (request(), None, True, True, Outcome.NOT_NOW, None),
        (request(), None, False, True, Outcome.AFTER_DELETION, None),
        (request("# a\n", quiet_in=("comment",)), None, False, False, Outcome.IN_COMMENT, None),
        (request("# a\n", quiet_in=()), None, False, False, Outcome.BEFORE_CODE, None),
        (request(" \n\n"), None, False, False, Outcome.EMPTY_TEXT, None),
        (request("ab\n"), None, False, False, Outcome.INSIDE_WORD, None),
        (request(":\n  a\n"), None, False, False, Outcome.BEFORE_BODY, None),
        (request("'a'\n", quiet_in=("string",)), None, False, False, Outcome.IN_STRING, None),
    ],
)  # fmt: skip
def test_the_first_rule_that_holds_says_why(
    asked: CompletionRequest, refusal: End | None, is_snoozed: bool, deleted: bool,
    typed: End | Outcome | None, by_hand: End | Outcome | None,
) -> None:  # fmt: skip
    """The document, then the line; by hand nothing else counts."""
    for invoked, expected in ((False, typed), (True, by_hand)):
        one = dataclasses.replace(asked, invoked=invoked)
        end = why.why_none(one, refusal, is_snoozed=is_snoozed, deleted=deleted)
        assert end == (End(expected) if isinstance(expected, Outcome) else expected)
        if end is not None and by_hand is None:
            assert end.outcome in ENDS_ONLY_WHILE_TYPING, "the user is not told to ask by hand"


def left(*cuts: str) -> Candidate:
    return Candidate("", cuts=tuple(FilterCut(cut, "adds an error") for cut in cuts))


@pytest.mark.parametrize(
    ("end", "key", "words"),
    [
        (PRIVATE, "private: *.pem", "the file is private, nothing of it is used (*.pem)"),
        (why.why_hidden("{}", is_early=True), "early: {}",
         "it is too early: whether the file is private is not known yet ({})"),
        (why.SUPERSEDED, "superseded", "the next key came before the answer"),
        (why.why_superseded("it was closed"), "superseded", "it was closed"),
        (why.end_with(Outcome.BACKEND, left("extent", "parses"), READY, is_shown=False),
         "parses", "the model's answer adds an error"),
        (why.end_with(Outcome.BACKEND, left("model"), READY, is_shown=False),
         "model", "the model wrote nothing here"),
        (why.end_with(Outcome.LOCAL, left("model"), DOWN, is_shown=False),
         "model", Outcome.LOCAL.words),
        (why.end_with(Outcome.CACHE, left(), READY, is_shown=False), "cache", Outcome.CACHE.words),
        (why.end_with(Outcome.BACKEND, left("extent"), READY, is_shown=True),
         "backend", "qwen.gguf (http://127.0.0.1:8080)"),
        (why.why_away(End(Outcome.LOCAL), DOWN), "local", DOWN.message),
        (why.why_away(End(Outcome.LOCAL), READY), "local", "the model is not ready yet"),
        (why.why_failed(BackendTimeout("slow"), request(), READY), "model failed", "slow"),
        (why.why_failed(BackendError(), request(), DOWN), "model failed", DOWN.message),
        (why.why_failed(BackendError(), request(), READY), "model failed", Outcome.NO_MODEL.words),
        (why.why_failed(KeyError("x"), request(), DOWN), "failed", Outcome.FAILED.words),
        (why.why_failed(TimeoutError(), request(is_menu=True), DOWN), "too late", DOWN.message),
        (why.why_failed(TimeoutError(), request(is_menu=True), READY),
         "too late", "the model server does not answer"),
    ],
)  # fmt: skip
def test_an_end_is_counted_by_its_name_and_told_in_words(end: End, key: str, words: str) -> None:
    """The name is a stable one of `fim/stats`; a rule, a server or an error has its own words."""
    assert (end.key, end.words) == (key, words)
    fails = ("model failed", "failed", "too late", "local")
    assert end.is_failure == (key in fails)


@pytest.mark.parametrize(
    ("outcome", "change", "words"),
    [
        (Outcome.LOCAL, {}, "a line in sight that begins as this one does"),
        (Outcome.BACKEND, {}, "qwen.gguf (http://127.0.0.1:8080)"),
        (Outcome.BACKEND, {"kind": "embedded"}, "qwen.gguf (on this machine)"),
        (Outcome.BACKEND, {"kind": "embedded", "model": "fim-tiny"},
         "fim-tiny (inside this package)"),
        (Outcome.BACKEND, {"model": ""}, "the model (http://127.0.0.1:8080)"),
    ],
)  # fmt: skip
def test_where_a_suggestion_comes_from(outcome: Outcome, change: dict[str, Any], words: str):
    """The model and its server, or no model at all."""
    assert why.source(outcome, dataclasses.replace(READY, **change)) == words


def test_an_end_is_made_in_one_module() -> None:
    """All others hand it on and read it: what a user is told has one origin."""
    makers = {
        path.relative_to(PRODUCT).as_posix()
        for path in PRODUCT.rglob("*.py")
        if "End(" in path.read_text("utf-8")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "End"
    }
    assert makers == {"suggest/why.py"}
