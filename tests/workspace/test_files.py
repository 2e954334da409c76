"""What is read of a workspace on disk: code that is neither private, linked, hidden nor huge."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.context.chunks import Source
from fim_lsp.context.index import Index, holding
from fim_lsp.context.privacy import DEPENDENCY_NAMES, Folder, is_installed
from fim_lsp.regular_files import read
from fim_lsp.settings.config import PrivacyConfig
from fim_lsp.workspace import files, ignore_files
from fim_lsp.workspace.files import grow, list_files, on_disk, reread

pytestmark = pytest.mark.promise("bounded-work")

EXCLUDES = PrivacyConfig((".env*", "*.pem", "credentials.py"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a workspace with something of everything."""
    root = tmp_path / "w"
    for path, text in {
        "a.py": "def one():\n    pass\n",
        "app/b.py": "def two():\n    return one()\n",
        "app/deep/c.py": "class Three:\n    pass\n",
        "app/data.json": '{"one": 1}\n',
        "app/credentials.py": "KEY = 1\n",
        "app/gen/.gitignore": "*\n",
        "app/gen/d.py": "def four():\n    pass\n",
        ".gitignore": "ignored/\nlocal.py\n",
        ".fimignore": "drafts/\n",
        "drafts/e.py": "def five():\n    pass\n",
        "ignored/f.py": "def six():\n    pass\n",
        "app/local.py": "x = 1\n",
        ".hidden/g.py": "x = 1\n",
        "node_modules/h/i.js": "let x = 1\n",
        "big.py": "x = 1\n" * 100_000,
        "../outside/j.py": "def ten():\n    pass\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "app/binary.py").write_bytes(b"\x00\xff")
    (root / "linked.py").symlink_to(tmp_path / "outside/j.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "app/loop").symlink_to(root)
    return root


def index_of(root: Path, near: str = "a.py") -> Index:
    listing = list_files(root, near, EXCLUDES)
    index, todo = Index(), list(listing)
    while todo:
        index, rest = grow(index, root, listing, todo)
        assert len(rest) < len(todo)
        todo = list(rest)
    return index


def test_only_code_of_the_workspace_that_is_not_private_is_listed(root: Path) -> None:
    """Ignored, excluded, linked, hidden, installed, machine-made and data files are not."""
    files = ["a.py", "app/b.py", "app/binary.py", "app/deep/c.py"]
    assert list(list_files(root, "a.py", EXCLUDES)) == files


def test_the_nearest_files_come_first(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a workspace with more files than an index holds, the user's own corner is in it."""
    monkeypatch.setattr(files, "FILES", 2)
    assert list(list_files(root, "app/deep/c.py", EXCLUDES)) == ["app/deep/c.py", "app/b.py"]
    assert list(list_files(root, "app/gen/d.py", EXCLUDES)) == ["app/b.py", "app/binary.py"]


@pytest.mark.parametrize("near", ["no/such/" * 40 + "x.py", "../" * 40 + "x.py"])
def test_folders_that_are_not_there_cost_nothing(root: Path, near: str, monkeypatch):
    """A client may call a text whatever it likes: the workspace is listed once, and nothing above it."""
    asked: list[Path] = []
    rules = ignore_files.rules_down

    def noting(folder: Path, top: Path, privacy: PrivacyConfig) -> Iterator[tuple[Path, Folder]]:
        asked.append(folder)
        return rules(folder, top, privacy)

    monkeypatch.setattr(files, "rules_down", noting)
    assert len(list_files(root, near, EXCLUDES)) == len(list_files(root, "a.py", EXCLUDES))
    assert {*asked} == {root}


def test_an_index_knows_the_words(root: Path) -> None:
    """A file that is no text has none."""
    index = index_of(root)
    assert [*holding(index, ["two"], "a.py")] == ["app/b.py"]
    assert [*holding(index, ["Three"], "a.py")] == ["app/deep/c.py"]
    assert not index.entries["app/binary.py"].words
    assert not any([*holding(index, [word], "a.py")] for word in ("four", "five", "six", "ten"))


def test_a_known_file_is_read_again_when_it_changed(root: Path) -> None:
    """The same value while nothing happened; None once it is gone or private."""
    old = Source((root / "a.py").as_uri(), "a.py", "python", -1, ("old\n",))
    again = lambda source: reread(root / source.name, root, EXCLUDES, source)  # noqa: E731
    new = again(old)
    assert new is not None
    assert new.lines[:1] == ("def one():\n",)
    assert again(new) is new
    (root / ".gitignore").write_text("a.py\n")
    assert again(old) is None
    assert again(replace(old, name="gone.py")) is None


@pytest.mark.promise("files-outside-and-links")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_swapped_after_the_verdict_is_not_read(root: Path, monkeypatch, what: str):
    """A link to a private file, or to a folder of such, takes the place of what was judged."""
    (root / "ignored/b.py").write_text("secret\n")

    def swap(path: Path, *arguments: Any) -> str:
        why = ignore_files.why_private(path, *arguments)
        (root / "app").rename(root / "old")
        if what == "file":
            (root / "app").mkdir()
            (root / "app/b.py").symlink_to(root / "ignored/b.py")
        else:
            (root / "app").symlink_to(root / "ignored")
        return why

    monkeypatch.setattr(files, "why_private", swap)
    old = Source((root / "app/b.py").as_uri(), "app/b.py", "python", -1, ("old\n",))
    assert reread(root / "app/b.py", root, EXCLUDES, old) is None
    (root / "app").unlink() if what == "folder" else shutil.rmtree(root / "app")
    (root / "old").rename(root / "app")
    assert on_disk(root, root.as_uri(), "app/b.py", EXCLUDES) is None


def test_what_is_opened_is_what_was_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that stands there only while the file is opened leads nowhere."""
    (root / "ignored/b.py").write_text("secret\n")
    real = os.open

    def other(_: str, flags: int) -> int:
        return real(root / "ignored/b.py", flags)

    monkeypatch.setattr(os, "open", other)
    assert read(root / "a.py", 99, follow=False) is None


def test_a_file_that_is_a_pipe_by_now_is_not_read(root: Path) -> None:
    """It would never end."""
    index = index_of(root)
    (root / "app/b.py").unlink()
    os.mkfifo(root / "app/b.py")
    old = Source((root / "app/b.py").as_uri(), "app/b.py", "python", -1, ("old\n",))
    assert "app/b.py" not in list_files(root, "a.py", EXCLUDES)
    assert reread(root / "app/b.py", root, EXCLUDES, old) is None
    assert index.entries["app/b.py"]


@pytest.fixture
def deep(root: Path) -> Iterator[str]:
    """Yield the path of a file that lies deeper than Python calls functions."""
    if sys.platform == "win32":
        pytest.skip("paths are short there")
    depth = min(1100, (os.pathconf(root, "PC_PATH_MAX") - len(str(root)) - 100) // 2)
    for n in range(1, depth + 1):
        Path(root, "x/" * n).mkdir()
    Path(root, "x/" * depth, "deep.py").touch()
    yield "x/" * depth + "deep.py"
    while (root / "x/x").exists():  # pytest removes folders by recursion
        (root / "x/x").rename(root / "y")
        (root / "x").rmdir()
        (root / "y").rename(root / "x")


def test_a_folder_that_lies_very_deep_costs_its_own_files_only(root: Path, deep: str, monkeypatch):
    """All files are listed, and no folder costs more than its own name."""
    looked_at: list[bytes] = []

    def look(path: bytes) -> bool:
        looked_at.append(path)
        return is_installed(path)

    monkeypatch.setattr(files, "is_installed", look)
    listing = [*list_files(root, deep, EXCLUDES)]
    assert listing[0] == deep
    assert {"a.py", "app/b.py", "app/deep/c.py"} <= {*listing}
    assert max(path.count(b"/") for path in looked_at) == DEPENDENCY_NAMES


def test_a_workspace_that_is_a_link_is_judged_where_it_leads(root: Path) -> None:
    """The rules of the repository there count."""
    (root / ".git").mkdir()
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root.parent / "link").symlink_to(root / "app")
    assert list(list_files(root.parent / "link", "b.py", EXCLUDES)) == [
        "b.py",
        "binary.py",
        "deep/c.py",
    ]
