"""How settings reach a real server, and what the user hears of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.client import EMBEDDED, INLINE, Editor, at, wait_until


def capacity(editor: Editor) -> int:
    """Return the ring's size, which `fim/stats` tells and every source can set."""
    return int(editor.request("fim/stats")["ring"]["capacity"])


def wait_for_capacity(editor: Editor, chunks: int) -> None:
    """The answer to the server's question takes effect some messages later."""
    wait_until(lambda: capacity(editor) == chunks, "the settings")


def test_every_source_is_heard_and_the_last_wins(editor: Editor, tmp_path: Path) -> None:
    """User's file, project's file, options at start, pulled settings, changed settings."""
    user = tmp_path / "home/fim-lsp/config.toml"
    project = tmp_path / "shop"
    user.parent.mkdir(parents=True)
    project.mkdir()
    user.write_text("[ring]\nchunks = 1\nchunkLines = 8\n", "utf-8")
    (project / ".fim-lsp.toml").write_text(
        "ring.chunks = 40\nbackend.url = 'http://evil'\n", "utf-8"
    )
    editor.configuration = {"ring": {"chunks": 3}}
    editor.initialize(
        capabilities={"workspace": {"configuration": True}},
        workspaceFolders=[{"uri": project.as_uri(), "name": "shop"}],
        initializationOptions={"fim": {"ring": {"chunks": 2}}},
    )
    editor.wait_for(lambda: bool(editor.asked), "a question for settings")
    assert editor.asked[0]["params"] == {"items": [{"section": "fim"}]}
    wait_for_capacity(editor, 3)
    changed = {"settings": {"fim": {"ring": {"chunks": 4}}}}
    editor.notify("workspace/didChangeConfiguration", changed)
    assert capacity(editor) == 4
    editor.configuration = {"ring": {"chunks": 5}}  # VS Code says that something changed, not what
    editor.notify("workspace/didChangeConfiguration", {"settings": None})
    wait_for_capacity(editor, 5)
    (project / ".fim-lsp.toml").write_text("ring.chunks = 2\n", "utf-8")
    saved = {"uri": (project / ".fim-lsp.toml").as_uri()}
    editor.notify("textDocument/didSave", {"textDocument": saved})
    wait_for_capacity(editor, 2)
    (warning, *_) = editor.messages("window/showMessage")
    assert ".fim-lsp.toml: line 2: a project may not set fim.backend.url" in warning["message"]


def test_problems_are_told_once(editor: Editor) -> None:
    """One calm message per problem, however often settings are sent; code that leaves unencrypted is one."""
    backend = {"kind": "magic", "url": "http://192.0.2.1:8012"}
    wrong = {"settings": {"fim": {"ring": {"chunk": 1}, "backend": backend}}}
    editor.initialize()
    for _ in range(3):
        editor.notify("workspace/didChangeConfiguration", wrong)
    assert capacity(editor) == 16
    (message,) = editor.messages("window/showMessage")
    assert message["type"] == 2
    assert "did you mean fim.ring.chunks?" in message["message"]
    assert "fim.backend.kind must be one of auto" in message["message"]
    assert "192.0.2.1 unencrypted" in message["message"]


def test_status_is_told_to_those_who_want_it(editor: Editor, tmp_path: Path) -> None:
    """`didChangeStatus` is opt-in; a state the user must know comes as one message, too."""
    file = tmp_path / "fim.log"
    log = {"file": str(file), "level": "info"}
    options = {"status.notify": True, "backend.kind": "openai", "log": log}
    editor.initialize(initializationOptions=options)
    editor.open("file:///a.py", "\n")
    editor.wait_for(lambda: bool(editor.messages("window/showMessage")), "the message")
    (status,) = editor.messages("didChangeStatus")
    assert status["kind"] == "Error"
    assert editor.shown() == [status["message"]] == [status["trouble"]]
    assert editor.request("fim/status") == status
    assert editor.bye() == 0
    assert status["message"] in file.read_text("utf-8")


@pytest.mark.parametrize("method", ["textDocument/didSave", "textDocument/didClose"])
def test_what_is_saved_in_the_editor_is_read_again(editor: Editor, tmp_path: Path, method: str):
    """The project's settings, however their URI is spelled, the user's own, and rules of privacy."""
    user = tmp_path / "home/fim-lsp/config.toml"
    project = tmp_path / "shop/.fim-lsp.toml"
    user.parent.mkdir(parents=True)
    project.parent.mkdir()
    editor.initialize(rootUri=project.parent.as_uri())
    assert capacity(editor) == 16
    user.write_text("ring.chunks = 9\n", "utf-8")
    editor.notify(method, {"textDocument": {"uri": user.as_uri()}})
    wait_for_capacity(editor, 9)
    project.write_text("ring.chunks = 2\n", "utf-8")
    editor.notify(method, {"textDocument": {"uri": project.as_uri().replace("/.", "/%2E")}})
    wait_for_capacity(editor, 2)
    project.unlink()
    event = {"uri": project.as_uri(), "type": 3}
    editor.notify("workspace/didChangeWatchedFiles", {"changes": [event]})
    wait_for_capacity(editor, 9)
    a = project.with_name("a.py")
    rules = project.with_name(".gitignore")
    a.write_text("x = 1\n", "utf-8")
    editor.open(a.as_uri(), "x = 1\n")
    editor.open(rules.as_uri(), "", "ignore")
    assert "private" not in str(editor.command("fim.showContext", a.as_uri())["note"])
    rules.write_text("a.py\n", "utf-8")
    editor.notify(method, {"textDocument": {"uri": rules.as_uri()}})
    assert "private" in str(editor.command("fim.showContext", a.as_uri())["note"])


def test_settings_written_beside_the_editor_are_found(editor: Editor, tmp_path: Path) -> None:
    """`fim-lsp setup` in a terminal needs no restart: the next suggestions are by the new settings."""
    editor.initialize(initializationOptions=EMBEDDED)
    editor.open("file:///a.py", "def area(width, height):\n    return wi\n")
    user = tmp_path / "home/fim-lsp/config.toml"
    user.parent.mkdir(parents=True, exist_ok=True)
    user.write_text("ring.chunks = 7\n", "utf-8")

    def new_capacity() -> bool:
        editor.request(INLINE, at("file:///a.py", 1, 13))
        return capacity(editor) == 7

    wait_until(new_capacity, "the new settings")


def test_the_log_is_no_other_file(editor: Editor, tmp_path: Path) -> None:
    """A file that is not a log stays as it is, and the user hears of it."""
    file = tmp_path / "bashrc"
    file.write_text("alias ls=ls\n", "utf-8")
    editor.initialize(initializationOptions={"log": {"file": str(file)}, "x\ny": 1})
    said = " ".join(editor.shown())
    assert "is not a log of fim-lsp" in said
    assert editor.bye() == 0
    assert file.read_text("utf-8") == "alias ls=ls\n"
