"""
Beside another server that has ghost text, in Neovim: both are there, each is accepted as its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs, second_server
from tests.editors.conftest import REST_OF_WORD, SHOP, TYPED, shop_in
from tests.editors.neovim import Neovim

pytestmark = programs.needs("nvim")

INIT = """\
vim.g.fim = {{
  ghost_text = {ghost_text},
  keys = {{ accept = '<Tab>', accept_word = '<C-l>', next = '<C-n>' }},
}}
vim.keymap.set('i', '<C-y>', function() vim.lsp.inline_completion.get() end)
vim.o.swapfile = false
vim.cmd('filetype indent off')
vim.o.autoindent = false
vim.lsp.config('second', {{ cmd = {{ '{python}', '{server}', '{log}' }} }})
vim.lsp.enable({{ 'fim', 'second' }})
vim.lsp.inline_completion.enable()
"""
OURS = REST_OF_WORD  # what follows depends on what the model was shown
TAB = "\t"
WORD = "\x0c"
NEXT = "\x0e"
THEIRS = "\x19"
AGAIN = re.compile(re.escape(second_server.ITEM) + r" +\S")  # a text behind theirs


class Beside(Neovim):
    """Neovim with both servers, on a shop; *log* is what the second one heard."""

    log: Path

    def heard(self, what: str) -> int:
        return self.log.read_text().count(what)


def opened(home: Path, ghost_text: str) -> Beside:
    file = shop_in(home)
    log = home / "second.log"
    server = Path(second_server.__file__)
    init = INIT.format(ghost_text=ghost_text, python=sys.executable, server=server, log=log)
    editor = Beside(home, file.parent, init)
    editor.log = log
    editor.edit(file)
    editor.send("Go" + TYPED.replace("\n", "\r"))
    return editor


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    """Our plugin draws ours, Neovim draws theirs."""
    with closing(opened(tmp_path_factory.mktemp("own"), "nil")) as editor:
        yield editor


def shown(editor: Beside) -> None:
    editor.wait_until(lambda: f"for w{second_server.ITEM}\n" in editor.text, "theirs")
    editor.wait_until(lambda: f"fim: {OURS}" in editor.text, "ours, told apart")


def test_both_are_shown_and_told_apart(own: Beside) -> None:
    """Theirs at the cursor, as Neovim draws it; ours below it, named."""
    shown(own)
    assert own.text.count(second_server.ITEM) == 1
    assert own.text.count(f"fim: {OURS}") == 1
    assert f"for w{OURS}" not in own.text


def test_our_key_takes_ours(own: Beside) -> None:
    """While one types along ours, theirs goes and comes; what is taken counts for us alone."""
    accepted = own.stats(".accepted")
    theirs = own.heard(second_server.ACCEPTED)
    own.send("eig")
    own.wait_until(lambda: f"fim: {OURS[3:]}" in own.text, "the rest of ours")
    own.wait_until(lambda: f"for weig{second_server.ITEM}\n" in own.text, "theirs again")
    own.send(TAB)
    own.wait_until(lambda: f"for w{OURS}" in own.buffer, "our text")
    own.wait_until(lambda: own.stats(".accepted") == accepted + 1, "one more accepted")
    assert own.heard(second_server.ACCEPTED) == theirs
    assert second_server.ITEM not in own.buffer


def test_their_key_takes_theirs(own: Beside) -> None:
    """It counts for them alone."""
    own.send(f"\x1b:{SHOP.count(chr(10)) + 1},$d\rGo" + TYPED.replace("\n", "\r"))
    shown(own)
    accepted = own.stats(".accepted")
    theirs = own.heard(second_server.ACCEPTED)
    own.send(THEIRS)
    own.wait_until(lambda: f"for w{second_server.ITEM}" in own.buffer, "their text")
    own.wait_until(lambda: own.heard(second_server.ACCEPTED) == theirs + 1, "their command")
    assert own.stats(".accepted") == accepted
    assert f"for w{OURS}" not in own.buffer


def test_in_one_list(tmp_path: Path) -> None:
    """Where Neovim draws both, one key goes from one to the other, and each counts as its own."""
    with closing(opened(tmp_path, "'builtin'")) as editor:
        editor.wait_until(lambda: f"for w{OURS}" in editor.text, "ours")
        editor.send(NEXT)
        editor.wait_until(lambda: f"for w{second_server.ITEM}" in editor.text, "theirs")
        editor.send(TAB)
        editor.wait_until(lambda: f"for w{second_server.ITEM}" in editor.buffer, "their text")
        editor.wait_until(lambda: editor.heard(second_server.ACCEPTED) == 1, "their command")
        assert editor.stats(".accepted") == 0
        editor.send(" ")
        editor.wait_until(lambda: AGAIN.search(editor.text), "a text behind theirs")
        if editor.text.count(second_server.ITEM) == 1:
            editor.send(NEXT)  # on some processors, the bundled model writes there, too
        editor.wait_until(lambda: editor.text.count(second_server.ITEM) > 1, "theirs once more")
        editor.send(WORD)
        editor.wait_until(lambda: editor.buffer.count("#") > 1, "a word of theirs")
        assert editor.heard("didPartiallyAccept") == 0
