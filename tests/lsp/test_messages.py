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
from tests.clock import on_clock

TOY = State(Health.READY, "embedded", model="fim-tiny-q8_0.gguf")
REAL = State(Health.READY, "llama-server", "http://127.0.0.1:8012", "qwen2.5-coder-1.5b")
AWAY = State(Health.DOWN, "llama-server", message="cannot connect")


@pytest.fixture
def messages() -> Messages:
    return Messages(LanguageServer("fim-lsp", "0", types.NotebookDocumentSyncOptions([])))


@pytest.fixture
def shown(messages: Messages, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []
    show = lambda params: texts.append(params.message)  # noqa: E731
    monkeypatch.setattr(messages._server, "window_show_message", show)
    return texts


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ([TOY, REAL], []),
        ([replace(TOY, message="it is gone")] * 2, ["it is gone"]),
        ([REAL, TOY, TOY], ["the bundled model"]),
        ([REAL, TOY, REAL, TOY], ["the bundled model", "the bundled model"]),
        ([REAL, AWAY, TOY], ["cannot connect", "the bundled model"]),
    ],
)
async def test_falling_back_is_said_once(
    messages: Messages, shown: list[str], states: list[State], said: list[str]
) -> None:
    """A real model that goes away is told of when the bundled one takes over, and only then."""
    for state in states:
        messages.show_status(SessionStatus(state), notify=False)
    assert all(part in text for part, text in zip(said, shown, strict=True))


def test_many_problems_are_one_message(messages: Messages, shown: list[str], caplog):
    """The first few, each once, on one line without links; the others are in the log, a line each."""
    for _ in range(2):
        messages.show_problems([f"{n} [x](command:y)\ny{'z' * 400}" for n in range(30)])
    [message] = shown
    assert message.endswith("25 more in the log")
    assert message.isprintable()
    assert "](" not in message
    assert len(message) < 1200
    assert len(caplog.records) == 26  # the message, too


SLOW = replace(AWAY, message="/v1/completions took too long", cause="8012 too slow")
SLOW_TOO = replace(SLOW, message="/v1/models took too long")
OTHER = replace(SLOW, cause="8013 too slow")
# while another one starts the server is down, then the other one is ready
MEANWHILE = replace(REAL, message=f"{SLOW.message}; another is used meanwhile", cause=SLOW.cause)


@on_clock
async def test_a_cause_is_told_once_in_ten_minutes(messages: Messages, shown: list[str]) -> None:
    """In whatever words, and however often it was over; another cause or server is told at once."""
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


@pytest.mark.parametrize("wants", [True, False])
def test_a_first_look_is_told_to_those_who_want_it(messages: Messages, monkeypatch, *, wants: bool):
    """In seconds, as a number to draw and in the message; the model is not loading."""
    told: list[dict[str, object]] = []
    notify = lambda _, status: told.append(status)  # noqa: E731
    monkeypatch.setattr(messages._server.protocol, "notify", notify)
    messages.show_status(SessionStatus(REAL, look_s=6), notify=wants)
    assert [(each["firstLookS"], each["message"], each["busy"]) for each in told] == [
        (6, "first look: 6 s", False)
    ][:wants]


def test_a_busy_machine_is_told_and_no_trouble() -> None:
    """Answers come late, and come: since when is in the message, which is shown nowhere else."""
    assert [status(each)["bundled"] for each in (TOY, REAL)] == [True, False]
    told = status(replace(REAL, health=Health.BUSY, message="busy since 9:41"))
    assert (told["busy"], told["state"], told["kind"]) == (True, "busy", "Normal")
    assert (told["message"], told["trouble"]) == ("busy since 9:41", "")


@pytest.mark.parametrize(
    ("model", "message", "title"),
    [
        ("a.gguf", "", "Loading a.gguf"),
        ("", "", "Loading the model"),
        ("a.gguf", "measuring how many threads", "Measuring how many threads"),
    ],
)
def test_what_a_start_waits_for_is_said(
    messages: Messages, model: str, message: str, title: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the title of the progress."""
    begun: list[str] = []
    monkeypatch.setattr(messages, "_begin", lambda _, title: begun.append(title))
    state = State(Health.LOADING, "embedded", model=model, message=message)
    messages.show_status(SessionStatus(state), notify=False)
    assert begun == [title]
