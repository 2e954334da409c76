"""A session that is quiet: by hand everything works, and what became of suggestions is learned from."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fim_lsp.documents import Edit, Position, after, apply_edits, open_document
from fim_lsp.events import Snoozed
from fim_lsp.session.quietness import FILE, Exposure, Quietness
from fim_lsp.session.state.acceptance import Acceptance
from fim_lsp.session.state.state_file import forget
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import CompletionConfig, Config
from fim_lsp.suggest import worth
from fim_lsp.suggest.back_off import READ_S, Reaction
from fim_lsp.suggest.cursor import Candidate, Odds
from fim_lsp.suggest.request import CompletionRequest, request_at
from fim_lsp.suggest.worth import AGAIN, EARLY, Prospect, Record
from server_bridge.protocol import Health, State
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.typist import Typist

READY = State(Health.READY, "llama-server")
URI = "file:///a.py"


class Clocks:
    """Seconds, and the time on the wall."""

    def __init__(self) -> None:
        self.now, self.wall = 0.0, datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

    def quietness(self, folder: Path | None = None) -> Quietness:
        return Quietness(folder, lambda: self.now, lambda: self.wall)


def request(version: int = 1, *, invoked: bool = False, learn: bool = True) -> CompletionRequest:
    document = open_document(URI, "python", version, "x = ")
    config = Config(completion=CompletionConfig(learn=learn))
    return request_at(document, Position(0, 4), "a.py", config, READY, invoked=invoked)


PLACE = Prospect("python", 0.6, 8, 1, "x = ", 0.3)
UNSURE = Candidate("foo(", odds=(Odds(4, -1.0),))


def weigh(
    quiet: Quietness, request: CompletionRequest, *, goes_on: bool = False
) -> Exposure | None:
    return quiet.weigh(request, UNSURE, 0.3, so_far=False, goes_on=goes_on)


def ignore(quiet: Quietness, n: int, seconds: float = READ_S) -> None:
    """Suggestions that are shown for some time, and typed against."""
    for version in range(n):
        if exposure := weigh(quiet, request(version)):
            exposure.since -= seconds
            quiet.judge(exposure, Reaction.IGNORED)


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


def test_what_is_ignored_makes_the_next_ones_rarer() -> None:
    """They wait longer and some are hidden, for a while; one in some is shown all the same."""
    clocks = Clocks()
    quiet = clocks.quietness()
    assert quiet.wait_ms(50, request()) == 50
    ignore(quiet, 10 * AGAIN)
    assert quiet.n_hidden > AGAIN
    assert quiet.wait_ms(50, request()) > 50
    assert quiet.why().startswith("quiet: ")
    shown = [weigh(quiet, request(100 + n)) for n in range(AGAIN)]
    assert sum(map(bool, shown)) == 1
    clocks.now += 7200
    assert quiet.wait_ms(50, request()) == pytest.approx(50, abs=1)


def test_why_fades() -> None:
    """What was dismissed is no reason any more after an hour, nor once one was taken."""
    clocks = Clocks()
    quiet = clocks.quietness()
    for _ in range(3):
        quiet.judge(weigh(quiet, request()), Reaction.DISMISSED)
    assert quiet.why() == "quiet: 3 were dismissed"
    clocks.now += 3600
    assert quiet.why() == ""
    clocks.now -= 3600
    quiet.judge(weigh(quiet, request()), Reaction.ACCEPTED)
    assert quiet.why() == ""


@pytest.mark.parametrize("text", ["h)", "th)", "dth + height"])
def test_what_was_typed_along_counts_as_taken(text: str) -> None:
    """To its end, however short it is: the next one is likelier, and nothing is rarer."""
    clocks = Clocks()
    quiet = clocks.quietness()
    acceptance = Acceptance(Stats(), quiet)
    document, at = open_document(URI, "python", 1, "area(wi"), Position(0, 7)
    place = Prospect("python", 0.6, len(text), 1, "area(wi", 0.3)
    acceptance.offer(document, [("1", Edit(at, at, text))], Exposure(place, clocks.now))
    clocks.now += READ_S
    for key in text:
        edit = Edit(at, at, key)
        acceptance.follow(document, (edit,))
        document, at = apply_edits(document, [edit], 2), after(at, key)
    assert quiet.record.n == 1
    assert worth.expect(quiet.record, place) > worth.expect(Record(), place)
    assert quiet.why() == ""


def test_what_could_not_be_read_says_nothing() -> None:
    """Suggestions that flickered by hide no later one."""
    quiet = Clocks().quietness()
    ignore(quiet, 10 * AGAIN, 0.9 * READ_S)
    assert (quiet.record, quiet.why(), quiet.n_hidden) == (Record(), "", 0)


def test_by_hand_and_switched_off_nothing_is_hidden() -> None:
    """Nor does anything wait."""
    quiet = Clocks().quietness()
    ignore(quiet, 10 * AGAIN)
    for asked in (request(invoked=True), request(learn=False)):
        assert weigh(quiet, asked)
    assert quiet.wait_ms(50, request(learn=False)) == 50


def test_what_was_shown_in_part_is_shown() -> None:
    """The rest of an answer does not take back its beginning."""
    quiet = Clocks().quietness()
    ignore(quiet, 10 * AGAIN + 1)
    assert not weigh(quiet, request(500))
    assert weigh(quiet, request(500), goes_on=True)


def test_one_suggestion_is_judged_once() -> None:
    """Taking its first line is to take it, whatever becomes of the rest; one that is not on screen says nothing."""
    quiet = Clocks().quietness()
    exposure = weigh(quiet, request())
    quiet.judge(exposure, Reaction.ACCEPTED)
    quiet.judge(exposure, Reaction.IGNORED)
    assert quiet.record.n == 1
    assert quiet.why() == ""
    quiet.judge(None, Reaction.DISMISSED)
    quiet.judge(weigh(quiet, request(invoked=True)), Reaction.DISMISSED)
    assert quiet.record.n == 1


def test_the_record_is_kept_and_forgotten(tmp_path: Path) -> None:
    """In a private file; `fim-lsp forget` deletes it, also for a session that still runs."""
    quiet = Clocks().quietness(tmp_path)
    assert not quiet.write()
    assert not (tmp_path / FILE).exists()
    ignore(quiet, 20)
    assert not quiet.write()
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert Clocks().quietness(tmp_path).record == quiet.record
    assert "x = " not in (tmp_path / FILE).read_text()
    assert forget(tmp_path) > 0
    assert quiet.write()
    quiet.forget()
    assert not quiet.write()
    assert not (tmp_path / FILE).exists()
    assert quiet.record == Record()


HUGE = '{"n": 1%s, "start": %s, "weights": %s, "languages": {}}'


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"[" * 10_000,
        b'{"n": "x"}',
        b"\xff\xfe",
        (HUGE % ("0" * 309, [*worth.START], [*worth.START])).encode(),
        (HUGE % ("e999", [*worth.START], [*worth.START])).encode(),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, content: bytes) -> None:
    """It is begun again."""
    (tmp_path / FILE).write_bytes(content)
    (tmp_path / FILE).chmod(0o600)
    assert Clocks().quietness(tmp_path).record == Record()


async def test_the_status_says_once_that_it_is_quiet(open_session: OpenSession) -> None:
    """With how many were refused; and once that it is over, when one was taken."""
    session = open_session(Config(), FakeBackend(lambda prompt, n: "x"))
    told: list[str] = []
    session.on_status = lambda status: told.append(status.hidden)
    typist = Typist(session, "wi")
    await session.connection.wait_ready()
    ignore(session.quiet, 10)
    await typist.ask()
    assert not any(told)  # none was hidden yet
    ignore(session.quiet, EARLY)
    for key in "dth":
        typist.type(key)
        await typist.ask()
    assert [status for status in told if status] == [session.status().hidden]
    refused = session.quiet.record.n
    assert session.status().hidden == f"quiet: {refused:.0f} were typed against"
    session.quiet.judge(Exposure(PLACE, 0.0), Reaction.ACCEPTED)
    for key in " + ":
        typist.type(key)
        await typist.ask()
    assert told[-1] == session.status().hidden == ""
    assert [bool(status) for status in told].count(True) == 1
    ignore(session.quiet, 10 * AGAIN)
    weigh(session.quiet, request(learn=False))
    assert not session.quiet.hides


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
    assert (session.counters.answers[-1].outcome, backend.seen) == ("not now", [])
    assert await typist.ask(invoked=True)
    until = session.quiet.until
    session.handle(Snoozed(0))
    typist.type("d")
    assert await typist.ask()
    assert told[-2:] == [until, ""]
