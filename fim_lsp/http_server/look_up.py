"""
Texts that clients show without a name into the files that they are from, looked up once. State: what was looked up.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.http_server.whose_text import Whose, file_of, telling
from fim_lsp.workspace.ignore_files import why_private

KEPT = 64  # texts that are not looked up again
UNKNOWN = (
    "nothing was sent: it is not known which file this text is from, and that file may be private; {root} has more "
    "than is looked through. Begin at a smaller folder (fim-lsp http --root), or let the client name the file"
)


class NotKnown(Exception):
    """A text could be from a file that is private; the message is for the client."""


class LookUp:
    """See the module. *folder* is the project, *excludes* what the user's settings exclude; *cost_s* is of the last one."""

    def __init__(self, folder: Path, excludes: Callable[[], tuple[str, ...]]) -> None:
        self.cost_s = 0.0
        self._folder = folder
        self._excludes = excludes
        self._known: OrderedDict[object, bool] = OrderedDict()  # whether the text is in no file

    async def whose(self, excerpt: Excerpt) -> Whose:
        """The file that *excerpt* is from. Raises NotKnown."""
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
        """Why the file *path* of the folder is private, "" if it is not."""
        return await asyncio.to_thread(self._judge, self._excludes(), path)

    async def is_new(self, text: str) -> bool:
        """Whether *text*, which a client shows under a name that no file has, is in no file under another name."""
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
