"""A model for next edits behind the server: a scripted one for answers, llama.cpp for what an ask costs."""

from __future__ import annotations

import json
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.next_edit.edits import FinishedEdit, Lines
from fim_lsp.next_edit.formats import format_of, prompt_of
from fim_lsp.next_edit.window import ask, choose_shown
from tests.e2e.client import PATIENCE_S, Editor, at, insertion, wait_until
from tests.e2e.test_next_edit import COPILOT, A, inline_edits
from tests.llama_server import PROGRAM, llama_server
from tests.models import BUNDLED
from tests.real_code import LONG, read_code
from tests.server_bridge.recorder import Heard, events, recorder

TEXT = "first = one\nsecond = two\n"
LINES = 112
SERVER = (pytest.mark.server, pytest.mark.skipif(not PROGRAM, reason="run by scripts/test-server"))


class Scripted:
    """Answers every request with the same text, once it may, and keeps what it was asked."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def answer(self, heard: Heard) -> tuple[int, bytes]:
        self.asked.append(json.loads(heard.body))
        self.may_answer.wait(PATIENCE_S)
        return 200, events({"choices": [{"text": self.text, "finish_reason": "stop"}]})


@contextmanager
def scripted(text: str) -> Iterator[Scripted]:
    model = Scripted(text)
    with recorder(answer=model.answer) as server:
        model.url = server.url
        yield model


def started(editor: Editor, url: str) -> None:
    settings = {"nextEdit": {"server": {"model": "zeta-2", "url": url}}}
    editor.initialize(initializationOptions={"fim": settings})
    editor.open(A, TEXT)
    change(editor, 0, 3)


def change(editor: Editor, line: int, version: int, uri: str = A) -> None:
    """Write a number in place of the word."""
    editor.change(uri, version, insertion(line, 8, "1", end=(line, 11)))


def test_the_model_proposes_where_no_rule_does(editor: Editor) -> None:
    """In its format, one request for each finished edit, and it says so."""
    with scripted("first = 1\nsecond = 2\n") as server:
        started(editor, server.url)
        (item,) = inline_edits(editor)
        assert inline_edits(editor) == [item]
        assert item["text"] == "second = 2"
        assert item["why"] == "The model zeta-2 proposes it, after your last edits."
        (asked,) = server.asked
    assert asked["prompt"].endswith(
        "<filename>a.py\n<<<<<<< CURRENT\nfirst = 1<|user_cursor|>\nsecond = two\n\n=======\n<[fim-middle]>"
    )
    assert ">>>>>>> UPDATED" in asked["stop"]


def test_a_private_file_that_waits_for_the_model_is_not_sent(editor: Editor, tmp_path: Path):
    """Another file's question holds the connection; a rule names the file whose question waits behind it."""
    root = tmp_path / "work"
    root.mkdir()
    uris = [(root / name).as_uri() for name in ("main.py", "shop.py")]
    rules = root / ".gitignore"
    with scripted("first = 1\nsecond = 2\n") as server:
        server.may_answer.clear()
        model = {"model": "zeta-2", "url": server.url}
        fim = {"nextEdit": {"server": model}}
        editor.initialize(rootUri=root.as_uri(), initializationOptions={"fim": fim})
        asked = []
        for uri in uris:
            editor.open(uri, TEXT)
            change(editor, 0, 3, uri)
            asked.append(editor.ask(COPILOT, at(uri, 0, 0)))
            wait_until(lambda: bool(server.asked), "a request")
        time.sleep(0.5)
        rules.write_text("shop.py\n")
        changes = [{"uri": rules.as_uri(), "type": 1}]
        editor.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        assert "private" in editor.request("fim/why", {"uri": uris[1]})
        server.may_answer.set()
        assert [editor.answer(each).get("result") for each in asked][1] == {"edits": []}
        assert "shop.py" not in json.dumps(server.asked)


def test_no_server_no_edit(editor: Editor) -> None:
    """Then there are those of the rules only."""
    started(editor, "http://127.0.0.1:9")
    assert inline_edits(editor) == []


@pytest.mark.parametrize(
    "model",
    [pytest.param(name, marks=SERVER) for name in ("zeta-2", "zeta-2.1", "sweep-next-edit-1.5B")],
)
def test_an_ask_costs_little(model: str) -> None:
    """Sixteen edits down a real file, on a real llama.cpp: 260 evaluated tokens per ask at the median, at most."""
    costs = []
    with llama_server(BUNDLED, n_ctx=16384, n_parallel=1) as url:
        for prompt in prompts(model):
            body = {"prompt": prompt, "max_tokens": 1, "temperature": 0}
            data = json.dumps(body).encode()
            header = {"Content-Type": "application/json"}
            request = urllib.request.Request(f"{url}/v1/completions", data, header)
            with urllib.request.urlopen(request) as answer:
                costs.append(json.load(answer)["timings"]["prompt_n"])
    assert statistics.median(costs) <= 260, costs


def prompts(model: str) -> Iterator[str]:
    """One for each edit: sixteen lines of a file get a comment, from the top."""
    asked = format_of(model)
    uri = "file:///w/log.py"
    assert asked is not None
    lines: Lines = tuple(read_code(LONG).splitlines()[:LINES])
    edits: list[FinishedEdit] = []
    begin = None
    for n, line in enumerate(range(0, len(lines), LINES // 16)):
        after = (f"{lines[line]}  # {n}",)
        edits.append(FinishedEdit(uri, line, lines[line : line + 1], after, at=float(n)))
        lines = (*lines[:line], *after, *lines[line + 1 :])
        begin = choose_shown(edits, lines, begin)
        about = ask(edits, lines, {uri: "log.py"}, begin)
        prompt = prompt_of(asked, about) if about else None
        if prompt is not None:
            yield prompt
