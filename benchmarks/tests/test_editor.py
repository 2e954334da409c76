"""The simulated editor against a plain string, and the traces made with it."""

from __future__ import annotations

import random

import pytest

from benchmarks.editor import Editor
from benchmarks.traces import REQUESTS, TRACES, Trace, Typist, write
from fim_lsp.documents import Document, Position, apply_edits, open_document
from fim_lsp.events import Changed, Opened

URI = "file:///t.py"


def editor_with(text: str, *, auto_close: bool = False) -> Editor:
    editor = Editor(lambda _before, _key: 100.0, auto_close=auto_close)
    editor.open(URI, "python", text)
    return editor


def replay(steps: list) -> dict[str, Document]:
    """Return the documents that the events alone make."""
    documents: dict[str, Document] = {}
    for event in (event for step in steps for event in step.events):
        if isinstance(event, Opened):
            documents[event.uri] = open_document(*event)
        elif isinstance(event, Changed):
            documents[event.uri] = apply_edits(documents[event.uri], event.edits, event.version)
    return documents


@pytest.mark.parametrize(
    ("keys", "text", "column"),
    [
        ("foo(", "foo()", 4),
        ("foo()", "foo()", 5),
        ("foo('", "foo('')", 5),
        ("foo('a')", "foo('a')", 8),
        ("it's", "it's", 4),
        ('"""', '"""', 3),
        ("[(", "[()]", 2),
        ("[(\b", "[]", 1),
        ("[a\b\b", "", 0),
    ],
)
def test_pairs_close_by_themselves(keys: str, text: str, column: int) -> None:
    """Brackets and quotes are inserted in pairs; typing or erasing acts on both halves."""
    editor = editor_with("", auto_close=True)
    for key in keys:
        if key == "\b":
            editor.backspace()
        else:
            editor.key(key)
    assert (editor.document.text, editor.position.column) == (text, column)


@pytest.mark.parametrize("auto_close", [False, True])
@pytest.mark.parametrize("slips", [0.0, 0.3])
def test_written_lines_are_in_the_document(auto_close: bool, slips: float) -> None:
    """Lines are as intended, with automatic indentation, closers and slips on the way."""
    meant = ["def f(a, b='x'):", "    for x in (a[0], {1: 2}):", "", "        g(x,", "  y)", "h()"]
    editor = editor_with("", auto_close=auto_close)
    user = Typist(editor, random.Random(1), iter(()), [])
    for line in meant:
        write(user, line, slips=slips)
        editor.enter()
    written = [line.rstrip("\n").rstrip() for line in editor.document.lines]
    assert written[: len(meant)] == meant


def test_undo_and_redo_are_inverse() -> None:
    """Undoing everything gives the text there was, redoing everything the text there is."""
    editor = editor_with("one\ntwo\n", auto_close=True)
    editor.move(0, 3)
    for char in " (a, b)":
        editor.key(char)
    editor.enter()
    editor.accept("three = 3\nfour = 4")
    editor.select(Position(0, 0), Position(0, 3))
    editor.key("z")
    end = editor.document.text
    for _ in range(20):
        editor.undo()
    assert editor.document.text == "one\ntwo\n"
    for _ in range(20):
        editor.redo()
    assert editor.document.text == end


@pytest.mark.parametrize("name", TRACES)
def test_a_trace_is_complete_and_the_same_every_time(name: str) -> None:
    """Long enough, repeatable, and the events alone tell where every cursor stands."""
    trace: Trace = TRACES[name]()
    assert trace == TRACES[name]()
    assert trace.n_asks >= REQUESTS
    documents = replay(trace.steps)
    assert len(documents) == 2 if name in ("files", "mix") else 1
    seen: dict[str, Document] = {}
    for n, step in enumerate(trace.steps):
        for event in step.events:
            if isinstance(event, Opened):
                seen[event.uri] = open_document(*event)
            elif isinstance(event, Changed):
                seen[event.uri] = apply_edits(seen[event.uri], event.edits, event.version)
        assert seen[step.uri].clamp(step.position) == step.position, (n, step)
