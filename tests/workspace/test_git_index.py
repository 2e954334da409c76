"""What git ignores by files that are not on the disk, and by a repository of another place, is private."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fim_lsp.regular_files import Wrong
from fim_lsp.workspace.git_index import list_left_out
from fim_lsp.workspace.ignore_files import UNSURE, why_private
from tests.workspace.git_repos import BARE, git

pytestmark = [
    pytest.mark.skipif(not shutil.which("git"), reason="git is not installed: NO VERDICT"),
    pytest.mark.usefixtures("home"),
    pytest.mark.promise("private-if-unsure"),
]

FILES = {
    ".gitignore": "*.top\n",
    "open/.gitignore": "*.open\n",
    "open/a.py": "a = 1\n",
    "shut/.gitignore": "*.shut\n",
    ".dot/.gitignore": "*.dot\n",
    "shut/in/.gitignore": "*.in\n",
    "shut/in/b.py": "b = 1\n",
}
ASKED = [
    "x.py", "x.top", "x.open", "open/x.py", "open/x.top", "open/x.open", "shut/x.py",
    "shut/x.shut", "shut/in/x.py", "shut/in/x.shut", "shut/in/x.in", "shut/in/x.top",
    ".dot/x.py", ".dot/x.dot",
]  # fmt: skip


def commit(top: Path, *options: str) -> None:
    """Make a repository of `FILES` at *top*."""
    git("init", "-q", *options, str(top), cwd=top.parent)
    for name, text in FILES.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git("add", ".", cwd=top)
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a", cwd=top)


def sparse(top: Path, *patterns: str, cone: bool = False, index: bool = False) -> None:
    """Check out only what *patterns* name."""
    kinds = ["--cone" if cone else "--no-cone", "--sparse-index" if index else "--no-sparse-index"]
    git("sparse-checkout", "set", *kinds, *patterns, cwd=top)


def skip(top: Path, *names: str) -> None:
    """Keep files of the index from the disk, without a sparse checkout."""
    git("update-index", "--skip-worktree", *names, cwd=top)
    for name in names:
        (top / name).unlink()


def split(top: Path) -> None:
    """Have the index in two files, and flags in another than the names."""
    git("update-index", "--split-index", cwd=top)
    skip(top, "shut/.gitignore")


def compress(top: Path) -> None:
    """Have names in the index that share their beginnings."""
    git("update-index", "--index-version", "4", cwd=top)
    skip(top, "shut/.gitignore", "shut/in/.gitignore")


LAYOUTS: dict[str, Callable[[Path], object]] = {
    "whole": lambda top: None,
    "deleted": lambda top: (top / "shut/.gitignore").unlink(),
    "sparse, the top's is missing": lambda top: sparse(top, "open/*", "shut/in/b.py"),
    "sparse, further in": lambda top: sparse(top, "/*", "!shut/.gitignore"),
    "sparse, all but code": lambda top: sparse(top, "*.py"),
    "a cone": lambda top: sparse(top, "open", cone=True),
    "a cone with a sparse index": lambda top: sparse(top, "open", cone=True, index=True),
    "skipped": lambda top: skip(top, "shut/in/.gitignore"),
    "skipped at the top": lambda top: skip(top, ".gitignore"),
    "skipped in a folder with a dot": lambda top: skip(top, ".dot/.gitignore"),
    "a split index": split,
    "version 4": compress,
    "to be added": lambda top: git("add", "-N", "--force", ".", cwd=top),
}


LEFT_OUT = re.compile(
    rf"{UNSURE}: .*\.gitignore: is left out of the work tree by git: check it out"
)
HIDE_MORE = {*LAYOUTS} - {"whole", "deleted", "to be added"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)], ids=["sha1", "sha256"])
def test_what_git_ignores_is_private_wherever_its_rules_are(
    tmp_path: Path, layout: str, options: tuple[str, ...]
) -> None:
    """In each layout, below the opened folder and above it; the reason names the file that is not on the disk."""
    top = tmp_path / "top"
    commit(top, *options)
    LAYOUTS[layout](top)
    for name in ASKED:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x = 1\n")
    said = ignored(top, dict(os.environ))
    whys = {name: why_private(top / name, root, BARE) for name in ASKED for root in (top, None)}
    assert {name for name in said if not whys[name]} == set()
    more = {name: why for name, why in whys.items() if why and name not in said}
    assert {why for why in more.values() if not LEFT_OUT.match(why)} == set()
    assert bool(more) == (layout in HIDE_MORE)


def ignored(folder: Path, env: dict[str, str]) -> set[str]:
    """Return which of `ASKED` git ignores where *env* is set."""
    command = ["git", "check-ignore", "--no-index", "--stdin"]
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        input="\n".join(ASKED),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return {*done.stdout.split()}


@pytest.mark.parametrize("says", ["GIT_WORK_TREE", "core.worktree", "where it runs"])
@pytest.mark.parametrize("has_own", [False, True])
def test_a_repository_that_the_environment_names_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, *, has_own: bool
) -> None:
    """As those of home folders do: its exclude file, and the ignore files from its work tree down."""
    home = tmp_path / "me"
    home.mkdir()
    if has_own:
        git("init", "-q", str(home), cwd=tmp_path)
    git("init", "-q", "--bare", "dotfiles", cwd=tmp_path)
    private = tmp_path / "dotfiles"
    git("config", "core.bare", "false", cwd=private)
    (private / "info/exclude").write_text("*.shut\n")
    (home / ".gitignore").write_text("*.top\n")
    (tmp_path / "excludes").write_text("*.open\n")
    git("config", "core.excludesFile", str(tmp_path / "excludes"), cwd=private)
    if says == "core.worktree":
        git("config", "core.worktree", str(home), cwd=private)
    if says == "GIT_WORK_TREE":
        monkeypatch.setenv("GIT_WORK_TREE", str(home))
    monkeypatch.setenv("GIT_DIR", str(private))
    monkeypatch.chdir(home)
    said = ignored(home, dict(os.environ))
    assert said
    assert {name for name in ASKED if is_hidden(home / name, home)} == said
    assert is_hidden(home / "shut/in/x.top", home / "shut")  # the rules stand above it


def is_hidden(file: Path, root: Path) -> bool:
    """Return whether rules hide the file, whose folder may not be there."""
    why = why_private(file, root, BARE)
    return bool(why) and not why.endswith(" is not there")


BROKEN = [
    b"",
    b"DIRC",
    b"DIRC\0\0\0\x03\xff\xff\xff\xff",
    b"x" * 200,
    b"DIRC\0\0\0\x09" + bytes(99),
]


@pytest.mark.parametrize("data", BROKEN, ids=repr)
def test_an_index_that_cannot_be_read_is_wrong(tmp_path: Path, data: bytes) -> None:
    """So that all files of its work tree are private; git refuses to work there, too."""
    (tmp_path / "index").write_bytes(data)
    with pytest.raises(Wrong, match="is no index that can be read"):
        list_left_out(tmp_path, 20)


def test_a_folder_without_an_index_leaves_nothing_out(tmp_path: Path) -> None:
    """As a repository in which nothing was added yet."""
    assert list_left_out(tmp_path, 20) == frozenset()
