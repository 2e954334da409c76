"""Verdicts on files on disk: hostile ignore files, links, git's own files, files outside of all workspaces."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from fim_lsp.context.privacy import OUTSIDE
from fim_lsp.settings.config import PrivacyConfig, ProjectRules
from fim_lsp.workspace import ignore_files
from fim_lsp.workspace.files import list_files
from fim_lsp.workspace.ignore_files import UNSURE, why_private
from fim_lsp.workspace.paths import local_path, locate, path_to_judge
from tests.fuzz import in_turn
from tests.workspace.git_repos import BARE, git

pytestmark = pytest.mark.promise("private-files")

DOCS = Path(__file__).parent.parent.parent / "docs/context.md"


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    """Return a repository."""
    root = tmp_path / "w"
    (root / "sub").mkdir(parents=True)
    git("init", "-q", cwd=root)
    return root


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.mark.parametrize("text", ["#" * 300_000, "rule\n" * 60_000, "[a]\n" * 5000])
def test_an_ignore_file_beyond_the_limits_hides_its_folder(root: Path, text: str, caplog):
    """The reason and the log name the file; the log does once."""
    ignore_files._warn.cache_clear()
    write(root / "sub/.gitignore", text)
    write(root / "sub/a.py", "")
    write(root / "b.py", "")
    with caplog.at_level(logging.WARNING):
        for name in ("sub/deep/a.py", "sub/a.py"):
            reason = why_private(root / name, root, BARE)
            assert reason.startswith(f"{UNSURE}: {root / 'sub/.gitignore'}: has more than ")
    assert why_private(root / "b.py", root, BARE) == ""
    assert list(list_files(root, "b.py", BARE)) == ["b.py"]
    [record] = caplog.records
    assert str(root / "sub/.gitignore") in record.getMessage()


# -- git's own files ------------------------------------------------------------------------------


def test_rules_above_the_workspace_count_up_to_the_top_of_the_repository(root: Path) -> None:
    """And no further: a repository's top is where git stops."""
    write(root.parent / ".gitignore", "b.py\n")
    write(root / ".gitignore", "/app/a.py\n*.log\n")
    write(root / "app/.gitignore", "!x.log\n")
    assert why_private(root / "app/a.py", root / "app", BARE) == "it matches .gitignore"
    assert why_private(root / "app/b.py", root / "app", BARE) == ""
    assert why_private(root / "app/x.log", root / "app", BARE) == ""
    assert why_private(root / "app/y.log", root / "app", BARE) == "it matches .gitignore"


@pytest.mark.parametrize(
    ("config", "name", "hidden"),
    [
        ("", ".config/git/ignore", True),
        ("[core]\n  excludesFile = ~/mine\n", "mine", True),
        ("[core]\n  excludesFile = ~/mine\n", ".config/git/ignore", False),
        ("[core]\n  excludesFile =\n", ".config/git/ignore", False),
        ('[include]\n path = more\n[core] ; x\n  excludesfile = "~/mi"ne # y\n', "mine", True),
        ('[includeIf "gitdir:/nowhere/"]\n path = ~/other\n', "mine", True),
        ('[includeIf "gitdir:/nowhere/"]\n path = other\n', ".config/git/ignore", True),
        ('[includeIf "onbranch:x"]\n path = other\n[core]\nexcludesfile=~/x\n', "mine", False),
    ],
)
def test_the_excludes_of_the_user_count(
    root: Path, home: Path, config: str, name: str, hidden: bool
) -> None:
    """By `core.excludesFile` or in its place; what an `includeIf` names counts in any case."""
    write(home / ".gitconfig", config)
    write(home / "other", "[Core]\n\texcludesFile = ~/mine\n")
    write(home / name, "a.py\n")
    reason = why_private(root / "sub/a.py", root, BARE)
    assert reason == ("it matches git's core.excludesFile" if hidden else "")
    assert why_private(root / "sub/b.py", root, BARE) == ""
    (other := root.parent / "no repository").mkdir()
    assert why_private(other / "a.py", other, BARE) == reason


def test_the_configuration_of_git_may_lie_elsewhere(root: Path, home: Path, monkeypatch):
    """The variables that git reads are read."""
    write(home / "x/git/ignore", "a.py\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "x"))
    assert why_private(root / "a.py", root, BARE)
    write(home / "config", f"[core]\nexcludesFile = {write(home / 'mine', 'b.py')}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "config"))
    assert why_private(root / "a.py", root, BARE) == ""
    assert why_private(root / "b.py", root, BARE)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(home / "config"))
    assert why_private(root / "b.py", root, BARE)


@pytest.mark.parametrize("what", ["/dev/null", "/dev/zero", "fifo"])
def test_configuration_that_is_no_file_is_not_read(root: Path, home: Path, what: str) -> None:
    """Nor what it names; what it would say is not known, unless it is /dev/null."""
    os.mkfifo(home / "fifo")
    path = what if what != "fifo" else str(home / "fifo")
    is_known = what == "/dev/null"
    git("config", "core.excludesFile", path, cwd=root)
    assert (why_private(root / "a.py", root, BARE) == "") == is_known
    write(root / ".git/config", f"[include]\npath = {path}\n")
    assert (why_private(root / "a.py", root, BARE) == "") == is_known
    write(root / ".git/config", "")
    (home / ".gitconfig").symlink_to(path)
    assert (why_private(root / "a.py", root, BARE) == "") == is_known


@pytest.mark.parametrize("pointer", ["gitdir: /nowhere", "gitdir: .", "x", "gitdir: \0"])
def test_what_is_no_repository_is_no_border(root: Path, pointer: str) -> None:
    """Git looks further up, and so the rules up there count."""
    write(root / ".gitignore", "a.py\n")
    write(root / "sub/.git", pointer)
    (root / "empty/.git").mkdir(parents=True)
    assert why_private(root / "sub/a.py", root / "sub", BARE)
    assert why_private(root / "empty/a.py", root / "empty", BARE)


ME = ("-c", "user.name=a", "-c", "user.email=a@b")


def add_worktree(root: Path) -> Path:
    git(*ME, "commit", "-q", "--allow-empty", "-m", "x", cwd=root)
    git("worktree", "add", "-q", "-b", "b", "../tree", cwd=root)
    return root.parent / "tree"


def test_a_worktree_and_a_submodule_have_the_rules_of_their_repository(root: Path) -> None:
    """`info/exclude` of a worktree lies in the main repository, that of a submodule in its own."""
    tree = add_worktree(root)
    write(root / ".git/info/exclude", "a.py\n")
    allow = "protocol.file.allow=always"
    git(*ME, "-c", allow, "submodule", "add", "-q", root, "part", cwd=root)
    write(root / ".git/modules/part/info/exclude", "b.py\n")
    assert why_private(tree / "a.py", tree, BARE) == "it matches .git/info/exclude"
    assert why_private(tree / "b.py", tree, BARE) == ""
    assert why_private(root / "part/b.py", root, BARE) == "it matches .git/info/exclude"
    assert why_private(root / "part/b.py", root / "part", BARE) == "it matches .git/info/exclude"
    assert why_private(root / "part/a.py", root / "part", BARE) == ""
    assert why_private(root / "part/a.py", root, BARE) == "it matches .git/info/exclude"


def link_to_nothing(main: Path, tree: Path) -> None:
    (tree / ".git").unlink()
    (tree / ".git").symlink_to(main / "away")


TREE_SPOILS: dict[str, Callable[[Path, Path], object]] = {
    "the repository is gone": lambda main, _: main.rename(main.with_name("away")),
    "it does not know of it": lambda main, _: shutil.rmtree(main / ".git/worktrees"),
    "no head": lambda main, _: write(main / ".git/worktrees/tree/HEAD", ""),
    "a link to nothing": link_to_nothing,
}


@pytest.mark.promise("private-if-unsure")
@pytest.mark.parametrize("spoil", TREE_SPOILS.values(), ids=TREE_SPOILS)
@pytest.mark.parametrize("rules", ["../w/.git/info/exclude", ".gitignore", "none"])
def test_a_worktree_without_its_repository_cannot_be_judged(
    root: Path, rules: str, spoil: Callable[[Path, Path], object]
) -> None:
    """It is on a disk that is not mounted; git ends there, too. In any folder of the worktree."""
    tree = add_worktree(root)
    write(tree / rules, "a.py\n")
    write(tree / "sub/a.py", "")
    for folder in (tree, tree / "sub", None):
        assert bool(why_private(tree / "sub/a.py", folder, BARE)) == (rules != "none")
    spoil(root, tree)
    for folder in (tree, tree / "sub", None):
        assert why_private(tree / "sub/a.py", folder, BARE).startswith(UNSURE)


@pytest.mark.parametrize("head", ["", "x", None])
@pytest.mark.parametrize("rules", [".gitignore", ".git/info/exclude"])
def test_a_repository_whose_head_is_broken_hides_what_it_hid(
    root: Path, rules: str, head: str | None
) -> None:
    """After a power cut it may be empty; the reason says what to mend."""
    write(root / rules, "a.py\n")
    (root / ".git/HEAD").write_text(head) if head is not None else (root / ".git/HEAD").unlink()
    why = why_private(root / "sub/a.py", root / "sub", BARE)
    assert why.startswith(UNSURE)
    assert "HEAD" in why


# -- links and odd names --------------------------------------------------------------------------


@pytest.mark.promise("files-outside-and-links")
def test_a_link_is_judged_by_where_it_leads(root: Path) -> None:
    """A harmless name that leads to a private or foreign file is refused."""
    write(root / ".env", "")
    write(root / "pkg/a.py", "")
    write(root.parent / "other/a.py", "")
    targets = {"a": ".env", "b": "../other/a.py", "c": "pkg/a.py", "d": "/etc/hosts"}
    for name, target in targets.items():
        (root / f"{name}.py").symlink_to(target)
    reasons = {name: why_private(root / f"{name}.py", root, PrivacyConfig()) for name in "abcd"}
    assert reasons["c"] == ""
    assert all("leads to" in reasons[name] for name in "abd")
    assert why_private(root / "d.py", None, PrivacyConfig())


def test_a_workspace_may_be_a_link(root: Path) -> None:
    """Its files are those of the folder that it leads to."""
    (link := root.parent / "link").symlink_to(root)
    write(root / ".gitignore", "/a.py\n")
    assert why_private(link / "a.py", link, BARE) == "it matches .gitignore"
    assert why_private(link / "b.py", link, BARE) == ""
    assert list(list_files(link, write(root / "b.py", "").name, BARE)) == ["b.py"]


@pytest.mark.promise("files-outside-and-links")
def test_names_that_are_not_utf_8_have_verdicts_of_their_own(root: Path) -> None:
    """Other files are listed nevertheless; for one that no file can have there is no suggestion."""
    (root / ".gitignore").write_bytes(b"caf\xe9*\nback\\\\slash.py\n")
    for name in (b"caf\xe9.py", b"th\xe9.py", b"back\\slash.py", b"a.py"):
        (root / os.fsdecode(name)).write_text("x = 1\n")
    assert why_private(root / os.fsdecode(b"caf\xe9.py"), root, BARE)
    assert why_private(root / os.fsdecode(b"th\xe9.py"), root, BARE) == ""
    assert why_private(root / "back\\slash.py", root, BARE)
    assert list(list_files(root, "a.py", BARE)) == ["a.py"]
    assert why_private(root / "a\0b", root, BARE) == "no file can have its name"
    assert why_private(root / "\ud800", root, BARE) == "no file can have its name"


def test_letters_and_their_accents_are_one_on_a_mac(root: Path, monkeypatch: pytest.MonkeyPatch):
    """Files there may have the decomposed form of a name, rules have the other."""
    write(root / ".gitignore", "\u00e9.py\n")
    assert why_private(root / "e\u0301.py", root, BARE) == ""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert why_private(root / "e\u0301.py", root, BARE)


def test_dots_do_not_lead_out_of_a_workspace(root: Path) -> None:
    """What is judged is where they lead."""
    assert why_private(root / "../other.py", root, BARE) == "it lies outside the workspace"
    assert why_private(root / "../../../../../../etc/passwd", root, BARE)


# -- outside of all workspaces --------------------------------------------------------------------


def test_the_page_says_what_becomes_of_a_file_outside(tmp_path: Path, home: Path) -> None:
    """The sentence stands there, and is true."""
    sentence = (
        "A file outside of every workspace gets suggestions once you open it, from its own text and from "
        "what else you opened in its folder, unless a rule above names it; nothing else out there is read."
    )
    assert sentence in DOCS.read_text("utf-8")
    folder = tmp_path / "somewhere"
    write(folder / ".gitignore", "ignored.py\n")
    assert why_private(folder / "a.py", None, PrivacyConfig()) == ""
    assert why_private(folder / "ignored.py", None, PrivacyConfig()) == "it matches .gitignore"
    assert why_private(folder / ".env", None, PrivacyConfig()) == "it matches fim.privacy.exclude"
    why = why_private(folder / "a.py", tmp_path / "workspace", PrivacyConfig())
    assert why == "it lies outside the workspace"


def test_a_fimignore_needs_no_repository_and_no_workspace(tmp_path: Path, home: Path) -> None:
    """It counts in all folders below its own, whichever of them the editor opened, if any."""
    notes = tmp_path / "notes"
    write(notes / ".fimignore", "diary/\n")
    file = write(notes / "diary/2026/may.md", "")
    other = write(notes / "work/todo.md", "")
    for root in (None, file.parent, file.parent.parent, notes):
        assert why_private(file, root, BARE) == "it matches .fimignore"
    for root in (None, other.parent, notes):
        assert why_private(other, root, BARE) == ""
    assert list(list_files(file.parent, "may.md", BARE)) == []
    write(notes.parent / ".gitignore", "a.py\n")  # of no repository
    assert why_private(write(notes.parent / "other/a.py", ""), None, BARE) == ""


def test_what_settings_may_hide_is_private_until_they_are_known(root: Path) -> None:
    """A path by its names, and a file that a link leads to, in a project whose settings are not known."""
    assert UNSURE in why_private(PurePosixPath("a.py"), None, PrivacyConfig(unknown="late"))
    file = write(root / "a.py", "")
    link = root.parent / "link.py"
    link.symlink_to(file)
    assert why_private(link, None, BARE) == ""
    late = PrivacyConfig((), projects=(ProjectRules(str(root), (), "late"),))
    for path in (file, link):
        assert UNSURE in why_private(path, None, late)
    assert why_private(root, root, BARE) == OUTSIDE  # a file in the place of a folder


@pytest.mark.parametrize("name", ["pass.AbCdEf/entry.txt", "bash-fc.AbC", "crontab.AbC/crontab"])
def test_temporary_files_of_programs_are_private(name: str, tmp_path: Path, monkeypatch):
    """In the folder that this process is told to use, too; a workspace beside them is not."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    write(tmp_path / "w/a.py", "")
    for root in (None, tmp_path, (tmp_path / name).parent):
        assert "temporary" in why_private(tmp_path / name, root, BARE)
    assert why_private(tmp_path / "w/a.py", tmp_path / "w", BARE) == ""
    assert why_private(tmp_path / "w/a.py", None, BARE) == ""


def test_installed_packages_are_public_wherever_a_link_leads(root: Path) -> None:
    """But for names of secrets."""
    store = root.parent / "store/node_modules/x"
    write(store / "a.js", "")
    (root / "x").symlink_to(store)
    assert why_private(root / "x/a.js", root, PrivacyConfig()) == ""
    assert why_private(store / "a.js", None, PrivacyConfig()) == ""
    assert "leads to" in why_private(root / "x/a.js", root, PrivacyConfig(("*.js", "!/x/*.js")))


@pytest.mark.promise("files-outside-and-links")
@pytest.mark.skipif(sys.platform == "win32", reason="there it is another machine's file")
@pytest.mark.parametrize("host", ["localhost", "this-machine.lan:80"])
def test_a_host_in_a_uri_hides_no_rule(root: Path, host: str) -> None:
    """Programs name their own machine there; the file is the same one, and as private."""
    (root / ".gitignore").write_text("ignored.py\n")

    def why(path: str) -> str:
        uri = f"file://{host}{path}"
        folder = local_path(locate(uri, (root.as_uri(),)).root)
        return why_private(path_to_judge(uri) or Path(), folder, PrivacyConfig())

    assert why(f"{root}/a.py") == ""
    assert why(f"{root}/ignored.py") == why(f"{root}/b/../ignored.py") == "it matches .gitignore"
    assert why("/etc/passwd")
    assert why("/dev/shm/pass.x/a.txt")


@pytest.mark.parametrize(
    ("path", "is_private"),
    [
        (PurePosixPath(".env"), True),
        (PurePosixPath("Untitled-1"), False),
        (PurePosixPath("no/such/folder/a.py"), False),
        (PureWindowsPath("C:/w/.env"), True),
        (PureWindowsPath("C:/w/a.py"), True),  # it may be ignored there
        (PureWindowsPath("C:/Windows/win.ini"), True),
    ],
)
def test_a_path_that_is_not_on_this_disk_is_judged_by_its_names(path, is_private: bool) -> None:
    """Texts that have no file yet, and other systems' paths."""
    assert bool(why_private(path, None, PrivacyConfig())) == is_private


# -- where nothing can be judged -------------------------------------------------------------------

RULES = {
    "sub/.gitignore": "a.py\n", "sub/.fimignore": "a.py\n", ".gitignore": "/sub/a.py\n",
    ".fimignore": "sub/a.py\n", ".git/info/exclude": "a.py\n",
    "../home/.config/git/ignore": "a.py\n",
    ".git/config": "[core]\nexcludesFile = ~/mine\n", "../home/mine": "", "none": "",
}  # fmt: skip


def link_elsewhere(folder: Path) -> None:
    """One without rules: what the file was there cannot be seen, but that it lies outside."""
    elsewhere = folder.with_name("elsewhere") if folder.name == "w" else folder.parent.parent / "x"
    elsewhere.mkdir()
    folder.symlink_to(elsewhere)


# What is made in the place of a folder that is gone.
SPOILS: list[Callable[[Path], object]] = [
    Path.exists, Path.touch, link_elsewhere, lambda folder: folder.symlink_to("nothing"),
    lambda folder: folder.symlink_to(folder),
]  # fmt: skip


@pytest.mark.promise("private-if-unsure")
@pytest.mark.parametrize(
    ("rule", "where", "spoil"), [*in_turn(RULES, ["sub"], SPOILS), *in_turn(RULES, ["."], SPOILS)]
)
def test_what_cannot_be_judged_is_private(root: Path, rule: str, where: str, spoil) -> None:
    """Whatever rule there was: the file's folder, or the workspace, is gone or something else."""
    write(root / rule, RULES[rule])
    write(root.parent / "home/mine", "a.py\n" if "config" in rule or "mine" in rule else "")
    write(root / "sub/a.py", "")
    is_private = rule not in ("none", "../home/mine")
    assert bool(why_private(root / "sub/a.py", root, BARE)) == is_private
    if where == "sub":
        assert why_private(root / "b.py", root, BARE) == ""
    folder = root if where == "." else root / "sub"
    shutil.rmtree(folder)
    spoil(folder)
    assert why_private(root / "sub/a.py", root, BARE)
    if spoil is not link_elsewhere or where == ".":
        assert why_private(root / "sub/a.py", None, BARE)
        assert why_private(root / "sub/a.py", root / "sub", BARE)


UNREAD = [
    "w", "w/sub", "w/sub/a.py",
    *(f"w/{rule}" for rule in RULES if rule[:2] not in ("..", "no")),
    "w/.git", "w/.git/HEAD", "home/.config/git/ignore", "home/.config/git", "home/.gitconfig",
]  # fmt: skip


@pytest.mark.promise("private-if-unsure")
@pytest.mark.parametrize(
    ("unread", "number"), in_turn(UNREAD, [errno.EACCES, errno.EIO, errno.ESTALE, errno.ENOTCONN])
)
def test_rules_that_cannot_be_read_make_all_private(
    root: Path, unread: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system does not say what is in them: no right, a broken disk, a share that went away."""
    for rule in RULES:
        write(root / rule, "")
    write(root / "sub/a.py", "")
    write(root / "link.py", "").unlink()
    (root / "link.py").symlink_to("sub/a.py")
    assert why_private(root / "sub/a.py", root, BARE) == ""
    assert why_private(root / "link.py", root, BARE) == ""
    _refuse_to_read(root.parent / unread, number, monkeypatch)
    for name, folder in (("sub/a.py", root), ("sub/a.py", None), ("link.py", root)):
        reason = why_private(root / name, folder, BARE)
        assert reason.startswith(ignore_files.UNSURE)
        assert os.strerror(number) in reason
    assert "sub/a.py" not in list_files(root, "sub/a.py", BARE) or unread == "w/sub/a.py"


def _refuse_to_read(place: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system fail with *number* for what is at *place*, and below it."""
    for name in ("stat", "lstat", "open", "scandir"):
        real = getattr(os, name)

        def refuse(path, *arguments, _real=real, **options):
            if isinstance(path, str | Path) and Path(path).is_relative_to(place):
                raise OSError(number, os.strerror(number), str(path))
            return _real(path, *arguments, **options)

        monkeypatch.setattr(os, name, refuse)


def test_a_file_outside_is_under_the_rules_of_its_repository(root: Path) -> None:
    """As when the repository were the workspace."""
    write(root / ".gitignore", "/sub/a.py\n")
    assert why_private(root / "sub/a.py", None, BARE) == "it matches .gitignore"
    assert why_private(root / "sub/b.py", None, BARE) == ""
