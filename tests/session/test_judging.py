"""Which verdict counts, and what one does: the disk answers when the test says."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session import judging
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.session import Session
from fim_lsp.session.state import verdicts
from fim_lsp.session.state.model_view import Verdict
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.state_file import SavedWorkspace
from fim_lsp.session.state.verdicts import Judged, Verdicts
from fim_lsp.session.state.workspaces import OUTSIDE
from fim_lsp.settings.config import BackendConfig, Config, PrivacyConfig
from fim_lsp.workspace import paths
from fim_lsp.workspace.ignore_files import UNSURE
from tests import lost_exceptions
from tests.typist import ROOT, wait_judged

pytestmark = pytest.mark.promise("rules-act-at-once")

URI = f"{ROOT}/a.py"
OTHER = f"{ROOT}/b.py"
TEXT = "def area(width, height):\n    return width * height\n"


class Disk:
    """It gives verdicts one by one; *n_forgotten* counts ends of the engine."""

    def __init__(self, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session = session
        self.looks = list[asyncio.Future[str]]()
        self.n_forgotten = 0
        monkeypatch.setattr(session._open.workspaces.verdicts, "find", self._find)
        monkeypatch.setattr(session.connection, "forget", self._forget)

    async def _find(self, *_: object) -> Judged:
        self.looks.append(asyncio.get_running_loop().create_future())
        return Judged(await self.looks[-1])

    def _forget(self) -> None:
        self.n_forgotten += 1

    async def open(self, uri: str = URI) -> OpenDocument:
        n_before = len(self.looks)
        self.session.handle(events.Opened(uri, "python", 1, TEXT))
        await self.until(n_before + 1)
        return self.session._open.by_uri[uri]

    async def until(self, n_looks: int) -> None:
        while len(self.looks) < n_looks:
            await asyncio.sleep(0)

    async def say(self, why: str) -> None:
        """Answer the newest look."""
        self.looks[-1].set_result(why)
        await self.rest()

    async def rest(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


@pytest.fixture
async def disk(session: Session, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Disk]:
    session.handle(events.FoldersChanged((ROOT,)))
    disk = Disk(session, monkeypatch)
    yield disk
    for look in disk.looks:
        look.cancel()


async def test_a_verdict_by_older_rules_does_not_count(disk: Disk) -> None:
    """The document is judged once more, and private until then."""
    doc = await disk.open()
    disk.session.handle(events.RulesChanged())
    await disk.say("")
    assert doc.view.verdict is Verdict.UNJUDGED
    await disk.until(2)
    await disk.say("")
    assert doc.current is not None


async def test_a_verdict_on_what_was_closed_does_not_count(disk: Disk) -> None:
    """Nothing of it is remembered."""
    doc = await disk.open()
    disk.session.handle(events.Closed(URI))
    await disk.say("")
    assert doc.current is None
    assert not doc.workspace.memory.knows(URI)


async def test_nothing_is_judged_after_the_end(disk: Disk) -> None:
    """A request that waits for a verdict ends at once, and a later one does not begin to wait."""
    judging = disk.session._judging
    await disk.open()
    disk.session.handle(events.RulesChanged())  # is looked at later
    waits = [asyncio.create_task(judging.wait_judged(URI, invoked=True))]
    await disk.rest()
    await judging.aclose()
    disk.session.handle(events.Opened(OTHER, "python", 1, TEXT))
    waits.append(asyncio.create_task(judging.wait_judged(OTHER)))
    await disk.rest()
    assert [task.done() for task in waits] == [True, True]
    assert "judge" not in {task.get_name() for task in asyncio.all_tasks()}
    assert len(disk.looks) == 1


UNNAMED = f"{paths.UNNAMED}a.py"


@pytest.mark.parametrize(
    ("uri", "host", "is_private"),
    [(UNNAMED, "llm.corp", True), (UNNAMED, "127.0.0.1", False), (URI, "llm.corp", False)],
)
async def test_a_text_without_a_name_is_shown_to_this_machine_only(
    uri: str, host: str, *, is_private: bool
) -> None:
    """It is not known which file it is from, and so not whether that is private."""
    config = Config(backend=BackendConfig(url=f"http://{host}:8012"))
    found = await Verdicts(lambda: (ROOT,)).find(uri, [TEXT], config)
    assert bool(found.why) is is_private


async def test_what_could_not_be_judged_is_judged_at_the_next_request(disk: Disk) -> None:
    """A fault of ours, or of the disk."""
    doc = await disk.open()
    disk.looks[-1].set_exception(ZeroDivisionError())
    await wait_judged(disk.session)
    assert doc.view.verdict is Verdict.UNJUDGED
    asked = asyncio.create_task(disk.session.complete(URI, Position(1, 4), invoked=True))
    await disk.until(2)
    await disk.say("")
    await asked
    assert doc.current is not None


@pytest.mark.parametrize("used", ["no", "remembered", "saved"])
async def test_the_engine_forgets_what_it_may_have_seen(disk: Disk, used: str) -> None:
    """In the ring, or in what an earlier session saved, and nothing else."""
    doc = await disk.open()
    if used == "remembered":
        await disk.say("")
        disk.session.handle(events.RulesChanged())
        await disk.until(2)
    elif used == "saved":
        place: object = None
        doc.workspace.note_saved(SavedWorkspace(documents={URI: place}))  # type: ignore[dict-item]
    await disk.say("it matches .gitignore")
    await wait_judged(disk.session)
    assert doc.view.verdict is Verdict.PRIVATE
    assert disk.n_forgotten == (used != "no")
    with pytest.raises(Withdrawn, match="private"):
        await disk.session._judging.admit(URI)


@pytest.mark.parametrize("hangs", ["it", "another of its folder", "one elsewhere"])
async def test_a_request_waits_for_what_its_prompt_may_hold(disk: Disk, hangs: str, monkeypatch):
    """For the verdict on itself, for a moment for another in its folder, and for no other."""
    monkeypatch.setattr(judging, "LIMIT_S", 0.3)
    monkeypatch.setattr(judging, "SOON_S", 0.1)
    uri = {"it": URI, "another of its folder": OTHER}.get(hangs, "file:///elsewhere/c.py")
    if hangs != "it":
        await disk.open()
        await disk.say("")
    await disk.open(uri)
    loop = asyncio.get_running_loop()
    began = loop.time()
    await asyncio.wait_for(disk.session._judging.wait_judged(URI), 5.0)  # not as long as by hand
    took = loop.time() - began
    least = {"it": 0.25, "another of its folder": 0.05}.get(hangs, 0.0)
    assert took >= least
    assert len(disk.looks) == 1 + (hangs != "it")  # none was begun twice


@pytest.mark.parametrize(
    "event", [events.RulesChanged(), events.FoldersChanged((f"{ROOT}/app",))], ids=["rules", "root"]
)
async def test_many_documents_take_turns(disk: Disk, monkeypatch, event: events.Event):
    """What has all judged begins a few looks, the one asked for next, and reads no URI again."""
    monkeypatch.setattr(judging, "TURN_S", 60.0)
    monkeypatch.setattr(judging, "RING_S", 0.0)
    monkeypatch.setattr(judging, "CALM_S", 0.0)
    uris = [f"{ROOT}/app/{n}.py" for n in range(200)]
    for uri in uris:
        disk.session.handle(events.Opened(uri, "python", 1, TEXT))
    await disk.until(judging.AT_ONCE)
    n_read = paths._split_uri.cache_info().misses
    n_tasks = len(asyncio.all_tasks())
    disk.session.handle(event)
    await disk.rest()
    assert len(disk.looks) == judging.AT_ONCE
    assert len(asyncio.all_tasks()) <= n_tasks + 2  # an audit, and what is remembered
    asked = asyncio.create_task(disk.session._judging.wait_judged(uris[-1]))
    await disk.rest()
    disk.session.handle(events.Closed(uris[0]))
    disk.looks[0].set_result("")
    await disk.rest()
    assert len(disk.looks) == judging.AT_ONCE + 1
    await disk.say("")
    assert disk.session._open.by_uri[uris[-1]].current is not None
    assert paths._split_uri.cache_info().misses <= n_read + 1  # that of the folder
    asked.cancel()


async def test_documents_of_one_folder_share_its_workspace(session: Session) -> None:
    """Where the editor closes the root of more folders than are kept with nothing open."""
    session.handle(events.FoldersChanged((ROOT,)))
    for n in range(4 * OUTSIDE):
        session.handle(events.Opened(f"{ROOT}/{n % (2 * OUTSIDE)}/{n}.py", "python", 1, TEXT))
    session.handle(events.FoldersChanged(()))
    await wait_judged(session)
    assert len({doc.workspace for doc in session._open}) == 2 * OUTSIDE
    assert {*session._workspaces} >= {doc.workspace for doc in session._open}


async def test_what_is_not_open_is_admitted_nowhere(disk: Disk) -> None:
    """And nothing is looked at for it."""
    with pytest.raises(Withdrawn, match="not open"):
        await disk.session._judging.admit(URI)
    assert not disk.looks


async def test_the_looks_end_with_the_session(disk: Disk) -> None:
    """However long the disk takes."""
    await disk.open()
    [look] = disk.session._judging._looks.values()
    await disk.session._judging.aclose()
    assert look.ended.cancelled()


async def test_what_settings_may_hide_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """While they are not known."""
    monkeypatch.delattr(verdicts, "in_disk_thread")
    config = Config(privacy=PrivacyConfig(unknown="late"))
    assert (await Verdicts(lambda: (ROOT,)).find(URI, (), config)).why == f"{UNSURE}: late"


def test_what_is_kept_of_no_file_goes(tmp_path: Path) -> None:
    """What cannot be judged stays: it is in no prompt, and may be public."""
    (tmp_path / "a.py").touch()
    file = (tmp_path / "a.py").as_uri()
    other = "git:/w/a.py"
    late = PrivacyConfig(unknown="late")
    assert Verdicts(lambda: ()).list_private({file, other}, late) == {other}


@pytest.mark.parametrize(
    "event", [events.RulesChanged(), events.FoldersChanged((f"{ROOT}/app",))], ids=["rules", "root"]
)
async def test_many_documents_are_begun_in_slices(disk: Disk, monkeypatch, event: events.Event):
    """Between two the loop does other work, also where they are begun twice; none is shown yet."""
    monkeypatch.setattr(judging, "SLICE_S", -1.0)  # one document
    documents = [await disk.open(f"{ROOT}/app/{n}.py") for n in range(9)]
    for look in disk.looks:
        look.set_result("")
    await wait_judged(disk.session)
    looks = disk.session._judging._looks
    disk.session.handle(event)
    disk.session.handle(event)
    assert not any(doc.current for doc in documents)
    begun = [2]
    while begun[-1] < 9:
        begun.append(sum(doc.uri in looks for doc in documents))
        assert begun[-1] - begun[-2] <= 1
        await asyncio.sleep(0)


async def test_a_verdict_counts_in_the_folder_of_now(disk: Disk, monkeypatch: pytest.MonkeyPatch):
    """Also on a document of a later slice, which was looked at before the folders changed."""
    documents = [await disk.open(uri) for uri in (f"{ROOT}/app/a.py", f"{ROOT}/app/b.py")]
    monkeypatch.setattr(judging, "SLICE_S", -1.0)
    disk.session._judging._unbegun[documents[0]] = None  # as if it came: it never does
    disk.session.handle(events.FoldersChanged((f"{ROOT}/app",)))
    for n in range(1, 5):
        await disk.until(n)
        disk.looks[n - 1].set_result("")
        await disk.rest()
    assert [doc.current and doc.workspace.root for doc in documents] == [f"{ROOT}/app"] * 2


async def test_one_that_fails_leaves_the_others_to_be_begun(disk: Disk, monkeypatch):
    """In the first slice as in a later one, from the event and from the work that follows it."""
    monkeypatch.setattr(judging, "SLICE_S", -1.0)
    documents = [await disk.open(f"{ROOT}/{n}.py") for n in range(4)]
    for look in disk.looks:
        look.set_result("")
    await wait_judged(disk.session)
    place = disk.session._open.place

    def fail(uri: str) -> OpenDocument | None:
        if uri in (documents[0].uri, documents[2].uri):
            raise ZeroDivisionError
        return place(uri)

    disk.session._open.suspend()
    with monkeypatch.context() as patch:
        patch.setattr(disk.session._open, "place", fail)
        with pytest.raises(ZeroDivisionError):
            disk.session._judging.begin(documents)
        await disk.rest()
    assert {doc.uri for doc in documents[1::2]} <= {*disk.session._judging._looks}
    gc.collect()  # Python 3.12 frees the task only then
    lost_exceptions.take()  # asyncio logs the second error
