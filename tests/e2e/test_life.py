"""From the first message to the exit code, on a real process: what LSP says of a server's life."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.client import GHOST_TEXT, INLINE, Editor
from tests.e2e.forked import ROOT


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Editor]:
    """A server that is no copy of another process: it was started as editors start it."""
    editor = Editor(tmp_path / "home")
    yield editor
    editor.close()


def test_capabilities(started: Editor) -> None:
    """Ghost text is offered statically and non-empty; all we understand is in the answer."""
    capabilities = started.initialize()
    assert capabilities["inlineCompletionProvider"] == {"workDoneProgress": False}
    assert "completionProvider" not in capabilities
    assert capabilities["executeCommandProvider"]["commands"] == [
        f"fim.{name}"
        for name in (
            "didAcceptCompletionItem", "toggle", "status", "showContext", "openPage",
            "continueLong", "snooze", "resume", "didDismissCompletion", "why", "edit",
            "edit.prepare", "didApplyNextEdit", "applyNextEdit", "dismissNextEdit", "whyNextEdit",
        )
    ]  # fmt: skip
    kinds = {"openClose": True, "change": 2, "save": {"includeText": False}}
    assert capabilities["textDocumentSync"] == kinds
    started.finish()
    assert started.bye() == 0


@pytest.mark.parametrize(
    ("name", "capabilities", "fallback", "menu"),
    [
        ("Neovim", GHOST_TEXT, "auto", False),
        ("emacs", {"textDocument": {"inlineCompletion": None}}, "auto", False),
        ("Eglot", {}, "auto", True),
        ("helix", {}, "never", False),
        ("Visual Studio Code", GHOST_TEXT, "always", True),
    ],
)
def test_the_menu_is_for_editors_without_ghost_text(
    editor: Editor, name: str, capabilities: object, fallback: str, menu: bool
) -> None:
    """`textDocument/completion` is offered where there is nothing better, or as the user says."""
    options = {"completion": {"fallback": fallback}}
    offered = editor.initialize(
        clientInfo={"name": name}, capabilities=capabilities, initializationOptions=options
    )
    assert ("completionProvider" in offered) == menu
    assert "inlineCompletionProvider" in offered
    if menu:
        assert offered["completionProvider"]["resolveProvider"] is False


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["utf-32", "utf-8"], "utf-32"), (["utf-7"], "utf-16"), (None, "utf-16")],
)
def test_the_clients_first_encoding_is_taken(
    editor: Editor, offered: list[str] | None, chosen: str
) -> None:
    """And UTF-16 where it offers none that we know, as LSP says."""
    general = {} if offered is None else {"positionEncodings": offered}
    assert editor.initialize(capabilities={"general": general})["positionEncoding"] == chosen


def test_leaving_before_hello_is_1(editor: Editor) -> None:
    """`exit` without `shutdown` is an error, whenever it comes."""
    editor.notify("exit")
    assert editor.wait() == 1


@pytest.mark.parametrize("leave", [Editor.hang_up, Editor.terminate])
def test_a_lost_editor_is_1(editor: Editor, leave: Callable[[Editor], int]) -> None:
    """Stdin ends, or a signal comes: no process stays behind."""
    editor.initialize()
    editor.open("file:///a.py", "x = 1\n")
    assert leave(editor) == 1


def test_out_of_order_is_refused(editor: Editor) -> None:
    """Requests before `initialize` and after `shutdown` get errors."""
    assert editor.error("fim/stats") == -32002
    editor.initialize()
    editor.request("shutdown")
    assert editor.error("initialize", {"capabilities": {}}) == -32600
    assert editor.error("fim/stats") == -32600
    editor.notify("textDocument/didOpen")
    editor.notify("exit")
    assert editor.wait() == 0


DYNAMIC = {"dynamicRegistration": True}
ABLE = {"configuration": True, "didChangeConfiguration": DYNAMIC, "didChangeWatchedFiles": DYNAMIC}


def test_a_later_hello_gets_the_first_answer(editor: Editor) -> None:
    """jupyter-lsp hands on that of each window; it changes nothing, and registers nothing again."""
    hello: dict[str, object] = {"rootUri": None, "capabilities": {"workspace": ABLE}}
    first = editor.request("initialize", hello)
    editor.notify("initialized", {})
    editor.wait_for(lambda: bool(editor.questions(REGISTER)), "registrations")
    other = {**hello, "initializationOptions": {"fim": {"no": 1}}, "capabilities": GHOST_TEXT}
    assert editor.request("initialize", other) == first
    editor.notify("initialized", {})
    assert editor.request("fim/stats")
    assert len(editor.questions(REGISTER)) == 1
    assert editor.shown() == []


def test_leaving_without_asking_for_an_answer_is_0(editor: Editor) -> None:
    """Kate says `shutdown` as a notification, and `exit` at once."""
    editor.initialize()
    editor.notify("shutdown")
    editor.notify("exit")
    assert editor.wait() == 0
    assert editor.messages("window/logMessage") == []


REGISTER = "client/registerCapability"
SETTINGS = "workspace/configuration"


def test_a_client_that_answers_no_registration_says_its_settings(editor: Editor) -> None:
    """Else every document would stay private."""
    editor.unanswered.add(REGISTER)
    editor.configuration = {"no": 1}
    editor.initialize(capabilities={**GHOST_TEXT, "workspace": ABLE})
    editor.wait_for(lambda: bool(editor.shown()), "its settings to count")
    assert len(editor.questions(REGISTER)) == 1


def test_values_that_are_not_known_refuse_nothing(editor: Editor) -> None:
    """Qt Creator 20 names symbol tags of a later LSP, VS Code can trace compactly."""
    tags = {"documentSymbol": {"tagSupport": {"valueSet": [*range(1, 21)]}}}
    offered = editor.initialize(trace="compact", capabilities={"textDocument": tags})
    assert "completionProvider" in offered
    assert editor.request("fim/stats")


MALFORMED = [
    (INLINE, None, -32602),
    (INLINE, [1], -32602),
    (INLINE, {"textDocument": {"uri": 3}, "position": {"line": -1, "character": "x"}}, -32602),
    ("workspace/executeCommand", {"command": "no.such.command"}, -32602),
    ("workspace/executeCommand", {}, -32602),
    ("no/such/method", {"a": 1}, -32601),
]


def test_a_malformed_request_gets_one_error(editor: Editor) -> None:
    """The user sees nothing of it."""
    editor.initialize()
    for method, params, code in MALFORMED:
        assert editor.error(method, params) == code, (method, params)
    editor.finish()
    assert editor.messages("window/showMessage") == []


def test_nothing_heavy_is_imported_while_the_editor_waits() -> None:
    """Start-up is imports; these come when they are needed, after the answer to `initialize`."""
    code = "import sys, fim_lsp.lsp.run, server_bridge.bridge; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    # tree_sitter without a grammar is a millisecond
    assert not {"httpx", "tree_sitter_python", "xllamacpp"} & set(loaded.stdout.decode().split())


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_closed_error_output_is_none(tmp_path: Path) -> None:
    """Launchers close what they do not read: the server runs, and its log is lost."""
    params: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}
    said: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": params},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **each}) for each in said]
    sent = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    shell = ["sh", "-c", 'exec "$0" -m fim_lsp --stdio 2>&-', sys.executable]
    env = {**os.environ, "HOME": str(tmp_path)}
    pipe = subprocess.PIPE
    with subprocess.Popen(shell, cwd=ROOT, env=env, stdin=pipe, stdout=pipe) as ran:
        assert ran.stdin is not None
        assert ran.stdout is not None
        ran.stdin.write(sent.encode())
        ran.stdin.flush()  # a client that has left gets no answer on a busy machine
        assert b'"capabilities"' in ran.stdout.read()
    assert ran.returncode == 0
