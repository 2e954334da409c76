"""Private files are refused, by name, by place and by where a link leads; git is the judge."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fim_lsp.context.privacy import ignored, refused, relative_path, rules

RULES = rules(
    "/w",
    {
        ".gitignore": "*.log\nbuild/\n/top.py\nlocal/*\n!local/keep.py\n",
        "pkg/.gitignore": "!special.log\ninner.py\n",
        ".fimignore": "private/\n",
    },
    [".env*", "*.pem", "secrets/"],
)

REFUSED = {
    "/w/a.py": "",
    "/w/a.log": "it matches .gitignore",
    "/w/pkg/special.log": "",
    "/w/pkg/inner.py": "it matches .gitignore",
    "/w/inner.py": "",
    "/w/build/x/y.py": "it matches .gitignore",
    "/w/top.py": "it matches .gitignore",
    "/w/pkg/top.py": "",
    "/w/local/keep.py": "",
    "/w/local/other.py": "it matches .gitignore",
    "/w/private/x.py": "it matches .gitignore or .fimignore",
    "/w/.env.local": "it matches fim.privacy.exclude",
    "/w/deep/key.pem": "it matches fim.privacy.exclude",
    "/w/deep/secrets/x.py": "it matches fim.privacy.exclude",
    "/w2/a.py": "it lies outside the workspace",
    "/w/../etc/passwd": "it lies outside the workspace",
    "/usr/lib/python3.11/argparse.py": "",
    "/home/u/.venv/lib/python3.11/site-packages/httpx/_api.py": "",
    "/home/u/.venv/lib/python3.11/site-packages/x/.env": "it matches fim.privacy.exclude",
}


@pytest.mark.parametrize("path", REFUSED)
def test_a_path_is_refused_for_one_reason(path: str) -> None:
    """Ignore files count from their folder down, excludes everywhere, the rest must be inside."""
    reason = refused(RULES, path)

    assert reason.startswith(REFUSED[path])
    assert bool(reason) == bool(REFUSED[path])


def test_a_link_is_judged_by_where_it_leads() -> None:
    """A harmless name that leads to a private or foreign file is refused."""
    assert "leads to" in refused(RULES, "/w/a.py", "/w/.env")
    assert "leads to" in refused(RULES, "/w/a.py", "/other/a.py")
    assert refused(RULES, "/w/a.py", "/w/pkg/a.py") == ""


def test_names_are_relative_and_stay_inside() -> None:
    """The model sees paths below the root, never absolute ones, on Windows, too."""
    assert relative_path("/w", "/w/a/b.py") == "a/b.py"
    assert relative_path("c:/w", "c:\\w\\a\\b.py") == "a/b.py"
    assert relative_path("/w", "/w") is None
    assert relative_path("/w", "/wide/a.py") is None


def test_an_odd_pattern_does_not_void_the_others() -> None:
    """A line that is no pattern is left out."""
    assert ignored(rules("/w", {".gitignore": "!\n///\n[\n*.log\n"}, []), "a.log")


def test_git_says_the_same(tmp_path: Path) -> None:
    """`git check-ignore` and we agree on every path of a small tree of rules."""
    files = {
        ".gitignore": "*.log\n/build\ndocs/**/gen\n!keep.log\ntmp*/\na/**\n!a/b/\n",
        "sub/.gitignore": "*.txt\n!/keep.txt\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = [
        "x.log",
        "keep.log",
        "build/a",
        "sub/build/a",
        "docs/x/gen",
        "docs/gen",
        "docs/y",
        "tmp1/a",
        "a/b/c",
        "a/x",
        "sub/a.txt",
    ]
    paths += ["sub/keep.txt", "sub/deep/keep.txt", "other/a.txt", "tmp"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", *paths]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    ours = rules(str(tmp_path), files, [])
    assert [p for p in paths if ignored(ours, p)] == said
