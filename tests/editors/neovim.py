"""A Neovim in a terminal, with expressions evaluated over its own socket."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.editors import programs
from tests.editors.terminal import Terminal

STATS = (
    "vim.lsp.get_clients({{name='{}'}})[1]:request_sync('fim/stats', vim.empty_dict(), "
    "5000).result{}"
)
# Tests press a key as soon as they see a suggestion.
READ_AT_ONCE = "vim.g.fim = vim.tbl_extend('keep', vim.g.fim or {}, { read_ms = 0 })"


class Neovim(Terminal):
    """Neovim with this repository's plugin and an `init.lua`, started in *folder*."""

    client = "fim"  # what the init file calls the server

    def __init__(
        self,
        home: Path,
        folder: Path,
        init: str,
        *,
        truecolor: bool = True,
        has_plugin: bool = True,
    ) -> None:
        config = home / ".config/nvim"
        config.mkdir(parents=True, exist_ok=True)
        (config / "init.lua").write_text(f"{init}\n{READ_AT_ONCE}")
        plugin = home / ".local/share/nvim/site/pack/fim/start/fim"
        if has_plugin and not plugin.exists():
            shutil.copytree(programs.REPOSITORY / "editors/nvim", plugin)
        self.folder = folder
        self._program = str(programs.program("nvim"))
        self._socket = home / f"nvim.{time.monotonic_ns()}.sock"  # the last one may not be gone yet
        self._env = programs.environment(home)
        argv = [self._program, "--listen", str(self._socket)]
        super().__init__(argv, env=self._env, cwd=folder, truecolor=truecolor)
        self.wait_until(self._socket.exists, "Neovim's socket")

    def lua(self, expression: str) -> Any:
        """Return the value of a Lua expression in the running editor, by way of JSON."""
        quoted = f"vim.json.encode({expression})".replace("'", "''")
        argv = [
            self._program, "--server", str(self._socket), "--remote-expr",
            f"luaeval('{quoted}')",
        ]  # fmt: skip
        with subprocess.Popen(
            argv, env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as asked:
            try:
                # Meanwhile read its screen: an editor stops when its output is not read.
                self.wait_until(lambda: asked.poll() is not None, f"an answer to {expression}")
            finally:
                asked.kill()
            out, err = asked.communicate()
        assert asked.returncode == 0, f"{expression}: {err}\n{self.text}"
        return json.loads(out)

    def edit(self, path: Path) -> None:
        """Open a file and wait until the server has it and is ready."""
        self.send(f"\x1b:edit! {path}\r")
        here = f"vim.api.nvim_buf_get_name(0) == '{path}'"
        attached = (
            f"#vim.lsp.get_clients({{name='{self.client}', bufnr=0, _uninitialized=false}}) > 0"
        )
        self.wait_until(
            lambda: self.lua(f"{here} and {attached}"), f"the server attached to {path}"
        )
        self.wait_until(lambda: self.stats(".backend.state") == "ready", "a backend that is ready")

    def stats(self, part: str = "") -> Any:
        """`fim/stats`, or a part of it, like `.ring.chunks`."""
        return self.lua(STATS.format(self.client, part))

    @property
    def buffer(self) -> str:
        return str(self.lua("table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n')"))

    def wait_for_buffer(self, ending: str) -> None:
        self.wait_until(lambda: self.buffer.endswith(ending), f"a buffer that ends with {ending!r}")
