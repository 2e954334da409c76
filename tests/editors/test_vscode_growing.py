"""Ghost text in VS Code that grows, and comes late: the model writes on when a file says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import (
    REST_OF_LINE,
    REST_OF_WORD,
    SHOP,
    TYPED,
    furnish,
    messages_in,
    wiretap,
)
from tests.editors.test_vscode import SETTINGS, VSIX
from tests.editors.vscode import LIST, Workbench

pytestmark = pytest.mark.editors

# The server in place of which a test starts it: no text follows what a file holds, while it is there.
HOLDS = """\
import asyncio, sys
from fim_lsp.__main__ import main
from fim_lsp.session.lane import PermittedModel
stream = PermittedModel.stream
def is_held(text):
    try:
        with open({file!r}) as held:
            return held.read() in text
    except FileNotFoundError:
        return False
async def hold(model, request):
    text = request.prompt.middle
    async for reply in stream(model, request):
        while is_held(text):
            await asyncio.sleep(0.02)
        yield reply
        text += reply.text
PermittedModel.stream = hold
sys.exit(main())
"""
A_WORD, A_LINE = "for w", f"for w{REST_OF_LINE}\n"  # how far the model writes; another text is not held
CODES = {"current": programs.CODE, "oldest": programs.OLDEST_CODE}
NO_LIST = {**SETTINGS, "editor.wordBasedSuggestions": "off"}


class Held:
    """A workbench whose model writes on as the test says."""

    def __init__(self, home: Path, code: Path) -> None:
        furnish(home)
        self.hold = home / "hold"
        holds = home / "holds.py"
        holds.write_text(HOLDS.format(file=str(self.hold)))
        program = home / ".local/bin/fim-lsp"
        program.write_text(program.read_text().replace("-m fim_lsp", str(holds)))
        self._sent, self._received = wiretap(home)
        self.folder = home / "shop"
        (self.folder / ".git").mkdir(parents=True)
        for name in ("first", "grows", "late", "gone", "dismissed"):
            (self.folder / f"{name}.py").write_text(SHOP)
        self.workbench = Workbench(home, self.folder / "first.py", NO_LIST, VSIX, code=code)

    def type(self, name: str, held: str) -> Workbench:
        """Type in a file of its own, with a model that writes no more than that."""
        self.hold.unlink(missing_ok=True)
        self.workbench.open(self.folder / f"{name}.py")
        self.hold.write_text(held)
        self.workbench.write(TYPED)
        return self.workbench

    def n_asked(self) -> int:
        """How many suggestions the server was asked for so far."""
        return str(messages_in(self._sent)).count("'textDocument/inlineCompletion'")

    def wait_for_answers(self) -> None:
        """Until the server has answered each request."""

        def answered() -> bool:
            asked = {m["id"] for m in messages_in(self._sent) if "method" in m and "id" in m}
            return asked <= {m["id"] for m in messages_in(self._received) if "method" not in m}

        self.workbench.wait_until(answered, "all answers")


@pytest.fixture(scope="module", params=CODES)
def held(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Held]:
    code = CODES[request.param]
    if not (code / "done").exists() or not VSIX.exists():
        pytest.skip("no VS Code: run scripts/install-editors and scripts/build-vscode")
    held = Held(tmp_path_factory.mktemp("home"), code)
    with closing(held.workbench) as workbench:
        workbench.wait_until_ready()
        yield held


def test_a_text_grows(held: Held) -> None:
    """Its first line is shown, then all of it, with nothing in between; the server is asked once."""
    workbench = held.type("grows", A_LINE)
    workbench.wait_for_ghost(REST_OF_LINE)
    assert str(workbench("ghost")) == REST_OF_LINE
    n_asked = held.n_asked()
    workbench("ghosts")
    held.hold.unlink()
    workbench.wait_until(lambda: "total" in str(workbench("ghost")), "all of it")
    ghosts = workbench("ghosts")
    assert isinstance(ghosts, list)
    assert [text for text in ghosts if REST_OF_LINE not in text] == []
    assert held.n_asked() == n_asked
    workbench("press", "Tab")
    assert workbench.saved().startswith(f"{SHOP}{TYPED}{REST_OF_LINE}\n        total")


def test_a_text_that_comes_late_is_shown(held: Held) -> None:
    """After VS Code had the answer that there is nothing yet."""
    workbench = held.type("late", A_WORD)
    held.hold.unlink()
    workbench.wait_until(lambda: REST_OF_WORD in str(workbench("ghost")), "the text")
