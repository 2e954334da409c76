"""Which files a repository's commits changed: told by git, which does nothing that the repository says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fim_lsp.context.grammars import language_of
from fim_lsp.workspace import git_history
from fim_lsp.workspace.files import list_files
from fim_lsp.workspace.git_history import History, history, parse_names

Git = Callable[..., str]
ALL = ("a.py", "app/b.py", "app/c.py", "café.py")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return a repository with three commits, and the user's own configuration far away."""
    top = tmp_path / "repository"
    top.mkdir()
    git(top, "init", "--quiet", "--initial-branch=main")
    commit(top, "a.py", "app/b.py", "app/c.py")
    commit(top, "a.py", "café.py")
    commit(top, "app/b.py", "app/c.py", "README.md")
    return top


def git(top: Path, *args: str) -> str:
    """Return what the user does in a terminal."""
    env = {"PATH": os.environ["PATH"], "HOME": str(top.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *who, *args], cwd=top, env=env, capture_output=True, text=True, check=False, input="", timeout=30)  # fmt: skip
    assert done.returncode in (0, 128), done.stderr
    return done.stdout.strip()


def commit(top: Path, *paths: str) -> None:
    """Change files and commit them."""
    for path in paths:
        file = top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{file.read_text() if file.exists() else ''}x = 1\n")
    git(top, "add", "--all", "--force")
    git(top, "commit", "--quiet", "--message=x")


def sets(found: History) -> list[set[str]]:
    return [set(each) for each in found.commits]


NEWEST_FIRST = [{"app/b.py", "app/c.py"}, {"a.py", "café.py"}, {"a.py", "app/b.py", "app/c.py"}]


def packed(top: Path) -> None:
    git(top, "pack-refs", "--all")
    git(top, "gc", "--quiet")


def detached(top: Path) -> None:
    git(top, "checkout", "--quiet", "--detach")


def linked(top: Path) -> None:
    (top / ".git/HEAD").unlink()
    (top / ".git/HEAD").symlink_to("refs/heads/main")


STATES = {"a branch": lambda _: None, "packed": packed, "no branch": detached, "linked": linked}


@pytest.mark.parametrize("arrange", STATES.values(), ids=STATES)
def test_commits_are_listed_the_newest_first(top: Path, arrange: Callable[[Path], None]) -> None:
    """With the code that they changed, whatever way the repository names what is checked out."""
    arrange(top)
    assert sets(history(top, "a.py", ALL)) == NEWEST_FIRST


def test_names_of_sha256_are_read(tmp_path: Path) -> None:
    """They have 64 digits."""
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    commit(tmp_path, "a.py", "b.py")
    assert sets(history(tmp_path, "a.py", {"a.py", "b.py"})) == [{"a.py", "b.py"}]


def test_a_worktree_has_the_history_of_its_repository(top: Path, tmp_path: Path) -> None:
    """Its `.git` is a file that names the repository."""
    git(top, "worktree", "add", "--quiet", str(tmp_path / "other"))
    assert sets(history(tmp_path / "other", "a.py", ALL)) == NEWEST_FIRST


def test_files_are_named_by_the_workspace(top: Path) -> None:
    """It may be a folder of the repository, or hold the repository."""
    assert sets(history(top / "app", "b.py", {"b.py", "c.py"})) == [{"b.py", "c.py"}] * 2
    inside = {f"repository/{path}" for path in ALL}
    found = history(top.parent, "repository/a.py", inside)
    assert sets(found)[1] == {"repository/a.py", "repository/café.py"}


def test_a_shallow_clone_has_the_history_that_it_has(top: Path, tmp_path: Path) -> None:
    """The parent of its oldest commit is not there, so what that one changed is not known."""
    git(tmp_path, "clone", "--quiet", "--depth=2", top.as_uri(), "shallow")
    assert sets(history(tmp_path / "shallow", "a.py", ALL)) == NEWEST_FIRST[:1]


def test_history_is_read_again_after_a_commit(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process is started while the same commit is checked out."""
    before = history(top, "a.py", ALL)
    with monkeypatch.context() as patched:
        patched.setattr(git_history, "list_commits", None)
        assert history(top, "a.py", ALL, before) is before
    commit(top, "a.py", "app/c.py")
    assert sets(history(top, "a.py", ALL, before))[0] == {"a.py", "app/c.py"}


def test_private_files_do_not_count(top: Path) -> None:
    """A file that was committed once and is ignored or secret now is not in the history."""
    commit(top, "a.py", "local.py", "credentials.py")
    (top / ".gitignore").write_text("local.py\n")
    files = list_files(top, "a.py", ("credentials.py",))
    assert {"local.py", "credentials.py"}.isdisjoint(
        set().union(*history(top, "a.py", files).commits)
    )
    assert language_of("local.py") == "python"


def test_without_git_or_a_repository_there_is_no_history(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor an error."""
    (tmp_path / "plain").mkdir()
    assert not history(tmp_path / "plain", "a.py", ALL).commits
    (top / ".git/HEAD").write_text("ref: refs/heads/../../../../etc/passwd\n")
    assert not history(top, "a.py", ALL).commits
    (top / ".git/HEAD").write_text("ref: refs/heads/main\n")
    with monkeypatch.context() as patched:
        patched.setattr("tempfile.tempdir", str(tmp_path / "full"))
        assert not history(top, "a.py", ALL).commits
    assert history(top, "a.py", ALL).commits
    monkeypatch.setenv("PATH", "")
    assert not history(top, "a.py", ALL).commits


OUTPUTS = {
    b"": [],
    b"\0\0\na\0b\0\0\0\0\nc\0": [["a", "b"], ["c"]],
    b"\0\0\0\0\0\0\na\0": [["a"]],
    b"\0\0\na\0b\0\0\0\0\nc\0cut o": [["a", "b"], ["c"]],
    b"\0\0\n\xff\0": [[os.fsdecode(b"\xff")]],
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_git_prints(output: bytes) -> None:
    """Empty commits are none, and a name that is cut off is left out."""
    assert [*parse_names(output)] == OUTPUTS[output]


@pytest.fixture
def canary(top: Path, tmp_path: Path) -> Path:
    """Return a folder where each program leaves a file that the repository at *top* names and that is run."""
    canary = tmp_path / "canary"
    canary.mkdir()

    def trap(name: str, folder: Path = canary) -> str:
        script = folder / (name if folder != canary else f"{name}.sh")
        script.write_text(f"#!/bin/sh\ntouch '{canary}/ran-{name}'\n")
        script.chmod(0o755)
        return str(script)

    (top / ".gitattributes").write_text("* diff=x filter=x\n")
    commit(top, "a.py", "app/b.py")
    signed = git(top, "cat-file", "commit", "HEAD").replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n", 1)  # fmt: skip
    (tmp_path / "signed").write_text(signed + "\n")
    git(top, "reset", "--quiet", "--hard", git(top, "hash-object", "-t", "commit", "-w", str(tmp_path / "signed")))  # fmt: skip
    missing = git(
        top, "rev-parse", "HEAD~3^{tree}"
    )  # the oldest commit's: a partial clone fetches it
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"):  # fmt: skip
        trap(hook, top / ".git/hooks")
    for key, value in {
        "core.fsmonitor": trap("fsmonitor"),
        "core.pager": trap("pager"),
        "pager.log": trap("pager.log"),
        "core.sshCommand": trap("ssh"),
        "core.gitProxy": trap("proxy"),
        "core.alternateRefsCommand": trap("alternate"),
        "core.askPass": trap("askpass"),
        "credential.helper": trap("credential"),
        "log.showSignature": "true",
        "gpg.program": trap("gpg"),
        "diff.external": trap("external"),
        "diff.x.textconv": trap("textconv"),
        "diff.x.command": trap("command"),
        "filter.x.clean": trap("clean"),
        "filter.x.smudge": trap("smudge"),
        "filter.x.process": trap("process"),
        "alias.log": "!" + trap("alias"),
        "protocol.ext.allow": "always",
        "remote.origin.url": f"ext::{trap('remote')}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }.items():
        git(top, "config", "--local", key, value)
    (top / ".git/objects" / missing[:2] / missing[2:]).unlink()
    for left in canary.glob("ran-*"):
        left.unlink()
    return canary


@pytest.mark.skipif(sys.platform == "win32", reason="scripts with a mode")
def test_nothing_of_a_hostile_repository_is_run(
    top: Path, canary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hook, filter, signature check, pager or remote that its configuration names, where git by itself runs them."""
    for name in ("GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH_COMMAND"):
        monkeypatch.setenv(name, str(canary / "pager.sh"))
    found = history(top, "a.py", ALL)
    assert not [*canary.glob("ran-*")]
    assert sets(found) == [{"a.py", "app/b.py"}, NEWEST_FIRST[0]]  # up to what is missing

    git(top, "log", "--name-only")
    git(top, "status")
    ran = {each.name for each in canary.glob("ran-*")}
    assert ran >= {"ran-gpg", "ran-remote", "ran-fsmonitor"}


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in a folder")
def test_a_repository_that_hangs_git_is_left(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe in place of an index of objects; git is ended then."""
    monkeypatch.setattr(git_history, "LIMIT_S", 0.2)
    packed(top)
    os.mkfifo(top / ".git/objects/info/alternates")
    assert not history(top, "a.py", ALL).commits
