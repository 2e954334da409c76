"""`fim_lsp.workspace.private_file`: a file that only its owner may read."""

from __future__ import annotations

import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fim_lsp.workspace.private_file import write_private


def _shared_file(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o666)


BEFORE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "a file for all": _shared_file,
    "a link": lambda path: path.symlink_to(path.with_name("target")),
}


@pytest.mark.parametrize("before", BEFORE)
def test_whatever_was_there_the_file_is_its_owners(tmp_path: Path, before: str) -> None:
    """Whole, with no rights for others, and no link is followed."""
    path = tmp_path / "page"
    BEFORE[before](path)
    write_private(path, b"new")

    assert path.read_bytes() == b"new"
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["page"]


def test_its_folder_is_made_for_the_owner_alone(tmp_path: Path) -> None:
    """As caches are."""
    write_private(tmp_path / "cache/page", b"")

    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_threads_that_write_at_once_all_succeed(tmp_path: Path) -> None:
    """The file is one of theirs, whole, and nothing is left beside it."""
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: write_private(tmp_path / "page", b"%d" % n * 9), range(64)))

    assert len(set((tmp_path / "page").read_bytes().decode())) <= 2
    assert [each.name for each in tmp_path.iterdir()] == ["page"]
