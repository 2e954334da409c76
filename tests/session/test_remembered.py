"""What a workspace shows and keeps of files that it remembers, by the rules of now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from fim_lsp.context.chunks import ContextChunk, Piece, Source, Why
from fim_lsp.context.index import Index
from fim_lsp.context.ring import Ring, Viewport
from fim_lsp.documents import open_document
from fim_lsp.session.state import workspaces
from fim_lsp.session.state.edit_history import Question
from fim_lsp.session.state.workspaces import OUTSIDE, Workspace, Workspaces
from fim_lsp.settings.config import Config, PrivacyConfig
from fim_lsp.workspace import paths
from fim_lsp.workspace.files import uri_of
from fim_lsp.workspace.reader import SourceReader
from server_bridge.protocol import Chunk
from tests.places import place

pytestmark = pytest.mark.promise("what-is-kept")

ROOT = place("remembered")
HERE = Viewport(f"{ROOT}/main.py", 0, 0, 1)
A, B, C = names = ("a.py", "b.py", "c.py")


def uri(name: str) -> str:
    return uri_of(ROOT, name)


def chunk(name: str, *, fresh: bool = True) -> ContextChunk:
    text = f"def {name[0]}():\n    pass"
    return ContextChunk((Piece(uri(name), name, 0, 2, 1, text, Why.OPENED, fresh=fresh),))


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """Three files are remembered that are not open, each with a chunk in the ring."""
    reader = SourceReader()
    made = Workspace("remembered", ROOT, reader)
    for name in names:
        made.memory.note_open(Source(uri(name), name, "python", 1, ("x = 1\n",)))
        made.memory.note_close(uri(name))
    made.memory.ring = Ring(tuple(map(chunk, names)))
    yield made
    made.stop()
    reader.close()


def shown(workspace: Workspace) -> list[str]:
    return [each.name for each in workspace.chunks(HERE, Config())]


def test_what_is_not_judged_hides_what_stands_behind_it(workspace: Workspace) -> None:
    """In a prompt; of one that was evaluated, too, and only what was shown may be shown again."""
    assert shown(workspace) == [*names]
    workspace.note_evaluated(tuple(Chunk(name, "") for name in names))
    workspace.suspend(uri(B))
    assert shown(workspace) == [A]
    assert [each.name for each in workspace.evaluated] == [A]
    assert [workspace.shows(name) for name in (*names, "new.py")] == [True, False, True, False]
    assert workspace.uris_of((Chunk(A, ""), Chunk(B, ""))) == (uri(A), "")


def test_what_is_withdrawn_goes_alone(workspace: Workspace) -> None:
    """With its text, its chunks and its name; the others stay."""
    shown(workspace)
    workspace.suspend(uri(B))
    workspace.withdraw(uri(B))
    assert [workspace.shows(name) for name in names] == [True, False, True]
    assert [workspace.memory.knows(uri(name)) for name in names] == [True, False, True]
    assert not workspace._unjudged


def test_the_rules_changed(workspace: Workspace) -> None:
    """What is remembered may be shown once it is judged, what is not remembered is never judged."""
    shown(workspace)
    workspace.memory.note_deletion(uri(C))
    workspace.memory.ring = Ring((chunk(A), chunk(B)))
    workspace.files.index = Index({A: object()})  # type: ignore[dict-item]
    workspace.judge_again()
    assert [workspace.shows(name) for name in names] == [False] * 3
    workspace._unjudged.clear()
    assert [workspace.shows(name) for name in names] == [True, True, False]
    assert not workspace.files.index.entries


def test_only_what_is_true_and_judged_is_saved(workspace: Workspace) -> None:
    """Of the ring."""
    workspace.memory.ring = Ring((chunk(A), chunk(B), chunk(C, fresh=False)))
    workspace.suspend(uri(B))
    assert [each.name for each in workspace.ring_to_save().chunks] == [A]


def test_the_ring_of_an_earlier_run_takes_the_place_of_none(workspace: Workspace) -> None:
    """It is judged before it is shown; an empty one changes nothing."""
    now = workspace.memory.ring
    workspace.restore_ring(Ring((chunk(A),)))
    assert (workspace.memory.ring, workspace._n_rules) == (now, 0)
    workspace.memory.ring = Ring()
    workspace.restore_ring(Ring())
    assert workspace._n_rules == 0
    workspace.restore_ring(now)
    assert [each.name for each in workspace.memory.ring.chunks] == [*names]
    assert shown(workspace) == []
    assert not any(map(workspace.may_show, map(uri, names)))


async def test_nothing_is_unsure_where_it_cannot_be_judged(workspace: Workspace) -> None:
    """While the settings are not known it would be looked at for ever, and all forgotten."""
    workspace.suspend(uri(A))
    assert workspace.is_unsure(PrivacyConfig())
    assert not workspace.is_unsure(PrivacyConfig(unknown="late"))
    assert not await workspace.reverify(PrivacyConfig(unknown="late"))
    assert workspace.memory.knows(uri(A))


ENDS: dict[str, Callable[[Workspace], None]] = {
    "a file is gone": lambda workspace: workspace.withdraw(uri(A)),
    "the rules changed": Workspace.judge_again,
    "the folder is closed": Workspace.stop,
}


@pytest.mark.parametrize("end", ENDS)
async def test_work_that_may_hold_its_text_ends(workspace: Workspace, end: str, monkeypatch):
    """A search for the next edit, a choice of chunks by the rules of before, a listing."""
    waits = asyncio.Event()

    async def forever() -> None:
        await waits.wait()

    asked = Question((), (open_document(uri(B), "python", 1, ""),), frozenset(), None)
    edit = asyncio.create_task(workspace.edits.answer("model", asked, forever))
    monkeypatch.setattr(workspace, "refresh", lambda _: forever())
    work = workspace.update_ring(HERE, 6000, Config())
    choice = asyncio.create_task(work)
    loading = workspace.begin_loading(forever)
    workspace.files._listing = listing = workspace._tasks.start(forever(), "index")
    await asyncio.sleep(0)
    updating = workspace._updating
    assert updating
    ENDS[end](workspace)
    assert await asyncio.wait_for(edit, 5.0) is None
    await asyncio.sleep(0)
    goes_on = end == "a file is gone"
    assert (updating.cancelled(), listing.cancelled()) == (not goes_on, not goes_on)
    assert loading.cancelled() is (end == "the folder is closed")
    for task in (updating, listing, loading):
        task.cancel()
    await asyncio.wait([choice])


@pytest.mark.parametrize("meanwhile", ["nothing", "opened", "the rules changed"])
async def test_a_look_counts_for_what_it_was_about(
    workspace: Workspace, meanwhile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is gone leaves, but not what was opened meanwhile; a verdict by older rules is none."""
    workspace.judge_again()

    async def look(_: object) -> list[Source | None]:
        if meanwhile == "opened":
            workspace.open(Source(uri(A), A, "python", 2, ("y = 2\n",)))
        elif meanwhile == "the rules changed":
            workspace.judge_again()
        known = {source.uri: source for source in workspace.memory.unsure()}
        return [None, *(known[uri(name)] for name in (B, C))]

    monkeypatch.setattr(workspaces, "in_disk_thread", look)
    assert await workspace.reverify(PrivacyConfig()) is (meanwhile != "opened")
    assert workspace.memory.knows(uri(A)) is (meanwhile == "opened")
    assert workspace.may_show(uri(B)) is (meanwhile != "the rules changed")


def test_folders_that_are_not_used_any_more_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A root that was closed, and of those outside of all the oldest; none that is in use."""
    all_ = Workspaces()

    def of(folder: str, *in_use: Workspace) -> Workspace:
        return all_.of(paths.locate(f"{place(folder)}/a.py", all_.roots), lambda: in_use)

    all_.roots = (place("one"), place("two"))
    one = of("one")
    two = of("two")
    all_.roots = (place("two"),)
    assert [*all_] == [one, two]
    outside = of("x0")
    assert [*all_] == [two, outside]
    all_.roots = ()
    for n in range(OUTSIDE + 3):
        last = of(f"x{n + 1}", two, outside)
    assert [*all_][:2] == [two, outside]
    assert len([*all_]) == OUTSIDE + 3
    assert of("last") is not last
    assert len([*all_]) == OUTSIDE + 1
    ended: list[Workspace] = []

    def stop(workspace: Workspace) -> None:
        ended.append(workspace)

    monkeypatch.setattr(Workspace, "stop", stop)
    all_.close()
    assert ended == [*all_]


@pytest.mark.parametrize("is_open", [False, True])
def test_what_is_deleted_is_shown_no_more(workspace: Workspace, *, is_open: bool) -> None:
    """It is forgotten, unless it is still open: then it is to be judged."""
    all_ = Workspaces()
    all_._by_key[workspace.key] = workspace
    if is_open:
        workspace.memory.note_open(Source(uri(A), A, "python", 2, ("x = 1\n",)))
    all_.note_files([], [uri(A)])
    assert workspace.memory.knows(uri(A)) is is_open
    assert not (workspace.may_show(uri(A)) and workspace.memory.knows(uri(A)))
    assert workspace.may_show(uri(B))
    assert workspace.memory.knows(uri(B))
    all_._reader.close()


@pytest.mark.parametrize("work", ["a look", "a choice"])
async def test_work_that_has_not_begun_is_of_the_rules_of_before(
    workspace: Workspace, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it judges by its settings is judged again: the rules changed after it was asked for."""

    async def look(_: object) -> list[Source]:
        return [*workspace.memory.unsure()]

    monkeypatch.setattr(workspaces, "in_disk_thread", look)
    waits: asyncio.Task[object]
    if work == "a look":
        waits = workspace.reverify(PrivacyConfig())
    else:
        waits = asyncio.create_task(workspace.update_ring(HERE, 6000, Config()))
        await asyncio.sleep(0)
    workspace.judge_again()
    await asyncio.wait([waits])
    assert not any(map(workspace.may_show, map(uri, names)))
