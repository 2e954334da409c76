"""A session that is quiet: by hand everything works, and after refusals suggestions come later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fim_lsp.documents import Edit, Position, after, apply_edits, open_document
from fim_lsp.events import Dismissed, Snoozed
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import Config
from fim_lsp.suggest.back_off import READ_S, Reaction
from fim_lsp.suggest.request import Suggestion
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.typist import Typist

USUAL_MS = 50.0


class Clocks:
    """Seconds, and the time on the wall."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wall = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

    def quietness(self) -> Quietness:
        return Quietness(lambda: self.now, lambda: self.wall)


class Screen:
    """A document in which `TEXT` is suggested behind what is typed."""

    TEXT = "dth + height"

    def __init__(self) -> None:
        self.clocks = Clocks()
        self.quiet = self.clocks.quietness()
        self._acceptance = Acceptance(Stats(), self.quiet)
        self._document = open_document("file:///a.py", "python", 1, "wi")
        self._at = Position(0, 2)

    def offer(self, text: str = TEXT, *, by_itself: bool = True) -> None:
        suggestion = Suggestion("1", self._at, self._at, text)
        self._acceptance.offer(self._document, [suggestion], by_itself=by_itself)

    def type(self, text: str) -> None:
        edit = Edit(self._at, self._at, text)
        self._acceptance.follow(self._document, (edit,))
        self._document = apply_edits(self._document, [edit], self._document.version + 1)
        self._at = after(self._at, text)

    def dismiss(self) -> None:
        self._acceptance.dismiss()

    @property
    def wait_ms(self) -> float:
        return self.quiet.wait_ms(USUAL_MS, "normal")


@pytest.mark.promise("odd-input")
def test_a_snooze_ends_by_the_wall_clock() -> None:
    """The user is told until when; by hand all goes on; 0 ends it at once."""
    clocks = Clocks()
    quiet = clocks.quietness()
    assert quiet.until == ""
    quiet.snooze(10)
    assert quiet.until == f"{(clocks.wall + timedelta(minutes=10)).astimezone():%H:%M}"
    assert quiet.is_snoozed
    clocks.wall += timedelta(minutes=10)
    assert (quiet.until, quiet.is_snoozed) == ("", False)
    quiet.snooze(10)
    clocks.wall -= timedelta(days=3)  # the clock was set back
    assert quiet.remaining_s == 600
    assert quiet.until == f"{(clocks.wall + timedelta(minutes=10)).astimezone():%H:%M}"
    quiet.snooze(1e9)
    assert quiet.remaining_s == 24 * 3600
    quiet.snooze(0)
    assert quiet.remaining_s == 0


def test_after_refusals_suggestions_come_later() -> None:
    """For a while, and until one was taken; the user is told why."""
    screen = Screen()
    assert (screen.wait_ms, screen.quiet.why()) == (USUAL_MS, "")
    for _ in range(3):
        screen.offer()
        screen.dismiss()
        screen.clocks.now += READ_S
        screen.type("x")
    assert screen.wait_ms > 3 * USUAL_MS
    assert screen.quiet.why() == "quiet: 3 were dismissed"
    assert screen.quiet.snapshot() == {"until": "", "rarer": 3.37, "why": screen.quiet.why()}
    screen.clocks.now = 7200
    assert screen.wait_ms == pytest.approx(USUAL_MS, abs=1)
    assert screen.quiet.why() == ""
    screen.clocks.now = 0
    screen.offer()
    screen.type(Screen.TEXT)
    assert screen.quiet.why() == ""


@pytest.mark.parametrize("text", ["h)", "th)", "dth + height"])
def test_what_was_typed_along_counts_as_taken(text: str) -> None:
    """To its end, however short it is: what was refused before is no reason any more."""
    screen = Screen()
    screen.quiet.note_reaction(Reaction.DISMISSED, 0.0)
    screen.offer(text)
    screen.clocks.now = READ_S
    for key in text:
        screen.type(key)
    assert screen.quiet.why() == ""


@pytest.mark.parametrize(("seconds", "why"), [(0.9, ""), (1.1, "quiet: 9 were typed against")])
def test_what_could_not_be_read_says_nothing(seconds: float, why: str) -> None:
    """Suggestions that flickered by delay no later one."""
    screen = Screen()
    for _ in range(9):
        screen.offer()
        screen.clocks.now += seconds * READ_S
        screen.type("x")
    assert screen.quiet.why() == why


def test_one_suggestion_has_one_reaction() -> None:
    """Taking its first word is to take it, whatever becomes of the rest; one asked for by hand says nothing."""
    screen = Screen()
    screen.offer()
    screen.type("dth")
    screen.clocks.now += READ_S
    screen.type("x")
    screen.dismiss()  # nothing is on screen
    screen.offer(by_itself=False)
    screen.dismiss()
    screen.type("x")
    assert (screen.wait_ms, screen.quiet.why()) == (USUAL_MS, "")


async def test_a_session_waits_longer(open_session: OpenSession) -> None:
    """After dismissals; what was asked for by hand and dismissed changes nothing."""
    session = open_session(Config(), FakeBackend(lambda prompt, n: "dth"))
    typist = Typist(session, "def area(width):\n    return wi")
    await session.connection.wait_ready()
    for invoked, why in ((True, ""), (False, "quiet: 1 was dismissed")):
        assert await typist.ask(invoked=invoked)
        session.handle(Dismissed(typist.uri))
        assert session._quiet.why() == why
        typist.type("dth + wi")


async def test_not_now(open_session: OpenSession) -> None:
    """The backend is not asked, and next edits stay away; by hand both come; the client hears of the beginning and the end."""
    backend = FakeBackend(lambda prompt, n: "dth")
    session = open_session(Config(), backend)
    told: list[str] = []
    session.on_status = lambda status: told.append(status.quiet_until)
    typist = Typist(session, "def area(width):\n    return wi")
    await session.connection.wait_ready()
    session.handle(Snoozed(10))
    assert await typist.ask() == []
    assert (session._counters.answers[-1].outcome, backend.seen) == ("not now", [])
    assert await typist.ask(invoked=True)
    until = session._quiet.until
    session.handle(Snoozed(0))
    typist.type("d")
    assert await typist.ask()
    assert told[-2:] == [until, ""]
