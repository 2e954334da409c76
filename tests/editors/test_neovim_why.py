"""`:Fim why` in a real Neovim that indents by itself, as it comes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import TYPED, shop_in
from tests.editors.neovim import Neovim

pytestmark = programs.needs("nvim")
INIT = "vim.o.swapfile = false\nvim.lsp.enable('fim')\n"
ESCAPE = "\x1b"
HEADER = TYPED.removeprefix("    ").replace("\n    ", "\r") + "eight in weights:"


@pytest.mark.parametrize("pause", ["suggestion", "none"])
def test_escape_behind_a_header_is_no_deletion(pause: str, tmp_path: Path) -> None:
    """Neovim takes the indentation back that it made: that is no reason to show nothing."""
    file = shop_in(tmp_path)
    with closing(Neovim(tmp_path, file.parent, INIT)) as neovim:
        neovim.edit(file)
        neovim.send("Go" + HEADER + "\r")
        if pause == "suggestion":
            neovim.wait_until(lambda: neovim.text.count("total +=") == 2, "ghost text")
        neovim.send(ESCAPE)
        neovim.wait_for_buffer("eight in weights:\n")
        neovim.send(":Fim why\r")
        neovim.wait_for("The model:")
        assert "not after you delete" not in neovim.text
