"""
Text that a client shows without a name, into the file that it is from. Blocking: call it in a thread.

Looked at are all files of a folder, also those that are private: a text must be known as private to be kept out of
prompts. What is read here is compared, and goes nowhere. Where a public file and a private one have the same lines, the
text counts as the private one's. Folders that programs fill are searched last, and only for a text that has lines which
the rest does not have: a copy that a build made of a public file hides nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from fim_lsp.documents import unix
from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.workspace.ignore_files import why_private
from fim_lsp.workspace.regular_files import read

FILES = 20_000
BYTES = 200_000_000  # of all: three seconds
FILE_BYTES = 20_000_000  # of one; twice as long as a text with suggestions
MOST_FILES = 1_000_000  # bytes: few files have more, and those are most often no text
LEAST = 2  # lines that an excerpt and its file have in common, where the excerpt has so many at all
WORD = 2  # letters and digits that a line has at least to tell anything
BINARY = 8192  # bytes at the beginning of a file that say whether it is text, as git looks at them
FILLED = {
    "node_modules", ".venv", "venv", ".tox", ".nox", "site-packages", "__pycache__", "target", "build", "dist", "out",
    "_build", ".next", ".git",
}  # fmt: skip


class Whose(NamedTuple):
    """*path* is below the folder, "" where no file has the text; not *sure* where files were left out of the search."""

    path: str = ""
    sure: bool = True


class _Fit(NamedTuple):
    """A file that has the lines *shared* with the excerpt; *is_filled*: a program may have put it there."""

    path: str
    shared: frozenset[str]
    is_filled: bool


WhyPrivate = Callable[[str], str]  # of a path below the folder


def file_of(excerpt: Excerpt, root: Path, why_private: WhyPrivate) -> Whose:
    """Return the file below *root* that has most of the excerpt's lines; a private one rather than another."""
    lines, edges = telling(excerpt)
    if not lines:
        return Whose()
    search = _Search(root, lines, min(LEAST, max(1, len(lines - {_at_cursor(excerpt)}))))
    fits = [*search.fits(root, is_filled=False)]
    found, is_private = _best(fits, lines, why_private)
    if not search.ended and (found is None or not (is_private or lines - edges <= found.shared)):
        for folder in search.later:
            fits += search.fits(folder, is_filled=True)
        found, is_private = _best(fits, lines, why_private)
    return Whose(found.path if found else "", is_private or not search.ended)


def telling(excerpt: Excerpt) -> tuple[frozenset[str], frozenset[str]]:
    """Return the lines that tell a text from others; those of them that may be new or cut: the cursor's and the outer ones."""
    shown = [line.strip() for line in (excerpt.before + excerpt.after).split("\n")]
    lines = frozenset(line for line in shown if sum(map(str.isalnum, line)) >= WORD)
    return lines, lines & {shown[0], _at_cursor(excerpt), shown[-1]}


def _at_cursor(excerpt: Excerpt) -> str:
    return (excerpt.before.rpartition("\n")[2] + excerpt.after.partition("\n")[0]).strip()


def text_of(path: Path) -> str:
    """Return the text of a file now, "" where it cannot be read."""
    return _decode(read(path, FILE_BYTES, follow=False) or b"")[0]


def _best(
    fits: list[_Fit], lines: frozenset[str], why_private: WhyPrivate
) -> tuple[_Fit | None, bool]:
    """Return the file that the text is from, and whether it is private."""
    ordered = sorted(fits, key=lambda fit: (-len(fit.shared), fit.is_filled))
    public = next((fit for fit in ordered if not why_private(fit.path)), None)
    for fit in ordered:
        if fit is not public and _may_be(fit, public, lines) and why_private(fit.path):
            return fit, True
    return public, False


def _may_be(fit: _Fit, public: _Fit | None, lines: frozenset[str]) -> bool:
    """Return whether a text with *lines* that *public* has most of may as well be from the private file *fit*."""
    if public is None or len(fit.shared - public.shared) >= LEAST:
        return True
    if fit.is_filled and fit.shared <= public.shared:
        return False
    is_tie = len(fit.shared) >= max(len(public.shared), LEAST)
    return is_tie and 2 * len(fit.shared) >= len(lines)  # imports are in all files


class _Search:
    """State: *ended* by a limit before all was read, and the folders to search *later*."""

    def __init__(self, root: Path, lines: frozenset[str], least: int) -> None:
        self.ended = False
        self.later: list[Path] = []
        self._root = root
        self._real_root = Path(os.path.realpath(root))
        self._lines = lines
        self._plain = {
            plain: line for line in lines if sum(map(str.isalnum, plain := _plain(line))) >= WORD
        }
        self._least = least
        self._n_files = self._n_bytes = 0
        self._linked: set[str] = set()

    def fits(self, folder: Path, *, is_filled: bool) -> Iterator[_Fit]:
        """Yield the files below *folder* that may have the text."""
        for path in self._files(folder, is_filled=is_filled):
            self._n_files += 1
            if self._n_files > FILES or self._n_bytes > BYTES:
                self.ended = True
                return
            shared = self._find_shared(path)
            if len(shared) >= self._least:
                yield _Fit(path.relative_to(self._root).as_posix(), shared, is_filled)

    def _files(self, top: Path, *, is_filled: bool) -> Iterator[Path]:
        for folder, names, files in os.walk(top):
            for name in sorted(names):
                path = Path(folder, name)
                if path.is_symlink():
                    self._follow(path)
                elif not is_filled and name in FILLED:
                    self.later.append(path)
                elif name != "objects" or ".git" not in path.parts:  # these are compressed
                    continue
                names.remove(name)
            names.sort()
            yield from (Path(folder, name) for name in sorted(files))

    def _follow(self, link: Path) -> None:
        """Search the folder that *link* leads to once, and if it is not below the root: then it is searched there."""
        real = os.path.realpath(link)
        if real not in self._linked and not Path(real).is_relative_to(self._real_root):
            self._linked.add(real)
            self.later.append(link)

    def _find_shared(self, path: Path) -> frozenset[str]:
        data = read(path, MOST_FILES, follow=True) or b""
        if not data or (b"\0" in data[:BINARY] and not _wide(data[:BINARY])):
            return frozenset()
        if len(data) == MOST_FILES:
            data = read(path, FILE_BYTES + 1, follow=True) or b""
        self._n_bytes += len(data)
        if len(data) > FILE_BYTES:
            self.ended = True
        text, is_known = _decode(data)
        lines = {line.strip() for line in text.split("\n")}
        shared = self._lines & lines
        if not is_known:  # in an encoding of which only ASCII is sure
            plain = {_plain(line) for line in lines if not line.isascii()}
            shared |= {line for ascii_only, line in self._plain.items() if ascii_only in plain}
        return shared


def _decode(data: bytes) -> tuple[str, bool]:
    """Return a file's text, and whether its encoding is known."""
    if wide := _wide(data[:BINARY]):
        return unix(data.decode(wide, "replace")), True
    try:
        return unix(data.decode("utf-8-sig")), True
    except UnicodeDecodeError:
        return unix(data.decode("latin-1")), False


def _wide(start: bytes) -> str:
    """Return the encoding of text in units of more than a byte, "" for any other."""
    marks = {
        b"\xff\xfe\0\0": "utf-32",
        b"\0\0\xfe\xff": "utf-32",
        b"\xff\xfe": "utf-16",
        b"\xfe\xff": "utf-16",
    }
    for mark, encoding in marks.items():
        if start.startswith(mark):
            return encoding
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) * 4 < len(start) or min(even, odd) * 8 > max(even, odd):
        return ""
    return "utf-16-be" if even > odd else "utf-16-le"


def _plain(line: str) -> str:
    return line.encode("ascii", "ignore").decode().strip()


KEPT = 64  # texts that are not looked up again
UNKNOWN = (
    "nothing was sent: fim-lsp does not know which file this text is from, and that file may be private; {root} has more "
    "files than it searches. Choose a smaller folder (fim-lsp http --root), or have the client name the file"
)


class NotKnown(Exception):
    """A text could be from a file that is private; the message is for the client."""


class LookUp:
    """
    Texts that clients show without a name into the files that they are from, looked up once. State: what was looked up.

    *folder* is the project, *excludes* what the user's settings exclude; *cost_s* is of the last one.
    """

    def __init__(self, folder: Path, excludes: Callable[[], tuple[str, ...]]) -> None:
        self.cost_s = 0.0
        self._folder = folder
        self._excludes = excludes
        self._known: OrderedDict[object, bool] = OrderedDict()  # whether the text is in no file

    async def whose(self, excerpt: Excerpt) -> Whose:
        """Return the file that *excerpt* is from. Raises NotKnown."""
        lines, edges = telling(excerpt)
        if lines - edges in self._known:  # typing on does not make it known
            raise NotKnown(UNKNOWN.format(root=self._folder))
        loop = asyncio.get_running_loop()
        begun_s, judge = loop.time(), partial(self._judge, self._excludes())
        found = await asyncio.to_thread(file_of, excerpt, self._folder, cache(judge))
        self.cost_s = loop.time() - begun_s
        if found.sure:
            return found
        self._remember(lines - edges, is_new=False)
        raise NotKnown(UNKNOWN.format(root=self._folder))

    async def why_private(self, path: str) -> str:
        """Return why the file *path* of the folder is private, "" if it is not."""
        return await asyncio.to_thread(self._judge, self._excludes(), path)

    async def is_new(self, text: str) -> bool:
        """Return whether *text*, which a client shows under a name that no file has, is in no file under another name."""
        if text not in self._known:
            try:
                found = await self.whose(Excerpt(text, ""))
            except NotKnown:
                found = Whose(sure=False)
            self._remember(text, is_new=found == Whose())
        return self._known[text]

    def _judge(self, excludes: tuple[str, ...], path: str) -> str:
        return why_private(self._folder / path, self._folder, excludes)

    def _remember(self, key: object, *, is_new: bool) -> None:
        self._known[key] = is_new
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
