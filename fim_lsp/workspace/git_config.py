"""
Git's configuration files, the machine's, the user's and a repository's, into settings. Blocking.

Their syntax is that of git-config(1). Conditions of `includeIf` are not looked at: the caller gets
such a value and the one that it may replace.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from fim_lsp.regular_files import read_rules

_CONFIG_BYTES = 1_000_000  # bytes of a configuration file
_DEPTH = 10  # of includes, as in git
_FILES = 100  # that a file includes, in all: each of three that it includes thrice would be 60,000

_SPACE = re.compile(rb"\s*")
_SECTION = re.compile(rb'\[\s*([-.\w]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_KEY = re.compile(rb"([A-Za-z][-\w]*)[ \t]*(=[ \t]*)?")
_QUOTED = re.compile(rb'"((?:[^"\\\n]|\\.|\\\n)*)"')
_PLAIN = re.compile(rb'(?:[^"\\\n#;]|\\.|\\\n)+')
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"n": b"\n", b"t": b"\t", b"b": b"\b", b"\n": b""}
# The words that `git -c` gives to programs: 'key'='value', and before git 2.31 'key=value'
_WORD = r"(?:'[^']*'|\\['!])"
_PARAMETER = re.compile(rf"({_WORD}+)(=({_WORD}*))?")
_LETTERS = re.compile(r"'([^']*)'|\\(['!])")
_COUNT = re.compile(
    r"[ \t\n\v\f\r]*\+?(\d{1,3})"
)  # of settings in the environment, as strtoul reads it
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
    """Yield the settings in a configuration file; other lines are left out."""
    section = b""
    at = 0
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
    count = _COUNT.fullmatch(os.environ.get("GIT_CONFIG_COUNT", ""))
    for n in range(int(count[1]) if count else 0):
        key, value = (os.environ.get(f"GIT_CONFIG_{what}_{n}", "") for what in ("KEY", "VALUE"))
        yield Setting(_lower(key), value)
    for parameter in _PARAMETER.finditer(os.environ.get("GIT_CONFIG_PARAMETERS", "")):
        key = _unquote(parameter[1])
        has_value = parameter[2]
        value = _unquote(parameter[3] or "")
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
