"""Commit messages: what a session shows a model of a real repository, and what it makes of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config, PrivacyConfig
from server_bridge.protocol import Prompt, Reply, Request
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.workspace.git_repos import commit, git

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
FILES = {
    "cart.py": "total = 1  # PUBLIC\n",
    ".env": "KEY=CANARY_env\n",
    "drafts/plan.py": "CANARY_draft = 1\n",
    ".fimignore": "drafts/\n",
    "excluded.py": "CANARY_excluded = 1\n",
    "key.py": f"token = '{SECRET}'\n",
}
MESSAGE = "\n# Please enter the commit message for your changes. CANARY_comment\n"
SAID = "cart: count the items"


Begin = Callable[..., "Work"]


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a repository in which private files are staged, too."""
    top = tmp_path / "shop"
    top.mkdir()
    git("init", "-q", cwd=top)
    commit(top, "till: ring")
    for name, text in FILES.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    git("add", "--force", ".", cwd=top)
    return top


class Work:
    """A session with the message of *top*, open from the first question on, on *backend*."""

    def __init__(self, top: Path, session: Session, backend: FakeBackend) -> None:
        self.session, self.backend = session, backend
        self.top, self.uri = top, (top / ".git/COMMIT_EDITMSG").as_uri()
        self.session.handle(events.FoldersChanged((top.as_uri(),)))

    reason = ""

    def open(self, text: str) -> None:
        self.session.handle(events.Closed(self.uri))
        self.session.handle(events.Opened(self.uri, "gitcommit", 1, text))

    async def ask(self, line: int = 0, column: int = 0, *, invoked: bool = False) -> list[str]:
        if self.session.document(self.uri) is None:
            self.open(MESSAGE)
        answer = await self.session.complete(self.uri, Position(line, column), invoked=invoked)
        self.reason = answer.reason
        return [suggestion.text for suggestion in answer.suggestions]

    @property
    def seen(self) -> str:
        return repr([request.prompt for request in self.backend.seen])


@pytest.fixture
def begin(top: Path, open_session: OpenSession) -> Begin:
    """Begins work on a backend that says a text, or goes on with what is typed of it."""

    def begin(completion: CompletionConfig | None = None, said: str = SAID) -> Work:
        def rest(prompt: Prompt, _: int) -> str:
            typed = prompt.middle + prompt.forced
            return said.removeprefix(typed) if said.startswith(typed) else "and so on"

        privacy = PrivacyConfig((*Config().privacy.exclude, "excluded.py"))
        config = Config(completion=completion or CompletionConfig(), privacy=privacy)
        backend = FakeBackend(rest)
        return Work(top, open_session(config, backend), backend)

    return begin


@pytest.fixture
async def work(begin: Begin) -> Work:
    return begin()


async def test_a_subject_from_what_is_staged(work: Work) -> None:
    """On the empty first line; the model sees the public files, the last subjects and no secret."""
    assert await work.ask() == [SAID]
    assert "PUBLIC" in work.seen
    assert "till: ring" in work.seen
    assert "REDACTED" in work.seen
    assert "CANARY" not in work.seen
    assert SECRET[:12] not in work.seen


async def test_a_subject_is_written_once_the_message_opens(work: Work) -> None:
    """The user reads git's comments first; the request finds it written."""
    work.open(MESSAGE)
    async with asyncio.timeout(60):
        while not work.backend.seen:
            await asyncio.sleep(0.01)
    assert await work.ask() == [SAID]
    assert len(work.backend.seen) == 1


async def test_typing_while_a_subject_is_written_ahead(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that the user begins takes the place of the one written ahead, and is suggested."""
    backend, begun, goes_on = work.backend, asyncio.Event(), asyncio.Event()
    stream = backend.stream

    async def halting(request: Request) -> AsyncGenerator[Reply, None]:
        async for reply in stream(request):
            yield reply
            begun.set()
            await goes_on.wait()

    monkeypatch.setattr(backend, "stream", halting)
    work.open(MESSAGE)
    await begun.wait()
    start = Position(0, 0)
    work.session.handle(events.Changed(work.uri, 2, (Edit(start, start, "fix: this "),)))
    asking = asyncio.create_task(work.ask(0, 10, invoked=True))
    async with asyncio.timeout(60):
        while sum(task.get_name() == "commit message" for task in asyncio.all_tasks()) < 2:
            await asyncio.sleep(0.01)
    goes_on.set()
    assert await asking == ["and so on"]


async def test_a_subject_that_failed_is_asked_for_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the failure is a bug of ours: it is told once, and the next request is served."""

    def fail(request: Request) -> AsyncGenerator[Reply, None]:
        raise ZeroDivisionError

    with monkeypatch.context() as context:
        context.setattr(work.backend, "stream", fail)
        assert await work.ask(invoked=True) == []
        assert "log" in work.reason
    assert await work.ask(invoked=True) == [SAID]


async def test_a_diff_in_the_message(work: Work) -> None:
    """That of `git commit --verbose` is taken, by the same rules; the rest of the message is not."""
    diff = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1 @@\n+{text}"
        for name, text in {**FILES, "cart.py": "total = 'AMENDED'\n"}.items()
    )
    scissors = "# ------------------------ >8 ------------------------\n"
    work.open(f"{MESSAGE}{scissors}# CANARY_scissors\n{diff}")
    assert await work.ask() == [SAID]
    assert "AMENDED" in work.seen
    assert "PUBLIC" not in work.seen
    assert "CANARY" not in work.seen
    assert SECRET[:12] not in work.seen


async def test_the_message_is_in_no_other_prompt(work: Work) -> None:
    """A request in a file of the repository, with the message open beside it, shows nothing of it."""
    work.open("CANARY_subject = area(\n" + MESSAGE)
    await work.ask(0, len("CANARY_subject = area("))
    work.backend.seen.clear()
    uri = (work.top / "cart.py").as_uri()
    work.session.handle(events.Opened(uri, "python", 1, "CANARY = 1\nx = CANARY_s"))
    await work.session.complete(uri, Position(1, 12), invoked=True)
    await work.session.wait_idle()
    assert work.backend.seen
    assert "CANARY_subject" not in work.seen
    assert "till: ring" not in work.seen
    assert "private" in (await work.session.report(work.uri)).note


async def test_typing_along_asks_once(work: Work) -> None:
    """What agrees with the subject that is known gets its rest; another beginning is asked for."""
    await work.ask()
    work.open("cart: cou" + MESSAGE)
    assert await work.ask(0, 9) == ["nt the items"]
    assert len(work.backend.seen) == 1
    work.open("fix: this " + MESSAGE)
    assert await work.ask(0, 10) == ["and so on"]
    assert len(work.backend.seen) == 2


async def test_a_request_that_was_cancelled_is_joined(work: Work) -> None:
    """A key that agrees takes up what is being written."""
    first = asyncio.create_task(work.ask())
    while not work.backend.seen:
        await asyncio.sleep(0)
    first.cancel()
    work.open("c" + MESSAGE)
    assert await work.ask(0, 1) == [SAID[1:]]
    assert len(work.backend.seen) == 1


@pytest.mark.parametrize(
    ("message", "line", "column"),
    [
        (MESSAGE, 1, 0),
        ("a subject\n\n\n# on\n", 2, 0),
        ("a subject\n", 0, 2),
        ("# on main\n", 0, 9),
    ],
)
async def test_only_at_the_end_of_the_first_line(
    work: Work, message: str, line: int, column: int
) -> None:
    """Elsewhere nothing comes, not even by hand, and the reason is given."""
    work.open(message)
    assert await work.ask(line, column, invoked=True) == []
    assert "first line" in work.reason
    assert work.backend.seen == []


@pytest.mark.parametrize("off", [{"disabled_for": ("gitcommit",)}, {"auto": False}])
async def test_switched_off(begin: Begin, off: dict[str, Any]) -> None:
    """By language or as a whole: then by hand only."""
    work = begin(CompletionConfig(**off))
    assert await work.ask() == []
    await asyncio.sleep(0.1)
    assert work.backend.seen == []
    assert await work.ask(invoked=True) == [SAID]


async def test_nothing_that_may_be_shown(work: Work) -> None:
    """With private files only, and with none, there is no subject, and the reason is given."""
    git("rm", "-q", "--cached", "cart.py", "key.py", ".fimignore", cwd=work.top)
    assert await work.ask() == []
    assert "nothing is staged" in work.reason
    (work.top / ".fimignore").write_text("COMMIT_EDITMSG\n")
    git("add", "-f", "cart.py", cwd=work.top)
    assert await work.ask() == []
    assert "the commit message is private" in work.reason
    assert work.backend.seen == []


async def test_a_diff_that_does_not_fit(work: Work) -> None:
    """Less of it is shown until the prompt fits, and a text of another model's context is no error."""
    (work.top / "long.py").write_text("".join(f"name_{n} = {n}\n" for n in range(4000)))
    git("add", "long.py", cwd=work.top)
    work.backend.state = replace(work.backend.state, n_ctx=900, prefill_per_s=9e9)
    assert await work.ask() == [SAID]
    assert "name_7" in work.seen


async def test_an_earlier_subject_is_not_said_again(work: Work, begin: Begin) -> None:
    """Another answer is asked for, and if all are earlier subjects, the reason is given."""
    work.backend._says = lambda _, sample: "till: open" if sample else "till: ring"
    assert await work.ask() == ["till: open"]
    work = begin(said="till: ring")
    work.open("t" + MESSAGE)
    assert await work.ask(0, 1) == []
    assert "repeats" in work.reason
    assert len(work.backend.seen) == 3


async def test_for_a_repository(work: Work) -> None:
    """Without a message: for what is staged now, and behind what is typed."""
    assert await work.session.write_commit_message(work.top, "cart: ") == ("count the items", "")
    nowhere = await work.session.write_commit_message(work.top.parent, "")
    assert nowhere == ("", "there is no git repository")
    git("reset", "-q", cwd=work.top)
    assert (await work.session.write_commit_message(work.top, ""))[1] == (
        "nothing is staged: stage something first"
    )
