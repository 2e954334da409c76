"""The extension in a real VS Code workbench, with the real server and model."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from fim_lsp import __version__
from tests.editors import programs
from tests.editors.conftest import REST_OF_LINE, REST_OF_WORD, SHOP, TYPED, furnish
from tests.editors.vscode import Workbench, shop_typed

VSIX = programs.REPOSITORY / f"editors/vscode/fim-lsp-{__version__}.vsix"

needs_workbench = pytest.mark.skipif(
    not (programs.CODE / "done").exists() or not VSIX.exists(),
    reason="no VS Code: run scripts/tools/install-editors and scripts/tools/build-vscode",
)
pytestmark = [pytest.mark.editors, needs_workbench]

# What is copied in a file would be known from the disk already.
SETTINGS: dict[str, object] = {"fim.ring.files": False}

ACCEPTED = re.compile(r"(\d+) of \d+ suggestions accepted")
STEP_DONE = "[data-done-step-id$='#{}'].complete"  # of the walkthrough
CHUNKS = re.compile(r"(\d+) of \d+ chunks of context")


@pytest.fixture(scope="module")
def workbench(home: Path, project: Path) -> Iterator[Workbench]:
    """One workbench on the shop; the program is found on the PATH."""
    with closing(Workbench(home, project / "shop.py", SETTINGS, VSIX)) as workbench:
        workbench.wait_for("A little shop")
        workbench.wait_until_ready()
        yield workbench


@pytest.fixture
def typed(
    workbench: Workbench, project: Path, request: pytest.FixtureRequest
) -> Iterator[Workbench]:
    with shop_typed(workbench, project / f"{request.node.name}.py") as typed:
        yield typed


def test_accepting_all(typed: Workbench) -> None:
    """Tab makes the ghost text text, the server is told, and the walkthrough ticks that step alone."""
    typed.wait_until(lambda: "total" in str(typed("ghost")), "all lines")
    typed("press", "Tab")
    text = typed.saved()
    assert text.startswith(SHOP + TYPED + REST_OF_LINE + "\n")
    typed.wait_until(lambda: typed.number(ACCEPTED) > 0, "one accepted")
    typed.palette("FIM: Get Started")
    typed.wait_until(lambda: typed("exists", STEP_DONE.format("keys")), "a step done")
    assert not typed("exists", STEP_DONE.format("model"))
    typed("press", "Control+F4")
    typed.open(typed.file)


def test_accepting_a_word(typed: Workbench) -> None:
    """Control and right take a word; the rest stays on screen."""
    typed("press", "Control+ArrowRight")
    typed.wait_until(lambda: str(typed("ghost")).startswith(" in weights:"), "the rest")
    assert typed.saved() == SHOP + TYPED + "eight"


@pytest.mark.parametrize("asked", ["typing", "by hand"])
def test_another_text_is_a_key_away(typed: Workbench, asked: str) -> None:
    """However the text on screen came; VS Code asks by hand once, so the extension asks again."""
    typed.wait_for_ghost("total += price")
    first = str(typed("ghost"))
    if asked == "by hand":
        typed("press", "ArrowLeft")  # Escape would count as a dismissal
        typed.wait_until(lambda: not typed("ghost"), "no ghost text")
        typed("press", "ArrowRight")
        typed("press", "Alt+Backslash")
        typed.wait_for_ghost(first)
    typed("press", "Alt+BracketRight")
    typed.wait_until(lambda: typed("ghost") not in ("", first), "another text")


def test_dismissing(typed: Workbench) -> None:
    """Escape hides the ghost text at once, and the server learns from it."""
    typed("press", "Escape")
    typed.wait_until(lambda: not typed("ghost"), "no ghost text")
    typed.why("1 was dismissed")


def test_switched_off(typed: Workbench) -> None:
    """The menu's switch stops ghost text, but for Alt and backslash, which ask for it; and starts it again."""
    typed.command("FIM: Switch Automatic Completions On or Off")
    typed.wait_until(
        lambda: typed("exists", ".statusbar-item .codicon-circle-slash"), "the sign for off"
    )
    typed("press", "Backspace")
    typed("type", "w")
    typed("press", "Alt+Backslash")
    typed.wait_until(lambda: " in weights:" in str(typed("ghost")), "ghost text")
    typed.command("FIM: Switch Automatic Completions On or Off")
    typed.wait_until_ready()
    typed("press", "Backspace")
    typed("type", "w")
    typed.wait_for_ghost(" in weights:")  # the small model's word before it depends on the context


def test_why_nothing_is_suggested(typed: Workbench) -> None:
    """The server answers, about text that is not saved, and all of it can be read."""
    typed("type", " = 1")
    typed("press", "ArrowLeft")
    typed.why("code right of the cursor")


def test_a_server_that_dies_comes_back(typed: Workbench) -> None:
    """A killed server is started again and knows the open text."""
    old = programs.process("fim_lsp --stdio", typed.pid)
    old.kill()

    def another() -> bool:
        found = programs.processes("fim_lsp --stdio", typed.pid)
        return any(process.pid != old.pid for process in found)

    typed.wait_until(another, "another server")
    typed.wait_until_ready()
    typed("press", "Backspace")
    typed("type", "w")
    typed.wait_for_ghost(REST_OF_WORD)


@pytest.mark.parametrize("code", [programs.CODE, programs.OLDEST_CODE], ids=["current", "oldest"])
def test_cuts_reach_the_ring_and_the_clipboard(tmp_path: Path, code: Path) -> None:
    """Cutting works as usual, and the text is context though it is in no file any more."""
    if not (code / "done").exists():
        pytest.skip("no such VS Code: run scripts/tools/install-editors")
    furnish(tmp_path)
    folder = tmp_path / "cuts"  # of its own: nothing else can be in the ring
    (folder / ".git").mkdir(parents=True)
    text = "".join(f"def only_here_{n}(a, b):\n    return a * {n} + b\n\n\n" for n in range(9))
    (folder / "source.py").write_text(text)
    (folder / "target.py").write_text(SHOP)
    with closing(Workbench(tmp_path, folder / "source.py", SETTINGS, VSIX, code=code)) as workbench:
        workbench.wait_until_ready()
        workbench.open(folder / "source.py")
        workbench("press", "Control+a")
        workbench("press", "Control+x")
        assert workbench.saved() == ""
        workbench.open(folder / "target.py")
        workbench.write(TYPED)
        workbench.wait_for_ghost(REST_OF_WORD)  # the ring is updated after an answer
        workbench.wait_until(lambda: workbench.number(CHUNKS) > 0, "more context")
        workbench("press", "Control+v")
        workbench.wait_for("return a * 8 + b")  # names alone may be in a list
        assert workbench.saved() == SHOP + TYPED + text


def test_first_steps(project: Path, tmp_path: Path) -> None:
    """A wrong path is named and can be cleared; then the server runs, and a real model is offered, once."""
    furnish(tmp_path)
    machine = tmp_path / "data/Machine/settings.json"  # where a remote window keeps such settings
    machine.parent.mkdir(parents=True)
    machine.write_text(json.dumps({"fim.serverPath": "/nowhere/fim-lsp"}))
    with closing(Workbench(tmp_path, project / "till.py", {}, VSIX)) as workbench:
        workbench.wait_for("was not found at /nowhere/fim-lsp")
        workbench.choose("Clear the Setting")
        workbench.wait_until_ready()
        assert "/nowhere" not in machine.read_text()
        workbench.wait_for("a toy that knows a little Python")
        workbench.choose("No, Thanks")
        workbench.wait_for("FIM bundled model ready")
        workbench.menu("Get a Real Model")
        workbench("press", "Escape")


def test_an_installation_that_fails(project: Path, tmp_path: Path) -> None:
    """Without a program the extension installs its own; offline that fails, and is offered again."""
    pip = tmp_path / ".config/pip/pip.conf"
    pip.parent.mkdir(parents=True)
    pip.write_text("[global]\nno-index = true\n")
    with closing(Workbench(tmp_path, project / "till.py", {}, VSIX)) as workbench:
        workbench.wait_for("fim-lsp could not be installed")
        workbench.wait_for("No matching distribution found")
        assert not [*tmp_path.glob("data/User/globalStorage/fim-lsp.fim-lsp/server-*")]
        workbench.menu("Install the Server")


def test_what_the_model_is_shown(typed: Workbench) -> None:
    """The page is in a language of its own, whose lines are wrapped."""
    typed.command("FIM: Show What the Model Is Shown")
    typed.wait_for("frozen while you type")
    typed.wait_until(
        lambda: typed("exists", ".tab.active[data-resource-name='context.txt']"), "the page"
    )
    language = ".statusbar-item[id='status.editor.mode'][aria-label='What the Model Is Shown']"
    typed.wait_until(lambda: typed("exists", language), "its language")
    typed("press", "Control+F4")
    typed.open(typed.file)


def test_the_page_from_the_menu(workbench: Workbench) -> None:
    """The browser is sent to the server's own port, and there the page shows what this session does."""
    workbench.wait_until_ready()
    workbench.menu()
    workbench("type", "Live in Your Browser")
    workbench("press", "Enter")
    server = programs.process("fim_lsp --stdio", workbench.pid)

    def port() -> int:
        """That of the page, once it is shown: code-server puts its own name in front of it."""
        ports = [each.laddr.port for each in server.net_connections() if each.status == "LISTEN"]
        shown = " ".join(workbench("opened"))  # type: ignore[arg-type]
        return next((port for port in ports if re.search(rf"[:/]{port}/", shown)), 0)

    workbench.wait_until(port, "the page")
    [token] = re.findall(r"#([\w-]+)", " ".join(workbench("opened")))  # type: ignore[arg-type]
    request = urllib.request.Request(
        f"http://127.0.0.1:{port()}/page/state", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert json.load(answer)["stats"]["backend"]["state"] == "ready"
