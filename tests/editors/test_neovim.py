"""The plugin in a real Neovim, with the real server and model; each test in both ways to draw text."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import (
    REST_OF_LINE,
    REST_OF_WORD,
    SHOP,
    TYPED,
    furnish,
    hang_at,
    shop_in,
)
from tests.editors.neovim import Neovim
from tests.models import BUNDLED

pytestmark = programs.needs("nvim")

INIT = """\
vim.keymap.set('i', '<Tab>', function() return '# from the user' end, {{ expr = true }})
vim.g.fim = {{
  ghost_text = {ghost_text},
  filetypes_off = {{ 'markdown' }},
  keys = {{ accept = '<Tab>', accept_word = '<C-l>', accept_line = '<C-j>', trigger = '<C-g>', dismiss = '<C-]>' }},
}}
vim.o.statusline = "%f %{{v:lua.require'fim'.status()}}"
vim.o.swapfile = false
vim.cmd('filetype indent off')
vim.o.autoindent = false
vim.lsp.enable('fim')
local ghost = require('fim.ghost')
local grew, grown = ghost.grew, 0
ghost.grew = function(...)
  local ours = grew(...)
  grown = grown + (ours and 1 or 0)
  return ours
end
function _G.grown() return grown end
"""
ALT_BACKSLASH = "\x1b\\"
TAB = "\t"
WORD = "\x0c"
LINE = "\n"
TRIGGER = "\x07"
DISMISS = "\x1d"
ESCAPE = "\x1b"
LINES = SHOP.count("\n")


@pytest.fixture(scope="module", params=["nil", "'builtin'"], ids=["own", "builtin"])
def editor(request: pytest.FixtureRequest, home: Path, project: Path) -> Iterator[Neovim]:
    """One Neovim per way of drawing text: ours is the default, and all that Neovim 0.11 has."""
    neovim = Neovim(home, project, INIT.format(ghost_text=request.param))
    yield neovim
    neovim.close()


@pytest.fixture
def typed(editor: Neovim, project: Path, request: pytest.FixtureRequest) -> Neovim:
    """Return a fresh copy of the shop, and the suggestion on screen."""
    file = project / f"{abs(hash(request.node.name))}.py"
    file.write_text(SHOP)
    editor.edit(file)
    editor.send("Go" + TYPED.replace("\n", "\r"))
    editor.wait_for("for w" + REST_OF_LINE)
    editor.wait_until(lambda: "total" in editor.text.split(REST_OF_LINE)[1], "the lines below")
    return editor


def test_accepting_all(typed: Neovim) -> None:
    """All of the ghost text becomes text, the cursor behind it, and the server is told."""
    before = typed.stats(".accepted")
    typed.send(TAB)
    typed.wait_until(lambda: REST_OF_LINE in typed.buffer, "the text")
    assert len(typed.buffer.splitlines()) > LINES + 2
    cursor = typed.lua("vim.api.nvim_win_get_cursor(0)")
    lines = typed.buffer.splitlines()
    assert cursor == [len(lines), len(lines[-1])]
    typed.wait_until(lambda: typed.stats(".accepted") == before + 1, "one more accepted")


def test_accepting_words_and_a_line(typed: Neovim) -> None:
    """Word by word, then the rest of the line, as fast as keys come; the rest stays on screen."""
    typed.send(WORD)
    typed.wait_for_buffer("for weight")
    typed.send(WORD + WORD)
    typed.wait_for_buffer("for weight in weights")
    typed.send(LINE)
    typed.wait_for_buffer("for weight in weights:")
    typed.send(LINE)
    typed.wait_until(lambda: len(typed.buffer.splitlines()) == LINES + 3, "the next line")


def test_typing_through_and_accepting_at_once(typed: Neovim) -> None:
    """Text typed of the suggestion before accepting is not inserted twice (neovim#36529)."""
    typed.send("eight in" + TAB)
    typed.wait_until(lambda: "for weight in weights:\n" in typed.buffer, "the text once")


def test_typing_on_right_after_accepting(typed: Neovim) -> None:
    """Keys typed before the editor accepts come after the accepted text."""
    typed.send(TAB + " # on")
    typed.wait_for_buffer(" # on")
    assert "for weight in weights:\n" in typed.buffer


def test_a_suggestion_that_differs_from_the_text_is_not_accepted(typed: Neovim) -> None:
    """The key does what the user's own mapping of it does without a suggestion."""
    typed.send("\x15x = '" + TAB)
    typed.wait_for_buffer("x = '# from the user")
    assert REST_OF_LINE not in typed.buffer


def test_a_key_that_came_with_a_text_keeps_its_meaning(tmp_path: Path) -> None:
    """It was on its way before the user could read: what it did without a suggestion, it does."""
    file = shop_in(tmp_path)
    init = INIT.format(ghost_text="nil").replace("keys =", "read_ms = 600000, keys =")
    with closing(Neovim(tmp_path, file.parent, init)) as neovim:
        neovim.edit(file)
        neovim.send("Go" + TYPED.replace("\n", "\r"))
        neovim.wait_until(lambda: neovim.text.count("total +=") == 2, "ghost text")
        neovim.send(TAB)
        neovim.wait_for_buffer("for w# from the user")


def test_undo_takes_back_just_the_suggestion(typed: Neovim) -> None:
    """Accepting is an undo step of its own."""
    typed.send(TAB)
    typed.wait_until(lambda: REST_OF_LINE in typed.buffer, "the text")
    typed.send(ESCAPE + "u")
    typed.wait_until(lambda: typed.buffer == SHOP + TYPED, "the text as typed")


def test_repeating_with_a_dot(typed: Neovim) -> None:
    """`.` inserts again what was typed and accepted, as it is."""
    typed.send(TAB)
    typed.wait_until(lambda: REST_OF_LINE in typed.buffer, "the text")
    inserted = typed.buffer.removeprefix(SHOP)
    typed.send(ESCAPE)
    typed.wait_until(lambda: typed.lua("vim.api.nvim_get_mode().mode") == "n", "normal mode")
    typed.send("G.")
    typed.wait_for_buffer(inserted + "\n" + inserted)


@pytest.mark.parametrize(("keys", "n_lines"), [(TAB, 0), (WORD + LINE, 1)], ids=["all", "parts"])
def test_a_macro_has_what_was_accepted(editor: Neovim, project: Path, keys: str, n_lines: int):
    """Recorded with typed text around it; replayed, also with a count, the text is the same."""
    file = project / f"macro_{n_lines}.py"
    file.write_text(SHOP)
    editor.edit(file)
    editor.send("qqGo" + TYPED.replace("\n", "\r"))
    editor.wait_for("for w" + REST_OF_LINE)
    for key in keys:
        length = len(editor.buffer)
        editor.send(key)
        editor.wait_until(partial(lambda n: len(editor.buffer) > n, length), "the text")
    editor.send(" # À\tla" + ESCAPE)
    editor.wait_until(lambda: editor.lua("vim.api.nvim_get_mode().mode") == "n", "normal mode")
    editor.send("q")
    recorded = editor.buffer.removeprefix(SHOP)
    assert REST_OF_LINE + (" # À" if n_lines else "") in recorded
    assert "# from the userla" in recorded  # what Tab does without a suggestion
    editor.send("2@q")
    editor.wait_for_buffer("\n".join([recorded] * 3))


def test_dismissing(typed: Neovim) -> None:
    """The ghost text is hidden, the buffer stays."""
    typed.send(DISMISS)
    typed.wait_until(lambda: REST_OF_LINE not in typed.text, "no ghost text")
    assert typed.buffer == SHOP + TYPED


def test_switched_off(typed: Neovim) -> None:
    """Off: no ghost text, and status, message and reason say so; on again: it comes back."""
    typed.send(ESCAPE + ":Fim toggle buffer\r")
    typed.wait_for("fim: suggestions are off in this buffer")
    typed.wait_for("FIM off")
    typed.send(":Fim why\r")
    typed.wait_for("Suggestions are switched off: :Fim toggle")
    typed.send("A")
    typed.settle()
    assert REST_OF_LINE not in typed.text
    typed.send(ESCAPE + ":Fim toggle buffer\ra")
    typed.wait_for("for w" + REST_OF_LINE)


def test_snoozed(typed: Neovim) -> None:
    """For some minutes only what is asked for by hand comes, and status and reason say so; then all comes again."""
    typed.send(ESCAPE + ":Fim snooze 5\r")
    typed.wait_for("quiet until")
    typed.send("A")
    typed.settle()
    assert REST_OF_LINE not in typed.text
    typed.send(ESCAPE + ":Fim why\r")
    typed.wait_for("you snoozed suggestions")
    typed.send("A" + TRIGGER)
    typed.wait_for("for w" + REST_OF_LINE)
    typed.send(ESCAPE + ":Fim resume\r")
    typed.wait_until(lambda: "quiet until" not in typed.text, "the status")
    typed.send("A")
    typed.wait_for("for w" + REST_OF_LINE)


def test_another_server_by_hand(typed: Neovim) -> None:
    """It knows the open text; that it is started again is no trouble to tell."""
    old = programs.process("fim_lsp --stdio", typed.pid)
    typed.send(ESCAPE + ":Fim restart\r")
    typed.wait_until(lambda: not old.is_running(), "the end of the old server")
    typed.wait_until(lambda: programs.processes("fim_lsp --stdio", typed.pid), "another")
    typed.wait_for("FIM bundled model ready")
    typed.wait_until(lambda: typed.lua("#vim.lsp.get_clients({name='fim', bufnr=0})"), "a client")
    typed.send("A\x08w")
    typed.wait_for("for w" + REST_OF_LINE)
    assert "ended" not in typed.text


def test_asking_by_hand(typed: Neovim) -> None:
    """Also where nothing comes unasked; a sign at the end of the line says that it takes long."""
    typed.send(ESCAPE)
    typed.wait_until(lambda: REST_OF_LINE not in typed.text, "no ghost text")
    typed.send(":set eventignore=InsertEnter,CursorMovedI,TextChangedI\rA")
    typed.settle()
    assert REST_OF_LINE not in typed.text
    server = programs.process("fim_lsp", typed.pid)
    server.suspend()
    try:
        typed.send(TRIGGER)
        typed.wait_for("for w fim …")
    finally:
        server.resume()
    typed.wait_for("for w" + REST_OF_LINE)
    assert "fim …" not in typed.text
    typed.send(ESCAPE + ":set eventignore=\r")


def test_a_filetype_without_completions(typed: Neovim) -> None:
    """`filetypes_off` holds for buffers that become one, too."""
    typed.send(ESCAPE + ":set filetype=markdown\r")
    typed.wait_for("FIM off")


def test_yanks_and_switches_reach_the_ring(typed: Neovim, project: Path) -> None:
    """Looking at another file and yanking from it gives the server more context."""

    def chunks() -> int:
        ring = typed.stats(".ring")
        return ring["chunks"] + ring["queued"]

    before = chunks()
    fresh = project / f"fresh_{os.getpid()}_{before}.py"
    fresh.write_text(
        "".join(f"def only_here_{n}(a, b):\n    return a * {n} + b\n\n\n" for n in range(9))
    )
    typed.edit(fresh)
    typed.send("ggyG")
    typed.wait_until(lambda: chunks() > before, "more context")


def test_no_key_is_mapped_without_a_setting(typed: Neovim) -> None:
    """Without `keys` there is nothing mapped but <Plug>."""
    mapped = typed.lua("vim.tbl_map(function(m) return m.lhs end, vim.api.nvim_get_keymap('i'))")
    ours = typed.lua(
        "vim.tbl_map(function(m) return m.lhs end, vim.tbl_filter(function(m)"
        " return vim.startswith(m.desc or '', 'fim: ') end, vim.api.nvim_get_keymap('i')))"
    )
    assert set(ours) == {"<Tab>", "<C-L>", "<C-J>", "<C-G>", "<C-]>"}
    assert "<Plug>(fim-accept)" in mapped


def test_first_lines_are_shown_before_all_is_there(editor: Neovim) -> None:
    """By our own ghost text, in one of the tests above at the latest; Neovim's takes one answer."""
    assert (editor.lua("_G.grown()") > 0) == (not editor.lua("require('fim').uses_builtin()"))


def test_health_and_help(typed: Neovim) -> None:
    """:checkhealth names the project, the model and what to do, once; :help finds the manual."""
    typed.send(ESCAPE + ":checkhealth fim\r")
    typed.wait_for("the bundled model answers")
    page = typed.buffer
    assert page.count("server of") == page.count(f"server of {typed.folder}") == 1
    assert ":Fim setup" in page
    assert "ERROR" not in page
    assert page.count("WARNING") == 1
    typed.send(":bwipe\r:helptags ALL\r:help fim-keys\r")
    typed.wait_for("asks for a suggestion now, unless")
    typed.send(":only\r")


def test_the_statusline_names_the_model(typed: Neovim) -> None:
    """The model that answers stands in the statusline, from the state that the server sent, and what it does."""
    typed.wait_for("FIM bundled model ready")
    phase = "require('fim.status').phase({{ kind = '{}', state = '{}', firstLookS = {} }})"
    assert typed.lua(phase.format("Normal", "asleep", 0)) == "asleep"
    assert typed.lua(phase.format("Warning", "down", 0)) == ""
    assert typed.lua(phase.format("Normal", "ready", 6)) == "first look: 6 s"


def test_numbers_are_shown_without_a_prompt(typed: Neovim) -> None:
    """:Fim shows its lines beside the cursor; the next key is typed, not spent on a prompt."""
    typed.send(ESCAPE + ":Fim\r")
    typed.wait_for("from the cache")
    typed.wait_for("when the model had to write")
    typed.send("ax")
    typed.wait_for_buffer("for wx")
    typed.wait_until(lambda: "from the cache" not in typed.text, "the numbers gone")


def test_numbers_take_the_place_of_a_reason(typed: Neovim) -> None:
    """One after the other, also from inside the first; the cursor is in the text then."""
    window = typed.lua("vim.api.nvim_get_current_win()")
    typed.send(ESCAPE + ":Fim why\r")
    typed.wait_for("hile you type")
    typed.send(":Fim why\r")
    typed.wait_until(
        lambda: typed.lua("vim.api.nvim_get_current_win()") != window, "the cursor in the reason"
    )
    typed.send(":Fim stats\r")
    typed.wait_for("from the cache")
    assert "hile you type" not in typed.text
    assert typed.lua("vim.api.nvim_get_current_win()") == window
    typed.send(":Fim trigger\r")
    typed.wait_until(lambda: "from the cache" not in typed.text, "the numbers gone")


@pytest.mark.parametrize("background", ["light", "dark"])
@pytest.mark.parametrize("truecolor", [True, False], ids=["truecolor", "256 colours"])
def test_ghost_text_is_told_from_code(background: str, truecolor: bool, tmp_path: Path) -> None:
    """In tmux, or macOS's Terminal, too: each cell has another colour than what was typed."""
    file = shop_in(tmp_path, "a.py")
    init = (
        f"{INIT.format(ghost_text='nil')}vim.o.background = '{background}'\nvim.cmd('syntax off')\n"
    )
    with closing(Neovim(tmp_path, file.parent, init, truecolor=truecolor)) as neovim:
        neovim.edit(file)
        neovim.send("Go" + TYPED.replace("\n", "\r"))
        shown = "for w" + REST_OF_WORD
        neovim.wait_for(shown)
        neovim.settle()
        row, line = next((y, s) for y, s in enumerate(neovim.screen.display) if shown in s)
        start = line.index(shown)
        colors = [neovim.screen.buffer[row][start + x].fg for x in range(len(shown))]
        assert neovim.lua("vim.o.termguicolors") is truecolor
        assert not {*colors[: len("for w")]} & {*colors[len("for w") :]}


def test_why_asks_the_server_about_the_text_on_screen(typed: Neovim) -> None:
    """The buffer is not saved; no second server is started."""
    servers = len(programs.processes("fim_lsp", typed.pid))
    typed.send(" = 1" + ESCAPE + "bb:Fim why\r")
    typed.wait_for("code right of the cursor")
    assert len(programs.processes("fim_lsp", typed.pid)) == servers


def test_ghost_text_is_in_one_window(typed: Neovim) -> None:
    """Of two windows on a buffer, the one with the cursor shows the suggestion."""
    if typed.lua("require('fim').uses_builtin()"):
        pytest.skip("Neovim draws")
    typed.send(ESCAPE + ":split\rA")
    typed.wait_for("for w" + REST_OF_LINE)
    typed.settle()
    assert typed.text.count("for w" + REST_OF_LINE) == 1
    typed.send(ESCAPE + ":only\r")


def test_the_log_has_no_errors(typed: Neovim, home: Path) -> None:
    """What the server writes to stderr is an error for Neovim: requests that end early write nothing."""
    typed.send("e" * 20)
    typed.settle()
    log = (home / ".local/state/nvim/lsp.log").read_text()
    assert "[ERROR]" not in log


def test_what_the_model_is_shown(typed: Neovim) -> None:
    """:Fim context opens a page with the prompt's parts; no second server is started for it."""
    typed.send(ESCAPE + ":Fim context\r")
    typed.wait_until(lambda: "total_price" in typed.buffer != SHOP + TYPED, "the page")
    typed.settle()
    assert typed.lua("#vim.lsp.get_clients({name='fim', _uninitialized=true})") == 1
    typed.send(":quit\r")
    typed.wait_until(lambda: typed.buffer == SHOP + TYPED, "the text")


def test_writing_on(typed: Neovim) -> None:
    """:Fim continue writes a text after the cursor; one undo takes it back."""
    typed.send(ESCAPE + ":Fim continue\r")
    typed.wait_until(lambda: typed.buffer != SHOP + TYPED, "more text")
    assert typed.buffer.startswith(SHOP + TYPED)
    typed.wait_for("fim-lsp wrote ")
    typed.send("u")
    typed.wait_until(lambda: typed.buffer == SHOP + TYPED, "the text as typed")


def test_how_far_a_text_is_while_it_is_written(typed: Neovim) -> None:
    """
    The screen says how many lines there are.

    These are the server's messages, sent by the test: of a text that is written at once there are none.
    """
    typed.send(ESCAPE)
    typed.wait_until(lambda: REST_OF_LINE not in typed.text, "no ghost text")
    typed.settle()
    for value in ("{kind='begin', title='Writing'}", "{kind='report', message='3 lines'}"):
        typed.lua(
            "(function(client) client.handlers['$/progress']"
            f"(nil, {{token='t', value={value}}}, {{client_id=client.id}}) return 1 end)"
            "(vim.lsp.get_clients({name='fim'})[1])"
        )
    typed.wait_for("fim: writing, 3 lines …")


def test_a_server_that_hangs_is_replaced(tmp_path: Path) -> None:
    """What is typed meanwhile is kept, suggestions come back, :Fim why says where it hung."""
    file = shop_in(tmp_path, "a.py")
    hang = hang_at(tmp_path)
    init = INIT.format(ghost_text="nil")
    with closing(Neovim(tmp_path, file.parent, init)) as neovim:
        neovim.edit(file)
        neovim.send("Go" + TYPED.replace("\n", "\r"))
        neovim.wait_for("for w" + REST_OF_WORD)
        hang.touch()
        neovim.send("e")
        neovim.wait_until(lambda: not hang.exists(), "a server that hangs")
        neovim.send("i")
        neovim.wait_for("the server ended and is started again")
        another = "#vim.lsp.get_clients({name='fim', bufnr=0}) > 0"
        neovim.wait_until(lambda: neovim.lua(another), "another server")
        neovim.wait_until(lambda: neovim.stats(".backend.state") == "ready", "a model")
        neovim.send("g")
        neovim.wait_for("for w" + REST_OF_WORD)
        assert neovim.buffer == SHOP + TYPED + "eig"
        neovim.send(ESCAPE + ":Fim why\r")
        neovim.wait_for("a server did not come back for 10 s")


def test_the_key_that_asks_by_hand(tmp_path: Path) -> None:
    """Alt and backslash asks without a setting, told at the start; where nothing comes, a message says why."""
    file = shop_in(tmp_path, ".env", "KEY=\n")
    with closing(
        Neovim(tmp_path, file.parent, "vim.o.swapfile = false\nvim.lsp.enable('fim')\n")
    ) as neovim:
        neovim.edit(file)
        neovim.wait_for(":Fim setup gets a real one, Alt+\\ asks by hand")
        neovim.send("A")
        neovim.wait_until(lambda: neovim.lua("vim.api.nvim_get_mode().mode") == "i", "insert mode")
        neovim.send(ALT_BACKSLASH)
        neovim.wait_for("No suggestion: the file is private")
        neovim.send(ESCAPE + ":echo 'next'\r")
        neovim.wait_until(lambda: "No suggestion" not in neovim.text, "no message")
        neovim.send(":Fim trigger\r")
        neovim.wait_for("No suggestion: the file is private")
        assert neovim.lua("vim.api.nvim_get_mode().mode") == "i"
        assert neovim.buffer == "KEY="


def test_what_a_project_without_git_says_is_private_stays_so(tmp_path: Path) -> None:
    """A folder with a `.fim-lsp.toml` is a project, whichever of its files is opened."""
    furnish(tmp_path)
    file = tmp_path / "notes/diary/may.md"
    file.parent.mkdir(parents=True)
    file.write_text("KEY=\n")
    (file.parent.parent / ".fim-lsp.toml").write_text("privacy.exclude = ['diary/']\n")
    init = "vim.o.swapfile = false\nvim.lsp.enable('fim')\n"
    with closing(Neovim(tmp_path, file.parent, init)) as neovim:
        neovim.edit(file)
        neovim.send(":Fim trigger\r")
        neovim.wait_for("No suggestion: the file is private")


def test_setup_takes_effect_at_once(tmp_path: Path) -> None:
    """:Fim setup runs in a window; when it ends, the model that it wrote into the settings answers."""
    file = shop_in(tmp_path)
    model = tmp_path / "another.gguf"
    model.write_bytes(BUNDLED.read_bytes())
    with closing(Neovim(tmp_path, file.parent, INIT.format(ghost_text="nil"))) as neovim:
        neovim.edit(file)
        neovim.wait_for("FIM bundled model")
        neovim.send(f":Fim setup --model {model}\r")
        neovim.wait_for("[Process exited")
        neovim.wait_for("FIM another")


def test_the_page_in_a_browser(typed: Neovim, home: Path) -> None:
    """:Fim page opens the address of the server's own page in the user's browser, and says it: an opener may do nothing."""
    opened = home / "opened"
    opened.unlink(missing_ok=True)  # of another session
    script(
        home / ".local/bin/xdg-open",
        f"printf %s \"$1\" >'{opened}.part'; mv '{opened}.part' '{opened}'",
    )
    typed.send(ESCAPE + ":Fim page\r")
    typed.wait_until(opened.exists, "the browser")
    assert f"fim: {opened.read_text()}" in typed.lua("vim.fn.execute('messages')")
    address, _, token = opened.read_text().partition("#")
    request = urllib.request.Request(
        f"{address}page/state", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["stats"]["shown"] > 0


@pytest.mark.promise("no-code-of-a-repository-runs")
def test_nothing_of_a_repository_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a relative folder on the PATH, server and browser are those of the user, and run at home."""
    furnish(tmp_path)
    late = tmp_path / "late"
    (tmp_path / ".local/bin").rename(late)
    script(late / "xdg-open", f"pwd >'{tmp_path}/opened'")
    repository = tmp_path / "repository"
    for name in ("fim-lsp", "xdg-open"):
        script(repository / name, f"touch '{repository}/ran-{name}'")
    (repository / "shop.py").write_text(SHOP)
    monkeypatch.setenv("PATH", os.pathsep.join((".", str(late), os.environ["PATH"])))
    with closing(Neovim(tmp_path, repository, INIT.format(ghost_text="nil"))) as neovim:
        neovim.edit(repository / "shop.py")
        assert programs.process("fim_lsp --stdio", neovim.pid).cwd() == str(tmp_path)
        neovim.send(":Fim page\r")
        neovim.wait_until((tmp_path / "opened").exists, "the browser")
        neovim.send(":Fim doctor\r")
        neovim.wait_for("settings")
    assert not [*repository.glob("ran-*")]


def script(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
