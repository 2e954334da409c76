"""The engine of an editor, as the program sees it that would use it: which announcement counts, and what is said there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from server_bridge.http import listener
from server_bridge.http.listener import Listener
from server_bridge.lent_engine import LentEngine
from server_bridge.machine import announcements
from server_bridge.protocol import (
    BackendUnavailable,
    BackendUnusable,
    Health,
    Request,
    Sink,
    State,
)
from tests.llama_server import free_port
from tests.models import BUNDLED
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import recorder

REQUEST = Request(short("    def "), n_predict=4)
READY = {"health": "ready", "kind": "embedded", "model": BUNDLED.name, "n_ctx": 4096}
HERE = {"/state": json.dumps({"state": READY, "result": None}).encode()}


def announce(folder: Path, url: str, model: Path = BUNDLED) -> Path:
    """Announce an engine as an editor does."""
    path = announcements.announce(folder, url, "secret", announcements.describe_file(model))
    assert path is not None
    return path


async def refused(folder: Path, model: Path = BUNDLED) -> None:
    engine = LentEngine(folder, model)
    with pytest.raises(BackendUnavailable):
        await engine.connect()
    await engine.aclose()


async def test_an_announced_engine_is_used_with_its_key(tmp_path: Path) -> None:
    """Its state is the editor's, under a name of its own, and asked for in short requests."""
    with recorder(answer=HERE) as editor:
        announce(tmp_path, editor.url)
        engine = LentEngine(tmp_path, BUNDLED)
        state = (await engine.connect()).state
        await engine.aclose()
    assert editor.heard == [("GET", "/state", b"", "Bearer secret")]
    assert state == State(
        Health.READY, "editor", editor.url, BUNDLED.name, n_ctx=4096, streams=False
    )


async def test_another_model_is_not_used(tmp_path: Path) -> None:
    """A file of the same name in another folder, or one that has changed; nothing is asked."""
    other = tmp_path / BUNDLED.name
    other.write_bytes(b"GGUF")
    with recorder(answer=HERE) as editor:
        announce(tmp_path / "lent", editor.url, other)
        await refused(tmp_path / "lent")
        other.write_bytes(b"GGUF, longer")
        await refused(tmp_path / "lent", other)
    assert editor.heard == []


async def test_a_model_that_is_not_there_is_left_to_our_own_engine(tmp_path: Path) -> None:
    """Which says so, and how to fix it."""
    with recorder(answer=HERE) as editor:
        announce(tmp_path, editor.url)
        await refused(tmp_path, tmp_path / "none.gguf")
    assert editor.heard == []


@pytest.mark.parametrize(
    "answer",
    [{}, {"/state": b"<html>"}, {"/state": b"{}"}, {"/state": b'{"state": {"health": 3}}'}],
)
async def test_what_a_killed_editor_left_is_taken_away(
    tmp_path: Path, answer: dict[str, bytes]
) -> None:
    """Nothing listens there, or something else does, which gets no code."""
    gone = announce(tmp_path, f"http://127.0.0.1:{free_port()}")
    with recorder(answer=answer) as another:
        taken = announce(tmp_path, another.url)
        await refused(tmp_path)
    assert not gone.exists()
    assert not taken.exists()
    assert not [heard for heard in another.heard if heard[0] == "POST"]


@pytest.mark.skipif(os.name != "posix", reason="modes are Unix's")
async def test_what_others_could_have_written_is_not_believed(tmp_path: Path) -> None:
    """A file that other users can read may be theirs; the port that it names is not asked."""
    with recorder(answer=HERE) as editor:
        announce(tmp_path, editor.url).chmod(0o644)
        await refused(tmp_path)
    assert editor.heard == []


async def test_a_listener_of_another_user_gets_neither_key_nor_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have taken the port of an editor that ended."""
    monkeypatch.setattr(listener, "listener", lambda _: Listener(False, (1,)))
    with recorder(answer=HERE) as strange:
        announce(tmp_path, strange.url)
        await refused(tmp_path)
    assert strange.heard == []


async def test_an_editor_that_uses_another_server_now_is_left_alone(tmp_path: Path) -> None:
    """It is there, so its announcement stays."""
    with recorder(answer={"/state": b'{"error": "the editor has no such engine now"}'}) as editor:
        path = announce(tmp_path, editor.url)
        await refused(tmp_path)
    assert path.exists()


async def test_what_an_editor_does_not_lend(tmp_path: Path) -> None:
    """Long texts, other programs' requests, and its saved states."""
    engine = LentEngine(tmp_path, BUNDLED)
    for refusing in (
        engine.continue_long(REQUEST.prompt, 8, Sink.PROMPT),
        engine.forward("/completion", b"{}"),
    ):
        with pytest.raises(BackendUnusable):
            await anext(refusing)
    assert (await engine.save(REQUEST.prompt), await engine.restore(REQUEST.prompt)) == (0, 0)
