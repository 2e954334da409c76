"""
A folder into the git repository whose work tree begins there: its rules besides `.gitignore`.
Blocking.

Git itself is not asked: it may be missing, and it does what the `.git/config` of a stranger's
archive says. Read are `.git` (a folder, or the
file of a worktree or a submodule), `info/exclude` in the repository's common folder, and of the
configuration `core.excludesFile` and `core.ignoreCase`. Its syntax is that of git-config(1);
conditions of `includeIf` are not looked at: the caller gets such a value and the one it may
replace.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from fim_lsp.context.ignore_rules import LONGEST
from fim_lsp.context.privacy import Repository
from fim_lsp.regular_files import Wrong, is_folder, read_beginning, read_rules

_CONFIG_BYTES = 1_000_000  # bytes of a configuration file
_DEPTH = 10  # of includes, as in git
_FILES = 100  # that a file includes, in all: each of three that it includes thrice would be 60,000
_DIGITS = 4  # of the number of settings in the environment

_SPACE = re.compile(rb"\s*")
_SECTION = re.compile(rb'\[\s*([-.\w]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(rb"([A-Za-z][-\w]*)[ \t]*(=[ \t]*)?")
_QUOTED = re.compile(rb'"((?:[^"\\\n]|\\.|\\\n)*)"')
_PLAIN = re.compile(rb'(?:[^"\\\n#;]|\\.|\\\n)+')
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"b": b"\b", b"\n": b""}
# What `git -c` gives to the programs it starts: 'key'='value', and before git 2.31 'key=value'
_WORD = r"(?:'[^']*'|\\['!])"
_PARAMETER = re.compile(rf"({_WORD}+)(=({_WORD}*))?")
_LETTERS = re.compile(r"'([^']*)'|\\(['!])")
_TRUE = re.compile(r"true|yes|on|[-+]?0*[1-9]\d*[kmg]?", re.IGNORECASE)

_SYSTEM = {
    "win32": ("%ProgramData%/Git/config", "%ProgramFiles%/Git/etc/gitconfig"),
    "darwin": (
        "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
        "/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
        "/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig",
    ),
}  # fmt: skip
"""Where builds of git look for the machine's settings, the least important first."""


class Setting(NamedTuple):
    """One value; *key* is dotted and small except for a subsection. Not *sure*: on a condition."""

    key: str
    value: str
    sure: bool = True


def user_folder() -> Path:
    """Return the folder of the user's own git files."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or expand_home("~/.config"), "git")


def user_files() -> Iterator[Path]:
    """Yield the configuration files of the machine and of the user, the least important first."""
    if not is_true(os.environ.get("GIT_CONFIG_NOSYSTEM", "")):
        system = os.environ.get("GIT_CONFIG_SYSTEM")
        for name in (system,) if system else _SYSTEM.get(sys.platform, ("/etc/gitconfig",)):
            yield Path(os.path.expandvars(name))
    if only := os.environ.get("GIT_CONFIG_GLOBAL"):
        yield Path(only)
    else:
        yield user_folder() / "config"
        yield expand_home("~/.gitconfig")


def values(paths: Iterable[Path], key: str) -> list[Setting]:
    """
    Return all values that *key* may have by these files, the last one first; only the last can be
    sure.
    """
    matching: list[Setting] = []
    files = (_settings(path, _DEPTH, []) for path in paths)
    # the settings in the environment count over all files
    variables = _with_included(_in_environment(), Path("/"), _DEPTH, [])
    for setting in chain(*files, variables):
        if setting.key == key:
            matching = [setting] if setting.sure else [setting, *matching]
    return matching


def is_true(value: str) -> bool:
    """Return whether git takes *value* for true."""
    return _TRUE.fullmatch(value) is not None


def expand_home(name: str) -> Path:
    """Return a path that may begin with `~`; it stays where there is no such user."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def parse(data: bytes) -> Iterator[Setting]:
    """Yield the settings in a configuration file; a line that is none is left out."""
    section, at = b"", 0
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    while (space := _SPACE.match(data, at)) and (at := space.end()) < len(data):
        if header := _SECTION.match(data, at):
            name, subsection = header.groups()
            section = name.lower() + (b"." + _unescape(subsection) if subsection else b"")
            at = header.end()
            continue
        if key := _KEY.match(data, at):
            value, at = _value(data, key.end()) if key[2] else (b"true", key.end())
            yield Setting(os.fsdecode(section + b"." + key[1].lower()), os.fsdecode(value))
        at = data.find(b"\n", at) + 1 or len(data)


def is_unc_path(path: Path) -> bool:
    """
    Return whether this is a path of another machine: Windows shows the user's credentials to one
    that is asked.
    """
    return os.name == "nt" and str(path).startswith(("\\\\", "//"))


def _settings(path: Path, depth: int, included: list[Path]) -> Iterator[Setting]:
    """
    Yield the settings of a file and of those it includes, where it does; these are *included* then.
    """
    data = read_rules(path, _CONFIG_BYTES, follow=True)
    yield from _with_included(parse(data) if data else (), path, depth, included)


def _with_included(
    settings: Iterable[Setting], path: Path, depth: int, included: list[Path]
) -> Iterator[Setting]:
    """*settings*, which *path* says, and those of the files that they include."""
    for setting in settings:
        yield setting
        section, _, key = setting.key.rpartition(".")
        if key == "path" and section.partition(".")[0] in ("include", "includeif") and depth:
            other = path.parent / expand_home(setting.value)
            if len(included) >= _FILES or (is_unc_path(other) and not is_unc_path(path)):
                continue
            included.append(other)
            sure = section == "include"
            for inner in _settings(other, depth - 1, included):
                yield inner._replace(sure=inner.sure and sure)


def _in_environment() -> Iterator[Setting]:
    count = os.environ.get("GIT_CONFIG_COUNT", "")
    for n in range(int(count) if count.isdecimal() and len(count) < _DIGITS else 0):
        key, value = (os.environ.get(f"GIT_CONFIG_{what}_{n}", "") for what in ("KEY", "VALUE"))
        yield Setting(_lower(key), value)
    for parameter in _PARAMETER.finditer(os.environ.get("GIT_CONFIG_PARAMETERS", "")):
        key, has_value, value = _unquote(parameter[1]), parameter[2], _unquote(parameter[3] or "")
        if not has_value:
            key, has_value, value = key.partition("=")
        yield Setting(_lower(key), value if has_value and parameter[2] != "=" else "true")


def _lower(key: str) -> str:
    section, _, name = key.rpartition(".")
    return f"{section.lower()}.{name.lower()}"


def _unquote(words: str) -> str:
    """Return a text that git quoted for a shell."""
    return _LETTERS.sub(lambda match: match[1] or match[2] or "", words)


def _value(data: bytes, at: int) -> tuple[bytes, int]:
    """
    Return the value that begins at *at*, without quotes, comment and spaces at its end; where it
    ends.
    """
    parts: list[bytes] = []
    while part := _QUOTED.match(data, at) or _PLAIN.match(data, at):
        at = part.end()
        rest = data[at : at + 1]
        text = part[1] if part.re is _QUOTED else part[0].rstrip() if rest != b'"' else part[0]
        parts.append(_unescape(text))
    return b"".join(parts), at


def _unescape(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text)


_HEAD = re.compile(rb"ref:\s*refs/|[0-9a-f]{40}")  # a branch, or a commit
_POINTER_BYTES = 8192  # of a file that names another: more than a path can have
_EXCLUDES = "core.excludesfile"


def repository(folder: Path) -> Repository | None:
    """
    Return the repository whose work tree begins at *folder*; None where none does. Raises OSError
    where one of its files cannot be read.
    """
    private = _git_folder(folder / ".git")
    if private is None:
        return None
    common = _common_folder(private)
    configs = [*user_files(), common / "config"]
    if any(is_true(setting.value) for setting in values(configs[-1:], "extensions.worktreeconfig")):
        configs.append(private / "config.worktree")
    fold = values(configs, "core.ignorecase")[:1]
    return _with_excludes(
        any(is_true(setting.value) for setting in fold),
        [(".git/info/exclude", _rules(common / "info/exclude"))],
        [folder / path for path in _excludes(values(configs, _EXCLUDES))],
    )


def no_repository() -> Repository:
    """Return the rules for a folder in no repository: the user's own excludes count there, too."""
    return _with_excludes(sys.platform in ("win32", "darwin"), [], excludes_files())


def excludes_files() -> list[Path]:
    """
    Return the files of rules that the user's own configuration of git names. Raises OSError where
    that cannot be read.
    """
    return [*_excludes(values(user_files(), _EXCLUDES))]


def _with_excludes(fold: bool, rules: list[tuple[str, bytes]], files: list[Path]) -> Repository:
    everywhere = [("git's core.excludesFile", _rules(path)) for path in files]
    return Repository(fold, (*rules, *everywhere[-1:]), tuple(everywhere[:-1]))


def _excludes(settings: list[Setting]) -> Iterator[Path]:
    """
    Yield the files that *settings* name, those on a condition first; an empty name switches them
    off.
    """
    for setting in settings:
        if setting.value:
            yield expand_home(setting.value)
    if not settings or not settings[-1].sure:
        yield user_folder() / "ignore"


def _rules(path: Path) -> bytes:
    """Return a file of rules; as git, and unlike `.gitignore`, it may be a link."""
    if is_unc_path(path) and path not in excludes_files():
        return b"*"  # a stranger's `.git/config` names another machine: it is not asked
    return read_rules(path, LONGEST, follow=True) or b""


def _git_folder(path: Path) -> Path | None:
    """
    Return the repository that *path*, a `.git`, is or names; None where it is none. Raises OSError
    where it cannot be read, or leads to none: to a disk that is not mounted.
    """
    try:
        private = path if is_folder(path) else _read_pointer(path)
        if private is None or (is_unc_path(private) and not is_unc_path(path)):
            return None
        common = _common_folder(private)
        is_whole = is_folder(common / "objects") and is_folder(common / "refs")
        if is_whole and _HEAD.match(_head(private)):
            return private
        if is_whole:  # after a power cut, as a rule; what it hides stays hidden
            raise Wrong(private / "HEAD", "names no branch", "name one: ref: refs/heads/…")
        if private is not path:  # git ends there, too
            raise FileNotFoundError(errno.ENOENT, "leads to no repository", str(path))
        return None
    except ValueError:  # it holds a NUL
        return None


def _read_pointer(path: Path) -> Path | None:
    """Return the folder that the file *path* of a worktree or submodule names."""
    text = read_beginning(path, _POINTER_BYTES, follow=True) or b""
    if not text.startswith(b"gitdir: "):
        return None
    return path.parent / os.fsdecode(text.removeprefix(b"gitdir: ").rstrip(b"\r\n"))


def _head(private: Path) -> bytes:
    """
    Return what is checked out in the repository in *private*; a link to the branch is the old form.
    """
    path = private / "HEAD"
    if path.is_symlink():
        return b"ref: " + os.fsencode(path.readlink())
    return read_beginning(path, _POINTER_BYTES, follow=False) or b""


def _common_folder(private: Path) -> Path:
    """Return the folder that all worktrees of a repository share."""
    named = read_beginning(private / "commondir", _POINTER_BYTES, follow=True)
    common = private / os.fsdecode(named.rstrip(b"\r\n")) if named else private
    return private if is_unc_path(common) and not is_unc_path(private) else common
