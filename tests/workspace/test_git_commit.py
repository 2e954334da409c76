"""What git is asked of a commit, on real repositories, a hostile one among them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fim_lsp.workspace import git_commit
from fim_lsp.workspace.git_commit import index_of, next_commit, work_tree
from fim_lsp.workspace.staged import Rules, of_index, of_message
from tests.workspace.git_repos import IDENTITY, commit, git

HOOKS = (
    "post-index-change", "fsmonitor-watchman", "query-watchman", "pre-commit", "post-checkout",
    "reference-transaction",
)  # fmt: skip
NAMED = [
    "core.pager", "core.editor", "core.askPass", "core.sshCommand", "gpg.program", "diff.external",
]  # fmt: skip


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a repository with two commits, and one change staged."""
    top = tmp_path / "shop"
    top.mkdir()
    git("init", "-q", "-b", "main", cwd=top)
    (top / "cart.py").write_text("total = 0\n")
    git("add", ".", cwd=top)
    commit(top, "cart: begin with nothing")
    commit(top, "till: ring")
    (top / "cart.py").write_text("total = 1\n")
    git("add", ".", cwd=top)
    return top


def staged(top: Path) -> git_commit.NextCommit:
    return next_commit(top / ".git", top / ".git/index")


def test_the_diff_and_the_subjects(top: Path) -> None:
    """What is staged, not what is changed besides, and the newest subject first, without merges."""
    (top / "cart.py").write_text("total = 2\n")
    git("branch", "side", cwd=top)
    commit(top, "cart: count")
    git("checkout", "-q", "side", cwd=top)
    commit(top, "till: open")
    git(*IDENTITY, "merge", "-q", "--no-edit", "main", cwd=top)
    (top / "till.py").write_text("drawer = []\n")
    git("add", "till.py", cwd=top)
    found = staged(top)
    assert "+++ b/till.py\n@@ -0,0 +1 @@\n+drawer = []\n" in found.diff
    assert "total = 2" not in found.diff
    assert sorted(found.subjects) == sorted(
        ("cart: count", "till: open", "till: ring", "cart: begin with nothing")
    )


def test_a_subject_ends_with_its_line(top: Path) -> None:
    """Not at what Python takes for the end of one: lines and commits would be mixed up."""
    odd = "till:\u2028 count\x85 twice\x0b or\x1c more"
    commit(top, odd)
    assert staged(top).subjects == (odd, "till: ring", "cart: begin with nothing")


def test_the_first_commit(tmp_path: Path) -> None:
    """All that is staged is new, and there are no subjects to follow."""
    git("init", "-q", cwd=tmp_path)
    (tmp_path / "a.py").write_text("a = 1\n")
    git("add", ".", cwd=tmp_path)
    found = staged(tmp_path)
    assert "+a = 1" in found.diff
    assert found.subjects == ()


def test_packed_branches_shallow_clones_and_worktrees(top: Path, tmp_path: Path) -> None:
    """The same subjects, wherever git keeps them."""
    git("pack-refs", "--all", cwd=top)
    assert staged(top).subjects == ("till: ring", "cart: begin with nothing")
    git("clone", "-q", "--depth=1", top.as_uri(), tmp_path / "shallow", cwd=tmp_path)
    assert staged(tmp_path / "shallow").subjects == ("till: ring",)
    git("worktree", "add", "-q", tmp_path / "tree", "-b", "other", cwd=top)
    (tmp_path / "tree/cart.py").write_text("total = 3\n")
    git("add", ".", cwd=tmp_path / "tree")
    folder = top / ".git/worktrees/tree"
    assert work_tree(folder) == tmp_path / "tree"
    found = next_commit(folder, folder / "index")
    assert "+total = 3" in found.diff
    assert found.subjects == ("till: ring", "cart: begin with nothing")


def test_a_submodule_and_a_folder_that_is_none(top: Path, tmp_path: Path) -> None:
    """Its work tree is the one that names it; a folder that only says so has none."""
    allow = ("-c", "protocol.file.allow=always")
    git(*allow, "submodule", "--quiet", "add", top.as_uri(), "part", cwd=top)
    assert work_tree(top / ".git/modules/part") == top / "part"
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / "gitdir").write_text(f"{top}/.git\n")
    assert work_tree(forged) is None
    assert work_tree(tmp_path / "none/.git") is None


@pytest.mark.skipif(sys.platform == "win32", reason="an editor that is a script")
@pytest.mark.parametrize("arguments", [["-a"], ["cart.py"], []])
def test_the_index_while_git_waits_for_its_editor(
    top: Path, tmp_path: Path, arguments: list[str]
) -> None:
    """`git commit -a` and `git commit FILE` commit another index than the usual one."""
    (top / "cart.py").write_text("total = 2\n")
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys\nfrom pathlib import Path\n"
        "from fim_lsp.workspace.git_commit import index_of, next_commit\n"
        f"folder = Path({str(top)!r}, '.git')\n"
        f"Path({str(tmp_path)!r}, 'seen').write_text(next_commit(folder, index_of(folder)).diff)\n"
        "Path(sys.argv[-1]).write_text('done')\n"
    )
    root = Path(git_commit.__file__).parents[2]
    env = {**os.environ, "GIT_EDITOR": f"'{sys.executable}' '{editor}'", "PYTHONPATH": str(root)}
    command = ["git", *IDENTITY, "commit", "-q", *arguments]
    subprocess.run(command, cwd=top, env=env, check=True)
    assert f"+total = {2 if arguments else 1}\n" in (tmp_path / "seen").read_text()
    assert index_of(top / ".git") == top / ".git/index"


def test_another_form_of_branches_is_said(top: Path) -> None:
    """Where they cannot be read, nothing is taken for staged."""
    (top / ".git/reftable").mkdir()
    with pytest.raises(OSError, match="in a form"):
        staged(top)


def test_a_diff_is_read_to_a_limit(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of many megabytes costs no more than its beginning, and git that hangs its time."""
    for n in range(40):
        (top / f"long{n}.py").write_text("x = 1\n" * 20_000)
    git("add", ".", cwd=top)
    assert len(staged(top).diff) == git_commit.LONGEST
    (top / ".git/index").unlink()
    os.mkfifo(top / ".git/index")
    monkeypatch.setattr(git_commit, "LIMIT_S", 0.2)
    with pytest.raises(OSError, match="longer than"):
        staged(top)


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("made_of", ["commondir", "refs", "branch", "index", "folder", "pointer"])
def test_a_repository_that_is_made_of_another_one(made_of: str, top: Path, tmp_path: Path) -> None:
    """A stranger's archive names one of the user's, of which other rules hold: nothing of that is read."""
    archive, theirs = tmp_path / "archive", top / ".git"
    ours = archive / ".git"
    ours.mkdir(parents=True)
    for name in ("refs/heads", "objects/info"):
        (ours / name).mkdir(parents=True)
    (ours / "HEAD").write_text("ref: refs/heads/main\n")
    (ours / "objects/info/alternates").write_text(f"{theirs}/objects\n")
    if made_of == "commondir":
        (ours / "commondir").write_text(f"{theirs}\n")
    elif made_of == "refs":
        (ours / "refs/heads").rmdir()
        (ours / "refs/heads").symlink_to(theirs / "refs/heads")
    elif made_of == "branch":
        (ours / "HEAD").unlink()
        (ours / "refs/x").symlink_to(theirs / "refs/heads")
        (ours / "HEAD").write_text("ref: refs/x/main\n")
    elif made_of == "index":
        (ours / "index").symlink_to(theirs / "index")
    else:
        shutil.rmtree(ours)
        if made_of == "folder":
            ours.symlink_to(theirs)
        else:
            ours.write_text(f"gitdir: {theirs}\n")
    found = of_index(archive, Rules((archive.as_uri(),), ()))
    assert found.note
    assert not found.diffs + found.subjects
    assert staged(top).diff


@pytest.fixture
def canary(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that everything which a repository can name touches, and then fails."""
    canary, script = tmp_path / "canary", tmp_path / "touch.sh"
    script.write_text(f"#!/bin/sh\ntouch '{canary}'\nexit 1\n")
    script.chmod(0o755)
    for name in HOOKS:
        hook = top / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_bytes(script.read_bytes())
        hook.chmod(0o755)
    run = str(script)
    settings = {
        **dict.fromkeys(NAMED, run),
        "core.fsmonitor": run, "core.hooksPath": str(top / "hooks"), "log.showSignature": "true",
        "filter.x.clean": run, "filter.x.smudge": run, "filter.x.process": run,
        "filter.x.required": "true",
        "diff.x.textconv": run, "diff.x.command": run, "merge.x.driver": run,
        "pager.diff-index": run, "pager.rev-list": run, "alias.diff-index": f"!{run}",
        "alias.rev-list": f"!{run}",
        "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{run}", "protocol.ext.allow": "always",
        "remote.origin.uploadpack": run,
        "core.alternateRefsCommand": run, "credential.helper": run,
        "uploadpack.packObjectsHook": run,
        "trace2.eventTarget": str(canary), "core.worktree": str(top),
    }  # fmt: skip
    (top / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    for key, value in settings.items():
        git("config", key, value, cwd=top)
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_ASKPASS", "PAGER"):
        monkeypatch.setenv(name, run)
    monkeypatch.setenv("GIT_TRACE", str(canary))
    return canary


@pytest.mark.skipif(sys.platform == "win32", reason="scripts")
def test_nothing_that_a_repository_names_is_run(top: Path, canary: Path) -> None:
    """Not its filters, textconv, external diff, fsmonitor, hooks, pager, aliases or signature checker."""
    for command in (["diff", "--cached"], ["status"], ["log", "-1"]):  # as git does it, they are
        subprocess.run(["git", *command], cwd=top, capture_output=True, check=False)
        assert canary.exists(), command
        canary.unlink()
    found = staged(top)
    assert "-total = 0\n+total = 1\n" in found.diff
    assert found.subjects == ("till: ring", "cart: begin with nothing")
    assert not canary.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="scripts")
def test_what_is_missing_is_fetched_from_nowhere(top: Path, canary: Path) -> None:
    """A partial clone names a command that gets what it lacks: git fails instead."""
    blob = git("ls-files", "-s", "cart.py", cwd=top).split()[1].decode()
    (top / ".git/objects" / blob[:2] / blob[2:]).unlink()
    canary.unlink(missing_ok=True)
    subprocess.run(["git", "cat-file", "-p", blob], cwd=top, capture_output=True, check=False)
    assert canary.exists()
    canary.unlink()
    with pytest.raises(OSError, match="git failed"):
        staged(top)
    assert not canary.exists()


@pytest.mark.parametrize(
    ("source", "destination"),
    [("a/", "b/"), ("", ""), ("one/two/", "three/four/"), ("old", "new"), ("x", "x"), ("p/q", "r")],
)
def test_a_private_file_is_left_out_behind_any_prefix(
    top: Path, source: str, destination: str
) -> None:
    """`git commit --verbose` shows the diff with the prefixes that the user's settings name."""
    (top / ".fimignore").write_text("/keys/prod.py\n/till.py\n")
    (top / "keys").mkdir()
    (top / "keys/prod.py").write_text("CANARY = 1\n")
    (top / "till.py").write_text("CANARY = 2\n")
    git("add", "keys", "till.py", cwd=top)
    prefixes = f"--src-prefix={source}", f"--dst-prefix={destination}"
    command = ["git", "diff", "--cached", *prefixes]
    diff = subprocess.run(command, cwd=top, capture_output=True, text=True, check=True).stdout
    assert "CANARY = 1" in diff
    message, _ = of_message(top / ".git", diff, Rules((), ()), None)
    assert "CANARY" not in repr(message.diffs)
    assert "total = 1" in repr(message.diffs)
