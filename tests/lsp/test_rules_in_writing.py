"""
Files of rules while they are written, on a real disk: the file that they hide is in no prompt, however an editor writes
them. The rule is in each version; only between the steps of one write it is not there.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from fim_lsp import events, regular_files
from fim_lsp.documents import Position
from tests.fuzz import FUZZ
from tests.lsp.test_rule_files import COLUMNS, RULE, Cell

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here"),
    pytest.mark.promise("rules-act-at-once"),
    pytest.mark.promise("private-if-unsure"),
]

TIMES = 200 if FUZZ > 1 else 4  # that each file is written
# A change is told late, as by a watcher that collects them: what is looked at because of one write
# is in the middle of the next.
PAUSES = 0.03, 0.04, 0.045, 0.15  # seconds between two of them
BETWEEN_S = 0.02  # two steps of one write


def in_place(path: Path, text: str) -> Iterator[None]:
    """As `>`, VS Code, and vim with `backupcopy=yes`."""
    with path.open("w") as file:
        yield
        file.write(text)


def in_two_writes(path: Path, text: str) -> Iterator[None]:
    with path.open("w") as file:
        file.write("# rules\n")
        file.flush()
        yield
        file.write(text)


def removed_and_made(path: Path, text: str) -> Iterator[None]:
    path.unlink()
    yield
    path.write_text(text)


def renamed_over(path: Path, text: str) -> Iterator[None]:
    beside = path.with_name("beside")
    beside.write_text(text)
    yield
    beside.replace(path)


def link_swapped(path: Path, text: str) -> Iterator[None]:
    target = path.with_name(f"target{len(text)}")
    target.write_text(text)
    link = path.with_name("link")
    link.symlink_to(target)
    yield
    link.replace(path)


WAYS = [in_place, in_two_writes, removed_and_made, renamed_over, link_swapped]
NO_LINKS = ".gitignore", ".fim-lsp.toml"  # a link of this name hides all


@pytest.fixture
async def cell(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Cell]:
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setattr(regular_files, "REST_S", 0.1)
    made = Cell(tmp_path, request.param, monkeypatch)
    yield made
    await made.settle()
    await made.client.session.aclose()


@pytest.mark.parametrize(
    ("cell", "way"),
    [
        pytest.param(column, way, id=f"{column} {way.__name__}")
        for column in COLUMNS
        for way in WAYS
        if way is not link_swapped or column not in NO_LINKS
    ],
    indirect=["cell"],
)
async def test_a_file_of_rules_is_written(
    cell: Cell, way: Callable[[Path, str], Iterator[None]]
) -> None:
    """The hidden file is in no prompt; once the rules rest, others are suggested in again."""
    cell.write()
    cell.client.start()
    await cell.settle()
    assert (await cell.look())[0] == RULE
    asking = asyncio.create_task(_ask(cell))
    for n in range(TIMES):
        began = time.monotonic()
        for _ in way(cell.path, f"# {n % 2 * 'odd'}\n{cell.rule}"):
            await asyncio.sleep(BETWEEN_S)
        written_s = time.monotonic() - began
        _tell(cell)
        await asyncio.sleep(PAUSES[n % len(PAUSES)])
        if written_s > regular_files.REST_S / 2:  # on a busy machine the half file may have rested
            await cell.settle()  # until what was read of it counts no more
            cell.backend.seen.clear()
            cell.backend.warmed.clear()
        sent = repr([*cell.backend.seen, *cell.backend.warmed])
        assert "secret_canary" not in sent
    asking.cancel()
    await cell.settle()
    assert (await cell.look())[0] == RULE


def _tell(cell: Cell) -> None:
    """Report that the file changed, as an editor does."""
    cell.client.session.handle(events.FilesChanged((cell.path.as_uri(),), ()))
    cell.client.reread_settings((cell.path.as_uri(),))


async def _ask(cell: Cell) -> None:
    """Ask in both files, all the time."""
    while True:
        for name in ("secret", "open"):
            uri = (cell.root / f"{name}.py").as_uri()
            await cell.client.session.complete(uri, Position(1, 11), invoked=True)
        await asyncio.sleep(0.005)


def test_a_rule_waits_for_its_file_to_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was just written is read once it rests; one that is written all the time is wrong."""
    path = tmp_path / ".gitignore"
    path.write_text("secret.py\n")
    slept: list[float] = []
    now = path.stat().st_ctime

    def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds + 0.001

    for name in ("time", "monotonic"):
        monkeypatch.setattr(time, name, lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(regular_files, "REST_S", 0.1)
    assert regular_files.read_rules(path, 100, follow=False) == b"secret.py\n"
    [left_s] = slept
    assert left_s == pytest.approx(0.1, abs=0.001)
    assert regular_files.read_rules(path, 100, follow=False) == b"secret.py\n"
    assert slept == [left_s]
    now += 3600.0  # the clock of another machine
    monkeypatch.setattr(regular_files, "_rest_left", lambda _: 0.1)
    with pytest.raises(regular_files.Wrong, match="is being written"):
        regular_files.read_rules(path, 100, follow=False)
    assert sum(slept) == pytest.approx(1.2, abs=0.11)
