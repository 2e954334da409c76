"""The extension's commands, from the palette of a real VS Code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_WORD, SHOP, TYPED
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.vscode import QUICK_INPUT, STATUS, Workbench, shop_typed

pytestmark = [pytest.mark.editors, needs_workbench]

TEXT_IN_TERMINAL = {"terminal.integrated.gpuAcceleration": "off"}
OFF = f"{STATUS} .codicon-circle-slash"


@pytest.fixture(scope="module")
def workbench(home: Path, project: Path) -> Iterator[Workbench]:
    with closing(Workbench(home, project / "shop.py", TEXT_IN_TERMINAL, VSIX)) as workbench:
        workbench.wait_for("A little shop")
        workbench.wait_until_ready()
        yield workbench


@pytest.fixture
def typed(
    workbench: Workbench, project: Path, request: pytest.FixtureRequest
) -> Iterator[Workbench]:
    with shop_typed(workbench, project / f"{request.node.originalname}.py") as typed:
        yield typed


def type_again(workbench: Workbench) -> None:
    workbench("press", "Backspace")
    workbench("type", "w")


def stays_away(workbench: Workbench, why: str) -> None:
    """No ghost text comes while typing, for the reason *why*; it comes by hand."""
    type_again(workbench)
    workbench.why(why)
    assert workbench("ghost") == ""
    workbench("press", "Alt+Backslash")
    workbench.wait_for_ghost(REST_OF_WORD)
    workbench("press", "Escape")


def comes_back(workbench: Workbench) -> None:
    type_again(workbench)
    workbench.wait_for_ghost(REST_OF_WORD)


def test_a_language_is_switched_off_and_on(typed: Workbench) -> None:
    typed.command("FIM: Switch Completions On or Off for This Language")
    typed.wait_until(lambda: typed("exists", OFF), "the sign for off")
    type_again(typed)
    typed.why("fim.completion.disabledFor")
    assert typed("ghost") == ""
    typed.command("FIM: Switch Completions On or Off for This Language")
    typed.wait_until_ready()
    comes_back(typed)


def test_not_now_and_suggest_again(typed: Workbench) -> None:
    """Quiet for as long as the user chose, but for a request by hand."""
    typed.palette("FIM: Not Now: No Suggestions for Some Minutes")
    typed.wait_until(lambda: typed("exists", f"{QUICK_INPUT} [aria-label*='5 minutes']"), "choices")
    typed("press", "Enter")
    typed.wait_for("quiet until")  # the palette hides ghost text before the server is told
    assert not typed("ghost")
    stays_away(typed, "snoozed")
    typed.command("FIM: Suggest Again")
    comes_back(typed)


def test_another_server(typed: Workbench) -> None:
    """The old one ends, the new one knows the open text."""
    old = programs.process("fim_lsp --stdio", typed.pid)
    typed.command("FIM: Restart the Server")
    typed.wait_until(lambda: not old.is_running(), "the end of the old server")
    typed.wait_until_ready()
    comes_back(typed)


def test_a_long_text_is_written(typed: Workbench) -> None:
    """Behind the cursor, in the file; undo takes it back."""
    typed("press", "Escape")
    typed.command("FIM: Write On at the Cursor")
    typed.wait_until(lambda: typed.saved().startswith(SHOP + TYPED + REST_OF_WORD), "the text")


def test_everything_is_checked_in_a_terminal(workbench: Workbench) -> None:
    workbench.palette("FIM: Check Everything")
    workbench.wait_for("Completions work")
