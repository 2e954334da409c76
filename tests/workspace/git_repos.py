"""Repositories with odd rules, made from a seed, and what real git says of paths in them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random
from typing import NamedTuple

from fim_lsp.settings.config import PrivacyConfig

BARE = PrivacyConfig(exclude=())

NAMES = [
    b"a", b"b", b"ab", b"abc", b"foo", b"bar", b"foobar", b"Foo", b"src", b"build", b"x.py",
    b"y.py", b"x.pyc", b"x.log", b"keep.log", b".env", b".hidden", b"a b", b"b ", b" c", b"#x",
    b"!x", b"d\\e", b"[a]", b"a]b", b"a*b", b"*", b"?", b"-", b"a-b", b"^", b"caf\xc3\xa9.py",
    b"caf\xe9.py", b"\xff\xfe", b"A", b"Z9", b"_", b"a.b.c", b"tab\there", b"aaaaaaab", b"...",
    b"~", b"{x}", b"x,y", b"b\\", b"\\", b"**", b"cr\r", b"new\nline",
]  # fmt: skip
CLASSES = [
    b"[ab]", b"[!a]", b"[^a]", b"[a-z]", b"[!a-z]", b"[A-Z]", b"[[:alpha:]]", b"[[:upper:]]",
    b"[![:digit:]]", b"[[:punct:]]", b"[[:space:]]", b"[[:foo:]]", b"[[:alpha:]", b"[]a]", b"[!]a]",
    b"[a-]", b"[-a]", b"[\\]]", b"[\\a-c]", b"[a-\\c]", b"[a/b]", b"[/]", b"[z-a]", b"[a", b"[",
    b"[]", b"[!]", b"[a-c-f]", b"[[]", b"[[:]", b"[[:a]", b"[\xc3\xa9]", b"[\x80-\xff]", b"[*]",
    b"[?]", b"[A]", b"[[:xdigit:][:punct:]]", b"[\\", b"[a-", b"[[:cntrl:]]", b"[[:graph:]]",
    b"[[:print:]]", b"[[:blank:]]", b"[[:lower:]x]", b"[[:alnum:]_]", b"[a\\]b]", b"[,-.]",
    b"[--0]", b"[+--]", b"[a-\xff]", b"[[=a=]]", b"[[.a.]]", b"[b-]c]", b"[Y-b]", b"[[:alpha:]-z]",
]  # fmt: skip
ENDS = [
    b"", b"", b"", b"", b" ", b"  ", b"\\ ", b"\\  ", b"\t", b"\\", b"\\\\", b" \\", b"\x00rest",
    b"\r",
]  # fmt: skip
WHOLE = [
    b"", b"#", b"# a", b"!", b"/", b"!/", b"//", b"///", b"\\", b"*", b"**", b"***", b"/*", b"/**",
    b"**/", b"*/", b"!*/", b"!*", b"!**", b"!/*", b"*.py", b"!*.py", b"*.*", b"\\#x", b"\\!x",
    b"!\\!x", b"!!x", b"/*/", b"!/*/", b"*/*", b"**/*", b"*/**", b"/**/", b"**/**", b"?", b"??",
    b"[", b"\\*", b"\\?", b".", b"./a", b"..", b"../a", b".*", b"!.*", b"a//b", b" ", b"  #",
]  # fmt: skip


class Repository(NamedTuple):
    """A work tree *top*, the files in it to ask about, and where git keeps what it knows of it."""

    top: Path
    paths: list[bytes]
    common: Path


def _folders(random: Random) -> list[bytes]:
    folders = [b""]
    for _ in range(random.randint(2, 9)):
        folder = random.choice(folders)
        if folder.count(b"/") < 4:
            folders.append(folder + random.choice(NAMES) + b"/")
    return sorted(set(folders))


def _piece(random: Random, char: bytes) -> bytes:
    """Return a pattern that perhaps matches the one *char*."""
    escaped = b"\\" + char
    usual = escaped if char in b"*?[\\" and random.random() < 0.7 else char
    kinds = {usual: 70, b"?": 8, b"*": 8, b"**": 2, escaped: 3, char.swapcase(): 2}
    kinds |= {random.choice(CLASSES): 4, b"[" + char + b"]": 3}
    return random.choices([*kinds], [*kinds.values()])[0]


def _component(random: Random, name: bytes) -> bytes:
    roll = random.random()
    if roll < 0.45:
        return name
    if roll < 0.52:
        return random.choice([b"*", b"**", b"***", b"?*", b"*?", b"**a", b"a**"])
    if roll < 0.60:
        return b"*" + name[random.randrange(len(name)) :]
    if roll < 0.66:
        return name[: random.randrange(len(name)) + 1] + b"*"
    return b"".join(_piece(random, name[n : n + 1]) for n in range(len(name)))


def _from_path(random: Random, path: bytes) -> bytes:
    """Return a pattern that perhaps matches *path* or a folder of it."""
    parts = path.split(b"/")
    parts = parts[: random.randint(1, len(parts))]
    start = random.choice([0, 0, 0, random.randrange(len(parts)), len(parts) - 1])
    parts = [_component(random, part) for part in parts[start:]]
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        at = random.randint(0, len(parts))
        if at < len(parts) and random.random() < 0.4:
            parts[at] = b"**"
        else:
            parts.insert(at, random.choice([b"**", b"**", b"*", b"", b"***"]))
    joints = [
        random.choice([b"/"] * 30 + [b"\\/", b"//", b"?", b"*/", b"/*", b"[/]", b"**/", b"/**"])
        for _ in parts
    ]
    text = b"".join(part + joint for part, joint in zip(parts, joints, strict=True))[:-1]
    return random.choice([b"", b"", b"/"]) + text + random.choice([b"", b"", b"/"])


def _rules(random: Random, paths: list[bytes]) -> bytes:
    lines = []
    for _ in range(random.randint(1, 8)):
        if random.random() < 0.25:
            line = random.choice(WHOLE)
        else:
            line = _from_path(random, random.choice(paths))
            line = random.choice([b"", b"", b"!"]) + line + random.choice(ENDS)
        lines.append(line.replace(b"\n", b"?"))
    newline = random.choice([b"\n", b"\n", b"\n", b"\r\n"])
    mark = random.choice([b""] * 6 + [b"\xef\xbb\xbf"])
    return mark + newline.join(lines) + random.choice([newline, b"", newline * 2])


def _paths(random: Random, folders: list[bytes], n_paths: int) -> list[bytes]:
    found = set()
    for _ in range(n_paths * 20):
        deeper = b"".join(
            random.choice(NAMES) + b"/" for _ in range(random.choice([0, 0, 0, 1, 2]))
        )
        path = random.choice(folders) + deeper + random.choice(NAMES)
        if path + b"/" not in folders:
            found.add(path)
        if len(found) == n_paths:
            break
    return sorted(found)


def write_rules(random: Random, file: Path, paths: list[bytes]) -> None:
    """A file of rules that perhaps match some of *paths*."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_rules(random, paths))


def git(*arguments: str | Path, cwd: Path, stdin: bytes = b"") -> bytes:
    """Return what git prints; error 1 is `check-ignore`'s word for nothing found."""
    done = subprocess.run(
        ["git", *map(str, arguments)], cwd=cwd, input=stdin, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def repository(
    random: Random, top: Path, n_paths: int, *, linked_to: Path | None = None
) -> Repository:
    """Return a new repository in the folder *top*; *linked_to* keeps its `.git` elsewhere, as of a worktree."""
    top.mkdir(parents=True)
    folders = _folders(random)
    paths = _paths(random, folders, n_paths)
    if linked_to is None:
        git("init", "-q", "--template=", cwd=top)
        private = common = top / ".git"
    else:
        git("init", "-q", "--template=", linked_to, cwd=top)
        common = linked_to / ".git"
        private = linked_to / ".git/worktrees/w"
        private.mkdir(parents=True)
        (private / "HEAD").write_text("ref: refs/heads/w\n")
        (private / "commondir").write_text("../..\n")
        (private / "gitdir").write_text(f"{top}/.git\n")
        (top / ".git").write_text(f"gitdir: {private}\n")
    if random.random() < 0.2:
        git("config", "core.ignoreCase", "true", cwd=top)
    for folder in folders:
        (top / os.fsdecode(folder)).mkdir(parents=True, exist_ok=True)
        if random.random() < (0.9 if not folder else 0.4):
            below = [p[len(folder) :] for p in paths if p.startswith(folder)]
            write_rules(random, top / os.fsdecode(folder) / ".gitignore", below or paths)
    if random.random() < 0.3:
        write_rules(random, common / "info/exclude", paths)
    if random.random() < 0.15:
        other = common / "rules of mine"
        write_rules(random, other, paths)
        git("config", "core.excludesFile", other, cwd=top)
    return Repository(top, paths, common)


def git_verdicts(found: Repository) -> dict[bytes, bool]:
    """Return which paths `git check-ignore` calls ignored, tracked or not."""
    asked = b"".join(b"./" + path + b"\0" for path in found.paths)
    said = git(
        "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n", cwd=found.top, stdin=asked
    )
    fields = said.split(b"\0")[:-1]
    rows = zip(fields[0::4], fields[2::4], fields[3::4], strict=True)
    return {path[2:]: bool(source) and pattern[:1] != b"!" for source, pattern, path in rows}
