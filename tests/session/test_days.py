"""What became of suggestions, by day: numbers in a private file, added up over sessions."""

from __future__ import annotations

import contextlib
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.session.days import FILE, N_DAYS, Days
from fim_lsp.session.stats import Stats
from server_bridge.machine import private_files

TODAY = date(2026, 11, 22)


def shown(stats: Stats, n: int) -> None:
    stats.fates["accepted"] += n
    stats.fates["ignored"] += n
    stats.accepted_chars += 10 * n


def test_sessions_add_up(tmp_path: Path) -> None:
    """Two sessions at once, and one written twice: each suggestion counts once."""
    first, second = Stats(), Stats()
    one, other = Days(tmp_path, first), Days(tmp_path, second)
    shown(first, 3)
    one.write(TODAY)
    shown(second, 2)
    other.write(TODAY)
    shown(first, 1)
    days = one.write(TODAY + timedelta(1))
    assert [day["accepted"] for day in days.values()] == [5, 1]
    assert [day["shown"] for day in days.values()] == [10, 2]
    assert days == Days(tmp_path, Stats()).write(TODAY)
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_the_page_and_the_end_write_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads the file first: what one adds would be lost to the other."""
    stats, read, may_read = Stats(), private_files.restore, threading.Event()
    days, begun = Days(tmp_path, stats), threading.Event()

    def read_late(*arguments: Any) -> Any:
        days_on_disk = read(*arguments)
        begun.set()
        may_read.wait(10)
        return days_on_disk

    monkeypatch.setattr(private_files, "restore", read_late)
    shown(stats, 1)
    with ThreadPoolExecutor(2) as threads:
        page = threads.submit(days.write, TODAY)
        begun.wait(10)
        shown(stats, 2)
        end = threads.submit(days.write, TODAY)
        with contextlib.suppress(TimeoutError):
            end.result(0.1)  # without a lock it reads here what the page has not written yet
        may_read.set()
        page.result(10)
        assert end.result(10)[TODAY.isoformat()]["accepted"] == 3


def test_old_days_go(tmp_path: Path) -> None:
    """The file stays small."""
    stats = Stats()
    days = Days(tmp_path, stats)
    for n in range(N_DAYS + 5):
        shown(stats, 1)
        kept = days.write(TODAY + timedelta(n))
    assert len(kept) == N_DAYS
    assert str(TODAY) not in kept


@pytest.mark.parametrize(
    "said",
    [
        "",
        "[]",
        "{",
        '{"x": {}}',
        '{"2026-11-22": 3}',
        "[" * 10_000,
        '{"2026-11-22": {"shown": 1e999}}',
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, said: str) -> None:
    """It is begun again."""
    (tmp_path / FILE).write_text(said)
    (tmp_path / FILE).chmod(0o600)
    stats = Stats()
    shown(stats, 1)
    assert [*Days(tmp_path, stats).write(TODAY)] == [str(TODAY)]


def test_nothing_is_kept_without_a_folder() -> None:
    """And what was counted is told all the same."""
    stats = Stats()
    shown(stats, 1)
    assert Days(None, stats).write(TODAY)[str(TODAY)]["accepted"] == 1
