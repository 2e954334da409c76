"""A Helix in a terminal, set up with the files of editors/helix as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.editors import programs
from tests.editors.terminal import Terminal

SIZE = (90, 36)  # Helix covers the text with its preview in a lower window


class Helix(Terminal):
    """Helix with *file* open."""

    def __init__(self, home: Path, file: Path) -> None:
        config = home / ".config/helix"
        config.mkdir(parents=True, exist_ok=True)
        for name in ("languages.toml", "config.toml"):
            shutil.copy(programs.REPOSITORY / "editors/helix" / name, config)
        self.file = file
        self.log = home / "helix.log"
        self.log.unlink(missing_ok=True)
        argv = [str(programs.program("hx")), "--log", str(self.log), str(file)]
        super().__init__(argv, env=programs.environment(home), cwd=file.parent, size=SIZE)

    def command(self, line: str) -> None:
        self.send("\x1b")  # alone: with a key right behind it, it would be read as Alt
        self.settle()
        self.wait_for(" NOR ")
        self.send(f":{line}\r")

    def type_again(self, keys: str) -> None:
        """Type *keys* below the last line of the file as it is on disk, as if for the first time."""
        self.command("reload")
        self.send(f"geo{keys}")
        self.settle()

    def saved(self) -> str:
        before = self.file.stat().st_mtime_ns
        self.command("write")
        self.wait_until(lambda: programs.written(self.file, before, self.pid), "the file saved")
        return self.file.read_text()
