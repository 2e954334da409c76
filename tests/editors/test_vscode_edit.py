"""Edits by instruction in a real VS Code workbench: asked for, shown as a diff, and only then applied."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.e2e.test_edits import Scripted, scripted
from tests.editors.conftest import furnish
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.vscode import Workbench
from tests.editors.wire import messages_in, wiretap

pytestmark = [pytest.mark.editors, needs_workbench]

AREA = "import os\n\n\ndef area(w, h):\n    return w * h\n"
MANY = ", ".join(f"argument_{n}" for n in range(12))
WIDE = f"import os\n\n\ndef area(w, h):\n    return compute({MANY}, last)\n"
MODEL = '[backend]\nkind = "openai"\nurl = "{}"\n'
INPUT = ".quick-input-widget:not([style*='display: none']) input"
DIFF = ".tab.active[aria-label*='multiply']"


def answer(body: str) -> str:
    return f"```python\ndef area(w, h):\n{body}    return w * h\n```\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with scripted() as found:
        yield found


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory, server: Scripted) -> Iterator[Workbench]:
    home = tmp_path_factory.mktemp("home")
    furnish(home, MODEL.format(server.url))
    wiretap(home)
    project = home / "shop"
    (project / ".git").mkdir(parents=True)
    for name in ("area.py", "accept.py", "cursor.py", "reject.py", "again.py"):
        (project / name).write_text(AREA)
    (project / "wide.py").write_text(WIDE)
    (project / "faulty.json").write_text('{\n  "a": 1,\n}\n')
    with closing(Workbench(home, project / "area.py", {}, VSIX)) as workbench:
        workbench.wait_for("def area")
        workbench.wait_for("FIM some-instruct")
        yield workbench


def instruct(workbench: Workbench, words: str) -> None:
    workbench("press", "Alt+i")
    workbench.wait_until(lambda: workbench("exists", INPUT), "the box")
    workbench("type", words)
    workbench("press", "Enter")


def edited(
    workbench: Workbench, server: Scripted, name: str, n_selected: int = 2, text: str = ""
) -> None:
    """Have the function in the file changed; the change is on screen."""
    server.text = f"```python\n{text}```\n" if text else answer("    # multiply\n")
    workbench.open(workbench.file.with_name(name))
    for key in ("Control+Home", *["ArrowDown"] * 3, *["Shift+ArrowDown"] * n_selected):
        workbench("press", key)
    instruct(workbench, "say multiply")
    workbench.wait_until(lambda: workbench("exists", DIFF), "the diff")
    workbench.wait_for("# multiply")
    workbench.wait_until(lambda: workbench("exists", "[aria-label^='Accept the Edit']"), "a button")


def closed(workbench: Workbench, applied: str = "") -> None:
    """The diff is gone; the edit is applied a moment later."""
    workbench.wait_until(lambda: not workbench("exists", DIFF), "no diff")
    workbench.wait_for(applied)


def test_accepting(workbench: Workbench, server: Scripted) -> None:
    """The file is as it was until Tab applies the edit, in one undo step; the cursor is where it ends."""
    edited(workbench, server, "accept.py")
    assert "say multiply" in str(server.asked[-1])
    assert workbench.file.read_text() == AREA
    workbench("press", "Tab")
    closed(workbench, "# multiply")
    assert workbench.saved() == AREA.replace("h):\n", "h):\n    # multiply\n")
    workbench.wait_for("Ln 5, Col 15")
    workbench("press", "Control+z")
    assert workbench.saved() == AREA


def test_the_function_at_the_cursor(workbench: Workbench, server: Scripted) -> None:
    """Without a selection, from its first line: all of it is edited, as in Neovim."""
    edited(workbench, server, "cursor.py", n_selected=0)
    workbench("press", "Tab")
    closed(workbench, "# multiply")
    assert workbench.saved() == AREA.replace("h):\n", "h):\n    # multiply\n")


def test_rejecting(workbench: Workbench, server: Scripted) -> None:
    """Escape closes the diff, and nothing has changed."""
    edited(workbench, server, "reject.py")
    workbench("press", "Escape")
    closed(workbench)
    workbench("press", "Control+End")  # the lines are selected still
    workbench("type", " ")
    workbench("press", "Backspace")
    assert workbench.saved() == AREA


def test_a_change_far_to_the_right_is_in_sight(workbench: Workbench, server: Scripted) -> None:
    """The diff shows where the first line that differs is new."""
    wide = WIDE[WIDE.index("def") :].replace("last)", "last)  # multiply")
    edited(workbench, server, "wide.py", text=wide)
    changed = ".editor-instance .modified-in-monaco-diff-editor span::-p-text(multiply)"
    workbench.wait_until(lambda: workbench("inSight", changed), "the change in sight")
    workbench("press", "Escape")
    closed(workbench)


def test_again_and_further(workbench: Workbench, server: Scripted) -> None:
    """Another try takes the place of the first; a further instruction goes on from there."""
    edited(workbench, server, "again.py")
    server.text = answer("    # width by height\n")
    workbench("click", "[aria-label^='Try the Edit Again']")
    workbench.wait_for("# width by height")
    server.text = answer("    # width by height, in metres\n")
    instruct(workbench, "name the unit")
    workbench.wait_for("in metres")
    last = str(server.asked[-1]["messages"])
    assert "say multiply" in last
    assert "name the unit" in last
    workbench.wait_until(lambda: workbench("exists", "[aria-label^='Accept the Edit']"), "a button")
    workbench("click", "[aria-label^='Accept the Edit']")
    closed(workbench, "in metres")
    assert "# width by height, in metres\n" in workbench.saved()


def test_fixing_what_another_extension_found(workbench: Workbench, server: Scripted) -> None:
    """The problem goes to the model in that extension's words."""
    server.text = '```json\n{\n  "a": 1\n}\n```\n'
    workbench.open(workbench.file.with_name("faulty.json"))
    workbench.wait_until(lambda: workbench("exists", ".squiggly-error"), "the problem")
    for key in ("Control+Home", "ArrowDown"):
        workbench("press", key)
    workbench("press", "F1")
    workbench.wait_until(lambda: workbench("exists", INPUT), "the command palette")
    workbench("type", "FIM: Fix the Problem Here")
    workbench("press", "Enter")
    workbench.wait_until(lambda: workbench("exists", ".tab.active[aria-label*='fix']"), "the diff")
    assert "Trailing comma" in str(server.asked[-1])
    button = "[aria-label^='Accept the Edit']"
    workbench.wait_until(
        lambda: workbench("exists", f".action-item:not(.disabled) {button}"), button
    )
    workbench("click", button)
    workbench.wait_until(
        lambda: not workbench("exists", ".tab.active[aria-label*='fix']"), "no diff"
    )
    workbench.wait_until(lambda: '"a": 1,' not in str(workbench("text")), "the fault is gone")
    assert workbench.saved() == '{\n  "a": 1\n}\n'


def test_the_model_reads_while_the_instruction_is_typed(workbench: Workbench) -> None:
    """What the extension sends when the box opens is answered, before a word was typed."""
    home = workbench.file.parents[1]
    sent = home / "sent"
    received = home / "received"
    n_before = len(messages_in(sent))
    workbench.open(workbench.file.with_name("reject.py"))
    workbench("press", "Alt+i")
    workbench.wait_until(lambda: workbench("exists", INPUT), "the box")

    def answers() -> list[dict[str, Any]]:
        asked = [m for m in messages_in(sent)[n_before:] if "fim.edit.prepare" in str(m)]
        return [m for m in messages_in(received) if m.get("id") in [a["id"] for a in asked]]

    workbench.wait_until(lambda: any("method" not in m for m in answers()), "an answer")
    assert ["error" in message for message in answers() if "method" not in message] == [False]
    workbench("press", "Escape")
