"""
The verdicts on files: a look at the disk. State: the refusals.

A disk may not answer, so a look may hang for as long as it likes, and is in no other's way. A
document that was private, or could not be judged, stays so while its file is gone, or lies in
another folder and is not the text that the editor shows: then the disk says nothing of the
document.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import NamedTuple

from fim_lsp.settings.config import Config, PrivacyConfig
from fim_lsp.workspace import paths
from fim_lsp.workspace.files import has_lines
from fim_lsp.workspace.ignore_files import UNSURE, list_rule_files, why_private
from fim_lsp.workspace.paths import PlaceId
from server_bridge.machine.disks import in_disk_thread

LIMIT_S = 1.0  # for what a disk is asked: after that a request goes on without it
SOON_S = 0.1  # for where a file is: a look at a disk that answers takes some milliseconds
CALM_S = 0.05  # without another change of the rules, before the disk is asked because of one

REFUSALS = 10_000  # that are remembered


class Judged(NamedTuple):
    """
    The verdict on a file.

    *why* it is private, "" if it is not. Its *place* on the disk, None if there is none.
    *is_shown*: the editor shows the text that is on the disk.
    """

    why: str
    place: PlaceId | None = None
    is_shown: bool = False


class Verdicts:
    """The verdicts on the files of a session; *roots* are the editor's folders."""

    def __init__(self, roots: Callable[[], tuple[str, ...]]) -> None:
        self._roots = roots
        self.rule_files: tuple[Path, ...] = ()  # that the user's configuration of git names
        self._refusals: dict[str, Judged] = {}  # by path, the latest last

    async def find(self, uri: str, lines: Sequence[str], config: Config) -> Judged:
        """Return why *uri*, of which the editor shows *lines*, is private, and where it is."""
        if (file := paths.path_to_judge(uri)) is None:
            return Judged("not a file")
        if uri.startswith(paths.UNNAMED) and config.remote_servers:
            return Judged("it has no name, so that only a model of this machine may see it")
        if why := config.privacy.why_unknown(file):
            return Judged(f"{UNSURE}: {why}")
        name = "" if uri.startswith("untitled:") else os.path.normpath(file)  # noqa: ASYNC240
        refused = lines if name in self._refusals else None
        look = partial(self._look, uri, refused, config.privacy)
        seen, self.rule_files = await in_disk_thread(look)
        return seen._replace(why=self._keep_refusal(name, seen)) if name else seen

    def list_private(self, uris: Collection[str], privacy: PrivacyConfig) -> set[str]:
        """
        Return the files whose text must not stay on disk: they are known to be gone, or private.
        Blocking.
        """
        return {uri for uri in uris if not self._may_stay(uri, privacy)}

    def _may_stay(self, uri: str, privacy: PrivacyConfig) -> bool:
        file = paths.path_to_judge(uri)
        try:
            if file is None or not stat.S_ISREG(Path(file).stat().st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError, ValueError):  # gone; a name with a NUL
            return False
        except OSError:
            return True  # it cannot be judged
        why = self._judge(uri, privacy)
        return not why or is_unsure(why)

    def _look(
        self, uri: str, refused: Sequence[str] | None, privacy: PrivacyConfig
    ) -> tuple[Judged, tuple[Path, ...]]:
        """Return the verdict, and the user's files of rules."""
        rule_files = list_rule_files()
        place = _place(uri)
        why = self._judge(uri, privacy)
        if _way(_place(uri)) != _way(place):
            place = None
            why = f"{UNSURE}: its folder was replaced meanwhile"
        is_shown = refused is not None and has_lines(_file(uri), refused)
        return Judged(why, place, is_shown), rule_files

    def _judge(self, uri: str, privacy: PrivacyConfig) -> str:
        roots = self._roots()
        path = paths.path_to_judge(uri)
        assert path is not None, "see find"
        root = paths.local_path(paths.root_of(path, roots))
        places = [(path, root), *paths.list_places(path, roots)]
        return next(filter(None, (why_private(*place, privacy) for place in places)), "")

    def _keep_refusal(self, file: str, seen: Judged) -> str:
        """Return the verdict, or that the last one still holds; remember it."""
        why, place, is_shown = seen
        last = self._refusals.get(file)
        if is_unsure(why):
            self._refusals.setdefault(file, Judged(why, place))
            return why
        if not why and last and not is_shown and (not place or last.place not in (None, place)):
            return f"{UNSURE}: the file is not there with this text, which was private: {last.why}"
        self._refusals.pop(file, None)
        if why:
            self._refusals[file] = Judged(why, place or (last.place if last else None))
        if len(self._refusals) > REFUSALS:
            del self._refusals[next(iter(self._refusals))]
        return why


def is_unsure(why: str) -> bool:
    """Return whether the verdict *why* is that a file cannot be judged, which may end."""
    return why.startswith(UNSURE)


def _file(uri: str) -> PurePath | None:
    """Return the file whose text *uri* names, a cell of a notebook, too; None where it has none."""
    return None if uri.startswith("untitled:") else paths.path_to_judge(uri)


async def is_elsewhere(uri: str, place: PlaceId | None) -> bool:
    """
    Return whether *uri* leads to another folder than when *place* was found, as by a link, or the
    disk does not say so soon. A file that is saved under its name stays where it is.
    """
    with suppress(TimeoutError):
        now = await asyncio.wait_for(in_disk_thread(partial(_place, uri)), SOON_S)
        return _way(now) != _way(place)
    return True


def _place(uri: str) -> PlaceId | None:
    """Return the place of a file; None where it is not there."""
    file = _file(uri)
    with suppress(OSError, ValueError):  # a name with a NUL
        if file is not None and stat.S_ISREG((about := Path(file).stat()).st_mode):
            at = Path(file).parent.stat()
            return os.path.realpath(file), at.st_dev, at.st_ino, about.st_ino, about.st_ctime_ns
    return None


def _way(place: PlaceId | None) -> tuple[object, ...]:
    return (place or ())[:3]
