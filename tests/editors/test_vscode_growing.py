"""Ghost text in VS Code that grows, and comes late: the model writes on when a file says so."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.editors import programs
from tests.editors.conftest import (
    REST_OF_LINE,
    REST_OF_WORD,
    SHOP,
    TYPED,
    furnish,
)
from tests.editors.extension import CAN_RUN, run
from tests.editors.test_vscode import SETTINGS, VSIX, needs_workbench
from tests.editors.vscode import LIST, Workbench
from tests.editors.wire import messages_in, wiretap

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
A_WORD = "for w"  # how far the model writes; another text is not held
A_LINE = f"for w{REST_OF_LINE}\n"
LATE_S = 2.0  # the extension answers within 0.6 s
CODES = {"current": programs.CODE, "oldest": programs.OLDEST_CODE}
# A list that waits ends VS Code's question after 750 ms, whatever is on its way then on a busy machine.
NO_LIST = {**SETTINGS, "editor.quickSuggestions": {"other": "off"}}


class Held:
    """A workbench whose model writes on as the test says."""

    def __init__(self, home: Path, code: Path, settings: Mapping[str, object] = NO_LIST) -> None:
        furnish(home)
        self.hold = home / "hold"
        holds = home / "holds.py"
        holds.write_text(HOLDS.format(file=str(self.hold)))
        program = home / ".local/bin/fim-lsp"
        program.write_text(program.read_text().replace("-m fim_lsp", str(holds)))
        self._sent, _ = wiretap(home)
        self.folder = home / "shop"
        (self.folder / ".git").mkdir(parents=True)
        for name in ("first", "grows", "late", "dismissed"):
            (self.folder / f"{name}.py").write_text(SHOP)
        self.workbench = Workbench(home, self.folder / "first.py", settings, VSIX, code=code)

    def type(self, name: str, held: str) -> Workbench:
        """Type in a file of its own, with a model that writes no more than that."""
        self.hold.unlink(missing_ok=True)
        self.workbench.open(self.folder / f"{name}.py")
        self.hold.write_text(held)
        self.workbench.write(TYPED)
        column = len(TYPED.splitlines()[-1])
        self.workbench.wait_until(
            lambda: (
                f"{name}.py" in str(last := (self.asked() or [{}])[-1])
                and last["params"]["position"]["character"] == column
            ),
            "the last key's request",
        )
        return self.workbench

    def asked(self) -> list[dict[str, Any]]:
        found = messages_in(self._sent)
        return [m for m in found if m.get("method") == "textDocument/inlineCompletion"]

    def is_cancelled(self, id: int) -> bool:
        cancelled = [m for m in messages_in(self._sent) if m.get("method") == "$/cancelRequest"]
        return id in [m["params"]["id"] for m in cancelled]


@pytest.fixture(scope="module", params=CODES)
def held(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Held]:
    code = CODES[request.param]
    if not (code / "done").exists() or not VSIX.exists():
        pytest.skip("no VS Code: run scripts/tools/install-editors and scripts/tools/build-vscode")
    held = Held(tmp_path_factory.mktemp("home"), code)
    with closing(held.workbench) as workbench:
        workbench.wait_until_ready()
        yield held


def test_a_text_grows(held: Held) -> None:
    """Its first line is shown, then all of it, with nothing in between; the server is asked once."""
    workbench = held.type("grows", A_LINE)
    workbench.wait_for_ghost(REST_OF_LINE)
    assert str(workbench("ghost")) == REST_OF_LINE
    n_asked = len(held.asked())
    workbench("ghosts")
    held.hold.unlink()
    workbench.wait_until(lambda: "total" in str(workbench("ghost")), "all of it")
    ghosts = workbench("ghosts")
    assert isinstance(ghosts, list)
    assert [text for text in ghosts if REST_OF_LINE not in text] == []
    assert len(held.asked()) == n_asked
    workbench("press", "Tab")
    assert workbench.saved().startswith(f"{SHOP}{TYPED}{REST_OF_LINE}\n        total")


def test_a_text_that_comes_late_is_shown(held: Held) -> None:
    """After VS Code had the answer that there is nothing yet; the server is asked once."""
    workbench = held.type("late", A_WORD)
    time.sleep(LATE_S)
    n_asked = len(held.asked())
    held.hold.unlink()
    workbench.wait_until(lambda: REST_OF_WORD in str(workbench("ghost")), "the text")
    assert len(held.asked()) == n_asked
    workbench("press", "Tab")
    assert workbench.saved().startswith(f"{SHOP}{TYPED}{REST_OF_WORD}")


def test_a_dismissed_text_stays_away(held: Held) -> None:
    """Escape on its first line: what the model writes then is shown with the next key only."""
    workbench = held.type("dismissed", A_LINE)
    workbench.wait_for_ghost(REST_OF_LINE)
    workbench("press", "Escape")
    workbench.wait_until(lambda: not workbench("ghost"), "no ghost text")
    workbench.wait_until(lambda: held.is_cancelled(held.asked()[-1]["id"]), "no more of it")
    workbench("ghosts")
    held.hold.unlink()
    workbench.why("1 was dismissed")
    assert set(workbench("ghosts")) <= {""}  # type: ignore[call-overload]
    workbench("type", "e")
    workbench.wait_for_ghost(REST_OF_WORD[1:])


@needs_workbench
def test_escape_keeps_a_list_that_waits_closed(tmp_path: Path) -> None:
    """Right after a key in a word; without it the list opens, as there is no ghost text."""
    held = Held(tmp_path, programs.CODE, SETTINGS)
    with closing(held.workbench) as workbench:
        workbench.wait_until_ready()
        workbench.open(held.folder / "late.py")
        held.hold.write_text("w")
        workbench("type", "\nw")
        workbench.wait_until(lambda: workbench("exists", LIST), "the list")
        workbench("press", "Escape")
        workbench("press", "Backspace")
        n_asked = len(held.asked())
        workbench("type", "w")
        workbench.wait_until(lambda: len(held.asked()) > n_asked, "a request")
        workbench("press", "Escape")
        time.sleep(LATE_S)
        assert not workbench("exists", LIST)
        assert held.is_cancelled(held.asked()[-1]["id"])


QUESTION = Path(__file__).with_name("growing.mjs").read_text("utf-8")
PART = "eight:"
WHOLE = "eight:\n  pass"
ANOTHER = "ord"


@pytest.mark.skipif(not CAN_RUN, reason="no node, or run scripts/tools/build-vscode first")
def test_vs_code_asks_again_only_while_the_user_waits(tmp_path: Path) -> None:
    """For a text that goes on as the one on screen, or the first one there."""
    did = json.loads(run(QUESTION, tmp_path, tmp_path))
    waits = did.pop("the user waits")
    assert waits == {
        f"{PART}|{WHOLE}": ["trigger", WHOLE, "showNext", WHOLE], f"{PART}|{ANOTHER}": [],
        f"{PART}|": [], f"|{WHOLE}": ["trigger", WHOLE], f"|{ANOTHER}": ["trigger", ANOTHER],
        "|": [],
    }  # fmt: skip
    assert {name: ran for name, texts in did.items() for ran in texts.values() if ran} == {}
