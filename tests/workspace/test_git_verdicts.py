"""
Real git is the judge: `git check-ignore` and we agree, or we hide more where the documents say so.

Repositories are made from seeds. `FIM_FUZZ=7` asks for seven times as many; each run says how many
paths there were, how many git hides and we do not (leaks), and the reverse.
"""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from fim_lsp.workspace.files import list_files
from fim_lsp.workspace.ignore_files import why_private
from tests.context.test_ignore_rules import CASES
from tests.fuzz import FUZZ
from tests.workspace.git_repos import BARE, Repository, git, git_verdicts, repository, write_rules

REPOSITORIES = 38 * FUZZ if FUZZ > 1 else 15
PATHS = 40  # in each
NESTED = 5 * FUZZ

# Before 2.52 git does not see what stands before the first wildcard, later it does: `foo**/bar`.
DIFFERS = re.compile(rb"^!?[^*?[\\\n]*[^*?[\\/\n]\*\*", re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(not shutil.which("git"), reason="git is not installed: NO VERDICT"),
    pytest.mark.usefixtures("home"),
    pytest.mark.promise("private-files"),
]


def repositories(
    tmp_path: Path, home: Path, n_repositories: int
) -> Iterator[tuple[int, Repository]]:
    """Repositories on disk, one at a time; every seventh is a worktree."""
    for seed in range(n_repositories):
        random = Random(seed)
        everywhere = home / ".config/git/ignore"
        everywhere.unlink(missing_ok=True)
        elsewhere = tmp_path / f"main{seed}" if seed % 7 == 0 else None
        found = repository(random, tmp_path / f"r{seed}", PATHS, linked_to=elsewhere)
        if random.random() < 0.2:
            write_rules(random, everywhere, found.paths)
        yield seed, found
        shutil.rmtree(found.top)


def test_git_says_the_same_of_every_path(tmp_path: Path, home: Path) -> None:
    """Nothing that git ignores is shown; what we hide beyond that is a rule that versions of git read differently."""
    counts: Counter[str] = Counter()
    wrong = []
    for seed, found in repositories(tmp_path, home, REPOSITORIES):
        hidden = hides(found.top, Random(seed))
        for path, ignored in git_verdicts(found).items():
            counts["paths"] += 1
            counts["ignored"] += ignored
            if (ours := hidden(path)) == ignored:
                continue
            kind = "leaks" if ignored else "documented" if differs(found, home) else "over-blocked"
            counts[kind] += 1
            wrong += [(kind, seed, path, ours)] * (kind != "documented")
    print(dict(counts))
    assert not wrong, f"{dict(counts)}: {wrong[:5]}"
    assert counts["ignored"] * 4 > counts["paths"], f"the rules should match now and then: {counts}"


def hides(top: Path, random: Random):
    """Return what says whether a path below *top* is private, for a workspace at *top* or below it."""

    def hidden(path: bytes) -> bool:
        file = top / os.fsdecode(path)
        folders = [each for each in file.parents if each.is_relative_to(top)]
        root = random.choice([*folders, None, top])
        return is_private(file, root)

    return hidden


def is_private(file: Path, root: Path | None) -> bool:
    """Return whether rules hide the file, which is not there, and often its folder neither."""
    why = why_private(file, root, BARE)
    return bool(why) and not why.endswith(" is not there")


def differs(found: Repository, home: Path) -> bool:
    """Is there a rule that versions of git read differently?"""
    files = [home / ".config/git/ignore"]
    files += (found.common / name for name in ("info/exclude", "rules of mine"))
    for pattern in ("**/.gitignore", "*/.git/*", "*/.git/info/*"):
        files += found.top.glob(pattern)
    return any(DIFFERS.search(file.read_bytes()) for file in files if file.is_file())


def test_git_says_the_same_of_the_rows_written_by_hand(tmp_path: Path) -> None:
    """The rows of tests/context/test_ignore_rules.py, each in a folder of its own."""
    git("init", "-q", cwd=tmp_path)
    expected: dict[bytes, bool] = {}
    for n, (rules, yes, no) in enumerate(CASES):
        (tmp_path / f"row{n}").mkdir()
        (tmp_path / f"row{n}/.gitignore").write_bytes(rules)
        expected |= {f"row{n}/{path}".encode(): path in yes for path in (*yes, *no)}
    said = git_verdicts(Repository(tmp_path, [*expected], tmp_path))
    assert {path for path in expected if said[path] != expected[path]} == set()


def test_a_repository_in_a_repository_is_judged_by_both(tmp_path: Path, home: Path) -> None:
    """A submodule has its own verdicts, and what the repository around it ignores is private, too."""
    counts: Counter[str] = Counter()
    for seed in range(NESTED):
        random = Random(-seed)
        outer = repository(random, tmp_path / f"outer{seed}", PATHS)
        inner = repository(random, outer.top / "sub module", PATHS)
        within = outer._replace(paths=[b"sub module/" + path for path in inner.paths])
        shutil.move(inner.top / ".git", tmp_path / "aside")
        around = git_verdicts(within)
        shutil.move(tmp_path / "aside", inner.top / ".git")
        for path, ignored in git_verdicts(inner).items():
            file = inner.top / os.fsdecode(path)
            ours = is_private(file, outer.top)
            counts["paths"] += 1
            counts["leaks"] += ignored and not ours
            both = ignored or around[b"sub module/" + path]
            counts["over-blocked"] += ours and not both and not differs(outer, home)
        shutil.rmtree(outer.top)
    print(dict(counts))
    assert counts["paths"]
    assert not counts["leaks"] + counts["over-blocked"], dict(counts)


def test_what_is_listed_is_what_git_lists(tmp_path: Path, home: Path) -> None:
    """The walk over a workspace finds the files that git calls untracked and not ignored."""
    n_files = 0
    for seed, found in repositories(tmp_path, home, REPOSITORIES // 3):
        for path in found.paths:
            file = found.top / os.fsdecode(path + b".py")
            if not any(each.is_file() for each in file.parents):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        said = git("ls-files", "--others", "--exclude-standard", "-z", cwd=found.top)
        shown = {os.fsdecode(path) for path in said.split(b"\0") if is_listed(path)}
        ours = set(list_files(found.top, "any.py", BARE))
        n_files += len(shown)
        if not differs(found, home):
            assert ours == shown, seed
        assert ours <= shown, seed
    assert n_files > REPOSITORIES


def is_listed(path: bytes) -> bool:
    """Is it code with a name of text, in no hidden folder?"""
    *folders, name = path.split(b"/")
    text = path.decode("utf-8", "ignore").encode() == path
    return text and name.endswith(b".py") and not any(each.startswith(b".") for each in folders)
