"""A Neovim in a terminal, asked about itself over its own socket."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.editors import programs
from tests.editors.terminal import Terminal

ASK_TIMEOUT_S = 20


class Neovim(Terminal):
    """Neovim with this repository's plugin and an `init.lua`, started on *file*."""

    def __init__(self, home: Path, file: Path, init: str) -> None:
        config = home / ".config/nvim"
        config.mkdir(parents=True, exist_ok=True)
        plugin = home / ".local/share/nvim/site/pack/fim/start/fim"
        plugin.parent.mkdir(parents=True, exist_ok=True)
        if not plugin.exists():
            plugin.symlink_to(programs.REPOSITORY / "editors/nvim")
        (config / "init.lua").write_text(init)
        self._socket = home / "nvim.sock"
        self._env = programs.environment(home)
        argv = [str(programs.program("nvim")), "--listen", str(self._socket), str(file)]
        super().__init__(argv, env=self._env, cwd=file.parent)

    def lua(self, expression: str) -> object:
        """What a Lua expression is worth in the running editor (JSON values)."""
        quoted = f"vim.json.encode({expression})".replace("'", "''")
        asked = f"luaeval('{quoted}')"
        argv = [
            str(programs.program("nvim")),
            "--server",
            str(self._socket),
            "--remote-expr",
            asked,
        ]
        ask = subprocess.Popen(
            argv, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while ask.poll() is None:
            self.pump(0.01)  # an editor whose screen nobody reads stops
        out, err = ask.communicate(timeout=ASK_TIMEOUT_S)
        if ask.returncode:
            raise AssertionError(f"{expression}: {err}\n{self.text}")
        # remote-expr prints to stdout, older versions to stderr
        return json.loads(out or err)

    @property
    def buffer(self) -> str:
        """The text of the current buffer."""
        lines = self.lua("vim.api.nvim_buf_get_lines(0, 0, -1, true)")
        assert isinstance(lines, list)
        return "\n".join(lines)
