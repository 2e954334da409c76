"""What a session asks for and what that costs; on the backend without a model, and where the model matters on llama.cpp."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config, RingConfig
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.reasons import Outcome
from fim_lsp.suggest.request import request_at
from fim_lsp.workspace.paths import local_path
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend, BackendUnavailable, Health
from tests.asked import requests_to
from tests.fake_backend import FakeBackend
from tests.places import place
from tests.real_code import LONG, read_lines
from tests.session.conftest import OpenSession
from tests.typist import QUICK, ROOT, Typist

CODE = read_lines(LONG, 0, 310)
# Tokens: what was typed, and one a stream. The prompts have over a thousand; how it is split into requests differs.
FEW = 24
HALF = "\nclass Parser:\n    def __init__(self, na"  # the text goes on with `me`


def no_server() -> Backend:
    return open_backend(BackendSettings(kind="llama-server", url="http://127.0.0.1:9"))


async def test_a_place_looked_at_is_evaluated_before_the_first_key(open_session: OpenSession):
    """Who moves the cursor, looks for a moment and types waits for what was typed, not for the window."""
    session = open_session(Config())
    typist = Typist(session, CODE)
    await typist.ask(invoked=True)
    await session.wait_idle()
    typist.cursor = Position(40, len(typist.document.lines[40].rstrip("\n")))
    steps = typist.counted("warmSteps")
    looking = asyncio.create_task(typist.ask())
    while typist.counted("warmSteps") == steps or "prefill cursor" in session._lane._jobs:
        assert not looking.done()
        await asyncio.sleep(0)
    looking.cancel()
    assert await typist.cost("\n    total = pri") <= FEW


async def test_a_new_place_costs_a_small_window(session: Session) -> None:
    """Who jumps and types at once waits for a window of about 250 tokens, at every place."""
    typist = Typist(session, read_lines(LONG, 0, 900))
    await typist.ask()
    await session.wait_idle()
    for line in (700, 100, 710, 400):
        typist.cursor = Position(line, len(typist.document.lines[line].rstrip("\n")))
        assert await typist.cost("\n        total = pri") <= 330, line


async def test_typing_what_was_suggested_sends_no_request(session: Session) -> None:
    """The backend hears nothing while the suggestion on screen is typed, taken back and typed again."""
    typist = Typist(session, CODE + HALF)
    [suggestion] = await typist.ask(invoked=True)
    streams = typist.counted("streams")
    for key in suggestion.text[:4]:
        typist.type(key)
        await typist.ask(invoked=True)
    typist.backspace(2)
    [again] = await typist.ask(invoked=True)
    assert again.text == suggestion.text[2:]
    assert typist.counted("streams") == streams


async def test_a_closing_bracket_of_the_editor_moves_nothing(session: Session) -> None:
    """Auto-closed pairs right of the cursor cost no token."""
    typist = Typist(session, CODE + "\ndef main():\n    print")
    await typist.ask(invoked=True)
    await session.wait_idle()
    typist.type("()")
    typist.cursor = typist.cursor._replace(column=typist.cursor.column - 1)
    assert await typist.cost(invoked=True) <= FEW


async def test_a_selected_menu_entry_is_extended(open_session: OpenSession) -> None:
    """With `selectedCompletionInfo`, the suggestion begins with the entry's text."""
    session = open_session(backend=FakeBackend(lambda _, __: "(prog)\n"))
    typist = Typist(session, CODE + "\ndef main():\n    parser = Arg")
    at = typist.cursor
    selected = Edit(at._replace(column=at.column - 3), at, "ArgumentParser")
    [suggestion] = await typist.ask(invoked=True, selected=selected)
    assert suggestion.text == "ArgumentParser(prog)"
    assert suggestion.start == selected.start


async def test_an_unknown_document_gets_nothing(session: Session) -> None:
    """A request for a text that was never opened is answered, with nothing."""
    answer = await session.complete("file:///nowhere.py", Position(3, 3), invoked=True)
    assert (answer.suggestions, answer.end.words) == ([], "the file is not open")


async def test_without_a_backend_the_session_lives_and_recovers(open_session: OpenSession) -> None:
    """Events are kept while the backend is down; once it is there, completions come."""
    now = [no_server()]
    session = open_session(Config(), lambda: now[0])
    told: list[str] = []
    session.on_status = lambda status: told.append(status.state.health.value)
    typist = Typist(session, CODE + HALF)
    assert await typist.ask() == []
    await session.connection.wait_ready(0.01)
    assert session.connection.state.health is Health.DOWN
    assert await typist.ask() == []
    now[0] = FakeBackend()
    session.connection.reopen()
    assert await typist.ask(invoked=True)
    assert [health for health in told if health != "loading"] == ["down", "ready"]


async def test_prompts_name_the_repository_and_the_path_within(session: Session) -> None:
    """The model sees `shop` and `app/cart.py`, nothing of the user's folders."""
    typist = Typist(session, "x = 1\n")
    sent = requests_to(session.connection.backend)
    await typist.ask(invoked=True)
    assert (sent[0].prompt.repo, sent[0].prompt.path) == ("shop", "app/cart.py")
    assert "home" not in repr(sent)


async def test_a_document_that_is_opened_again_begins_from_nothing(session: Session) -> None:
    """Closed, it gets no answer; opened again, its answer is the model's, not one that was kept."""
    typist = Typist(session, CODE + HALF)
    [before] = await typist.ask(invoked=True)
    session.handle(events.Closed(typist.uri))
    assert await typist.ask(invoked=True) == []
    streams = typist.counted("streams")
    [after] = await Typist(session, CODE + HALF).ask(invoked=True)
    assert after.text == before.text
    assert typist.counted("streams") == streams + 1


async def test_what_follows_a_suggestion_is_there_when_it_is_accepted(session: Session) -> None:
    """While a suggestion is on screen the next one is decoded: accepting it costs no wait."""
    typist = Typist(session, CODE + HALF)
    [suggestion] = await typist.ask()
    await session.wait_idle()
    typist.accept(suggestion)
    completions = typist.counted("completions")
    requests = typist.counted("requests")
    await typist.ask()
    assert typist.counted("completions") == completions
    assert typist.counted("requests") == requests + 1


@pytest.mark.parametrize(
    ("before", "quiet_in", "asks"),
    [
        ("x = 1  # a re", (), True),
        ("# a re", ("comment",), False),
        ("x = 'a re", ("string",), False),
        ("x = f'a {re", ("comment", "string"), True),
        ("re", ("comment", "string"), True),
    ],
)
async def test_comments_and_strings_may_be_left_alone(
    before: str, quiet_in: tuple[str, ...], asks: bool, open_session: OpenSession
) -> None:
    """Automatic suggestions stay out of the places the user names; by hand they come everywhere."""
    completion = dataclasses.replace(QUICK.completion, quiet_in=quiet_in)
    quiet = open_session(dataclasses.replace(QUICK, completion=completion))
    typist = Typist(quiet, CODE + "\n" + before)
    await typist.ask()
    assert (typist.counted("completions") > 0) is asks


async def test_what_a_project_sets_counts_in_its_folder(open_session: OpenSession) -> None:
    """Of two folders in a window, one wants no suggestions in Python and a small ring."""
    roots = [place("one"), place("two")]
    completion = dataclasses.replace(QUICK.completion, disabled_for=("python",))
    own = dataclasses.replace(QUICK, completion=completion, ring=RingConfig(chunks=2))
    projects = ((str(local_path(roots[1])), own),)
    session = open_session(dataclasses.replace(QUICK, projects=projects))
    session.handle(events.FoldersChanged(tuple(roots)))
    told = []
    for uri in (f"{root}/a.py" for root in roots):
        session.handle(events.Opened(uri, "python", 1, CODE + HALF))
        last = CODE.count("\n") + HALF.count("\n")
        at = Position(last, len(HALF.rpartition("\n")[2]))
        answer = await session.complete(uri, at, invoked=False)
        told.append((bool(answer.suggestions), session.config_of(uri).ring.chunks))
    assert told == [(True, QUICK.ring.chunks), (False, 2)]


class Stumbling(FakeBackend):
    """An engine that takes a moment to start, and does not at the first attempt, or never."""

    def __init__(self, kind: str, n_failures: int) -> None:
        super().__init__()
        self.left = n_failures
        self.state = dataclasses.replace(self.state, kind=kind, health=Health.LOADING)

    async def connect(self) -> FakeBackend:
        await asyncio.sleep(0)
        self.left -= 1
        health = Health.READY if self.left < 0 else Health.DOWN
        self.state = dataclasses.replace(self.state, health=health)
        if self.left >= 0:
            raise BackendUnavailable("it did not start")
        return self


@pytest.mark.parametrize(
    ("kind", "n_failures", "n_texts"),
    [("embedded", 0, 1), ("embedded", 1, 1), ("embedded", 99, 0), ("llama-server", 1, 0)],
)
async def test_an_engine_that_starts_is_waited_for(
    kind: str, n_failures: int, n_texts: int, open_session: OpenSession
) -> None:
    """Until the deadline, also where the first start failed: the first key of a session has an answer."""
    completion = dataclasses.replace(QUICK.completion, deadline_ms=1000)
    backend = Stumbling(kind, n_failures)
    session = open_session(dataclasses.replace(QUICK, completion=completion), backend)
    assert len(await Typist(session, CODE + HALF).ask()) == n_texts


async def test_without_a_backend_lines_in_sight_are_offered(open_session: OpenSession) -> None:
    """What stands in another open file and begins as what is typed is a suggestion without any model."""
    alone = open_session(backend=no_server())
    Typist(alone, "import os\nlogging.getLogger(__name__).setLevel(1)\n", f"{ROOT}/app/log.py")
    typist = Typist(alone, "import sys\nlogging.getL")
    [suggestion] = await typist.ask()
    assert suggestion.text == "ogger(__name__).setLevel(1)"
    assert typist.counted("outcomes", "local") == 1


@pytest.mark.parametrize(
    ("texts", "offered"),
    [
        (["dth", "de", "dth  "], ["dth", "de"]),  # equal behind the filters: the greedy one counts
        (["dth", "dth", "de"], ["dth", "de"]),
        (["", "de"], ["de"]),
    ],
)
async def test_the_greedy_candidate_stays_first(
    session: Session, texts: list[str], offered: list[str]
) -> None:
    """Alternatives follow in the order they came, none twice."""
    typist = Typist(session, "def area(width):\n    return wi")
    request = request_at(
        typist.document, typist.cursor, "a.py", QUICK, session.connection.state, invoked=True
    )
    doc = session._open.by_uri[typist.uri]
    candidates = [Candidate(text) for text in texts]
    answer = session._completer._polish(request, doc, Outcome.BACKEND, candidates)
    assert [suggestion.text for suggestion in answer.suggestions] == offered
