"""URIs into files and names: what is judged, what a model may be told, what changes the rules."""

from __future__ import annotations

import os
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from fim_lsp.workspace.files import uri_of
from fim_lsp.workspace.paths import changes_rules, identity, local_path, locate, path_to_judge

pytestmark = pytest.mark.promise("files-outside-and-links")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///w/.env", PurePosixPath("/w/.env")),
        ("untitled:///w/.env", PurePosixPath("/w/.env")),
        ("untitled:Untitled-1", PurePosixPath("Untitled-1")),
        ("untitled:c:\\w\\.env", PureWindowsPath("c:/w/.env")),
        ("untitled:/c%3A/w/.env", PureWindowsPath("c:/w/.env")),
        ("vscode-notebook-cell:/w/a.ipynb#ch0001", PurePosixPath("/w/a.ipynb")),
        ("vscode-notebook-cell://ssh-remote%2Bh/w/a.ipynb#W1", PurePosixPath("/w/a.ipynb")),
        ("file:///c%3A/w/a.py", PureWindowsPath("c:/w/a.py")),
        ("file://server/share/a.py", PureWindowsPath("//server/share/a.py")),
        ("file://localhost/w/a.py", PurePosixPath("/w/a.py")),
        ("file://LocalHost./w/a.py", PurePosixPath("/w/a.py")),
        ("file://127.0.0.1/w/a.py", PurePosixPath("/w/a.py")),
        ("file://[::1]/c%3A/w/a.py", PureWindowsPath("c:/w/a.py")),
        ("file://localhost.example.org/w/a.py", PureWindowsPath("//localhost.example.org/w/a.py")),
        ("file:///w/caf%E9.py", PurePosixPath("/w/caf\udce9.py")),
        ("git:/w/a.py", None),
        ("output:a", None),
        ("file://[x/a.py", None),
        ("", None),
    ],
)
def test_the_path_that_is_judged(uri: str, path: PurePath | None) -> None:
    """A text without a file and a cell of a notebook stand for a file, too."""
    assert path_to_judge(uri) == path
    assert type(path_to_judge(uri)) is type(path)
    assert local_path(uri) == (path if uri.startswith("file:") else None)


@pytest.mark.parametrize(
    "spellings",
    [
        ("file:///w/%40scope.py", "file:/w/@scope.py", "FILE:///w/@scope.py"),
        ("file:///w/%5Bid%5D.py", "file:///w/[id].py", "file:///w/%5bid%5d.py"),
        ("file:///w/%c3%a9t%c3%a9.py", "file:///w/%C3%A9t%C3%A9.py", "file:///w/été.py"),
        ("file:///w/app.py", "file:///w/x/../app.py", "file:///w/./app.py", "file:///w//app.py"),
        ("file:///w/app.py", "file:////w/app.py", "file://localhost/w/app.py"),
        ("file:///w/a%2Bb(1),~$&;=.py", "file:///w/a+b%281%29%2C%7E%24%26%3B%3D.py"),
        ("file:///w/c%23.py", "file:///w/c#.py"),
        ("file:///w/50%25.py", "file:///w/50%.py"),
        ("file:///C:/w/a.py", "file:///c%3A/w/a.py", "file:///c:/W/x/../a.py"),
        ("file://server/share/a.py", "file://SERVER/share/./a.py"),
        ("untitled:Untitled 1", "untitled:Untitled%201"),
        ("vscode-notebook-cell:/w/a%20b.ipynb#W1", "vscode-notebook-cell:/w/a b.ipynb#W1"),
        ("vscode-remote://ssh-remote%2Bh/w/a.py", "vscode-remote://ssh-remote%2bh/w/%61.py"),
    ],
)
def test_spellings_of_one_uri(spellings: tuple[str, ...]) -> None:
    """However clients encode a path and step about in it, it is the same document."""
    assert len({identity(uri) for uri in spellings}) == 1


def test_different_uris_are_different_documents() -> None:
    """Of another folder, case, scheme, host, query or cell."""
    uris = (
        "file:///w/a.py", "file:///w/A.py", "file:///v/a.py", "file:///w/a.py/",
        "file:///c:/w/a.py",
        "file://server/w/a.py", "untitled:/w/a.py", "untitled:w/a.py", "file:///w/a%2525.py",
        "file:///w/a%25.py", "git:/w/a.py?x", "git:/w/a.py?y", "cell:/w/a.py#1", "cell:/w/a.py#2",
        "vscode-remote://one/w/a.py", "vscode-remote://two/w/a.py", "file://[x/a.py", "",
    )  # fmt: skip
    assert len({identity(uri) for uri in uris}) == len(uris) - 1  # a folder is no document


def test_a_name_that_is_not_utf_8_comes_back_the_same() -> None:
    """URIs carry bytes; a model is told what can be read of them."""
    uri = uri_of("file:///w", os.fsdecode(b"a b/caf\xe9.py"))
    assert uri == "file:///w/a%20b/caf%E9.py"
    assert os.fsencode(local_path(uri) or "") == b"/w/a b/caf\xe9.py"
    assert locate(uri, ("file:///w",)).path == "a b/caf?.py"
    assert locate(uri, ()).path == "caf?.py"


def test_files_outside_of_all_roots_belong_to_their_folder() -> None:
    """Two folders of one name are two; no model sees where they are."""
    here = locate("file:///a/src/x.py", ())
    there = locate("file:///b/src/x.py", ())
    assert here[:3] == there[:3] == ("", "src", "x.py")
    assert here.folder != there.folder
    assert locate("file:///a/src/y.py", ()).folder == here.folder


@pytest.mark.parametrize(
    ("uri", "changes"),
    [
        ("file:///w/.gitignore", True),
        ("file:///w/a/.GITIGNORE", True),
        ("file:///w/.fimignore", True),
        ("file:///w/.fim-lsp.toml", True),
        ("file:///w/.git/info/exclude", True),
        ("file:///main.git/info/exclude", True),
        ("file:///w/.git/config", True),
        ("file:///home/u/.gitconfig", True),
        ("file:///home/u/.config/git/ignore", True),
        ("file:///home/u/mine", True),
        ("file:///c%3A/w/.gitignore", True),
        ("file:///w/gitignore", False),
        ("file:///w/exclude", False),
        ("file:///home/u/other", False),
        ("untitled:/w/.gitignore", False),
        ("", False),
    ],
)
def test_a_change_of_these_files_changes_the_rules(uri: str, changes: bool) -> None:
    """Told by name, and by what the user's configuration of git names."""
    assert changes_rules(uri, [PurePosixPath("/home/u/mine")]) == changes


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("file:///shop/.virtual_documents/sub/n.ipynb", "file:///shop"),
        ("file:///shop/.virtual_documents/sub/n.ipynb", "file:///shop/.virtual_documents"),
        ("file:///shop/sub/n.ipynb", "file:///shop/.virtual_documents"),
    ],
)
def test_a_notebook_of_jupyterlab_is_where_it_is_saved(uri: str, root: str) -> None:
    """Not in the folder that JupyterLab names, which people tell git to ignore."""
    assert local_path(uri) == PurePosixPath("/shop/sub/n.ipynb")
    assert locate(uri, (root,)) == (root, "shop", "sub/n.ipynb", "")
