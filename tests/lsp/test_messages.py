"""States of the backend, one after the other, into what the user is shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from fim_lsp.lsp.convert import status
from fim_lsp.lsp.messages import Messages
from fim_lsp.lsp.rpc import LanguageServer, types
from fim_lsp.session.connection import SessionStatus
from server_bridge.protocol import Health, State
from tests.clock import run

TOY = State(Health.READY, "embedded", model="fim-tiny-q8_0.gguf")
REAL = State(Health.READY, "llama-server", "http://127.0.0.1:8012", "qwen2.5-coder-1.5b")
AWAY = State(Health.DOWN, "llama-server", message="cannot connect")


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([TOY], []),
        ([REAL], []),
        ([TOY, REAL], []),
        ([REAL, TOY], ["the bundled model"]),
        ([REAL, TOY, TOY], ["the bundled model"]),
        ([REAL, TOY, REAL, TOY], ["the bundled model", "the bundled model"]),
        ([REAL, AWAY, TOY], ["cannot connect", "the bundled model"]),
    ],
)
async def test_falling_back_is_said_once(
    states: list[State], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real model that goes away is told of when the bundled one takes over, and only then."""
    server = LanguageServer("fim-lsp", "0", types.NotebookDocumentSyncOptions([]))
    shown: list[types.ShowMessageParams] = []
    monkeypatch.setattr(server, "window_show_message", shown.append)
    messages = Messages(server)
    for state in states:
        messages.show_status(SessionStatus(state), notify=False)
    assert len(shown) == len(said)
    assert all(part in params.message for part, params in zip(said, shown, strict=True))


SLOW = replace(AWAY, message="/v1/completions took too long", cause="8012 too slow")
SLOW_TOO = replace(SLOW, message="/v1/models took too long")
OTHER = replace(SLOW, cause="8013 too slow")
# while another one starts the server is down, then the other one is ready
MEANWHILE = replace(REAL, message=f"{SLOW.message}; another is used meanwhile", cause=SLOW.cause)


def test_a_cause_is_told_once_in_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever words, and however often it was over; another cause or server is told at once."""
    server = LanguageServer("fim-lsp", "0", types.NotebookDocumentSyncOptions([]))
    shown: list[str] = []
    monkeypatch.setattr(server, "window_show_message", lambda params: shown.append(params.message))
    messages = Messages(server)

    async def work() -> None:
        for _ in range(84):
            for state in (SLOW, REAL, SLOW_TOO, MEANWHILE):
                messages.show_status(SessionStatus(state), notify=False)
            await asyncio.sleep(7)
        assert shown == [SLOW.message]
        for state in (AWAY, OTHER, SLOW):
            messages.show_status(SessionStatus(state), notify=False)
        assert shown == [SLOW.message, AWAY.message, SLOW.message]
        await asyncio.sleep(12)
        messages.show_status(SessionStatus(SLOW_TOO), notify=False)
        assert shown[3:] == [SLOW_TOO.message]

    run(work(), monkeypatch)


@pytest.mark.parametrize("wants", [True, False])
def test_a_first_look_is_told_to_those_who_want_it(
    monkeypatch: pytest.MonkeyPatch, *, wants: bool
) -> None:
    """In seconds, as a number to draw and in the message; the model is not loading."""
    server = LanguageServer("fim-lsp", "0", types.NotebookDocumentSyncOptions([]))
    told: list[dict[str, object]] = []
    monkeypatch.setattr(server.protocol, "notify", lambda _, status: told.append(status))
    Messages(server).show_status(SessionStatus(REAL, look_s=6), notify=wants)
    assert [(each["firstLookS"], each["message"], each["busy"]) for each in told] == [
        (6, "first look: 6 s", False)
    ][:wants]


def test_a_busy_machine_is_told_and_no_trouble() -> None:
    """Answers come late, and come: since when is in the message, which is shown nowhere else."""
    told = status(replace(REAL, health=Health.BUSY, message="busy since 9:41"))
    assert (told["busy"], told["state"], told["kind"]) == (True, "busy", "Normal")
    assert (told["message"], told["trouble"]) == ("busy since 9:41", "")
    told = status(replace(REAL, health=Health.LOADING))
    assert (told["busy"], told["state"]) == (True, "loading")


@pytest.mark.parametrize(
    ("model", "message", "title"),
    [
        ("a.gguf", "", "Loading a.gguf"),
        ("", "", "Loading the model"),
        (
            "a.gguf",
            "measuring how many threads are fastest",
            "Measuring how many threads are fastest",
        ),
    ],
)
def test_what_a_start_waits_for_is_said(
    model: str, message: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the title of the progress."""
    messages = Messages(LanguageServer("fim-lsp", "0", types.NotebookDocumentSyncOptions([])))
    begun: list[str] = []
    monkeypatch.setattr(messages, "_begin", lambda _, title: begun.append(title))
    state = State(Health.LOADING, "embedded", model=model, message=message)
    messages.show_status(SessionStatus(state), notify=False)
    assert begun == [title]
