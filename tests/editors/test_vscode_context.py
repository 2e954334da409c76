"""What VS Code's other language servers know reaches the prompt: the extension's part in Node, and a real TypeScript server."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.editors.conftest import furnish
from tests.editors.extension import CAN_RUN, run
from tests.editors.test_vscode import CHUNKS, SETTINGS, VSIX, needs_workbench
from tests.editors.vscode import Workbench

pytestmark = pytest.mark.editors

# Pauses in a document of one line, with another server behind VS Code's commands: what it was asked, and what ours was sent.
PAUSES = """
import { mock } from "node:test";
import * as vscode from "vscode";
import { OtherServers } from "./context";

const LINE = "one(two, three, four, five, six, seven, eight)";
const at = (line, character) => new vscode.Position(line, character);
const rangeOf = (line) => ({ start: at(line, 0), end: at(line, 3), isSingleLine: true });
const uriOf = (path) => ({ scheme: "file", path, toString: () => `file://${path}` });
const errors = [
  { message: "bad", severity: 0, range: rangeOf(0) },
  { message: "far", severity: 0, range: rangeOf(11) },
  { message: "odd", severity: 1, range: rangeOf(0) },
];
mock.timers.enable({ apis: ["setTimeout"] });
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function pauses(answer, steps, { wanted = true, trusted = true } = {}) {
  const document = { uri: uriOf("/ferry/main.ts"), version: 1, lineCount: 1, lineAt: () => ({ text: LINE }) };
  const editor = { document, selection: { active: at(0, 0) } };
  const asked = [], sent = [], problems = [];
  let moved;
  Object.assign(vscode.window, {
    activeTextEditor: editor,
    onDidChangeActiveTextEditor: () => ({}),
    onDidChangeTextEditorSelection: (listener) => (moved = () => listener({ textEditor: editor })),
  });
  Object.assign(vscode.workspace, {
    isTrusted: trusted,
    getConfiguration: () => ({ get: (name, otherwise) => (name === "ring.servers" ? wanted : otherwise) }),
    getWorkspaceFolder: ({ path }) => (path.startsWith("/ferry/") ? {} : undefined),
    textDocuments: [{ uri: uriOf("/ferry/ship.ts"), getText: () => "\\n\\nfunction ship() {\\n  sail();\\n}\\nrow();" }],
  });
  vscode.languages.getDiagnostics = () => problems;
  vscode.commands.executeCommand = async (command, uri, { character }) => {
    const name = /^\\w+/.exec(LINE.slice(character))[0];
    if (command === "vscode.executeHoverProvider") return [{ contents: [{ value: `*a*\\n\\`\\`\\`ts\\nfunction ${name}()\\n\\`\\`\\`` }] }];
    asked.push(name);
    return answer(name, asked.length);
  };
  new OtherServers({
    onDidChangeState: () => ({}),
    isRunning: () => true,
    sendNotification: (method, params) => sent.push([method, params]),
    code2ProtocolConverter: { asUri: String, asRange: ({ start, end }) => ({ start, end }) },
  });
  for (const step of steps) {
    if (step === "type") {
      document.version += 1;
      problems.push(...errors);
    }
    moved();
    mock.timers.tick(500);
    await settled();
    mock.timers.tick(1000);
    await settled();
  }
  return { asked, sent };
}

const places = { two: ["/ferry/ship.ts", 2], three: ["/lib/three.d.ts", 1], four: ["/ferry/main.ts", 3] };
const known = (name) => {
  const [path, line] = places[name] ?? [];
  return path === undefined ? [] : [{ uri: uriOf(path), range: rangeOf(line) }];
};
console.log(JSON.stringify({
  known: await pauses(known, ["move", "move", "move"]),
  starting: await pauses((name, n) => (n <= 6 ? [] : known(name)), ["move", "move"]),
  slow: await pauses((name) => (name === "three" ? new Promise(() => undefined) : known(name)), ["move", "move"]),
  typing: await pauses(() => [], ["move", "type"]),
  errors: await pauses(() => [], ["move", "type", "move", "move"]),
  off: await pauses(known, ["move", "type", "move"], { wanted: false }),
  untrusted: await pauses(known, ["move", "type", "move"], { trusted: false }),
}));
"""
NAMES = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
SHIP = {"uri": "file:///ferry/ship.ts", "value": "function ship() {\n  sail();"}
THREE = {"uri": "file:///lib/three.d.ts", "value": "function three()"}


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what was asked and sent in each of the cases of `PAUSES`."""
    if not CAN_RUN:
        pytest.skip("no node, or run scripts/build-vscode first")
    folder = tmp_path_factory.mktemp("pauses")
    said: dict[str, Any] = json.loads(run(PAUSES, folder, folder))
    return said


def items(case: dict[str, Any]) -> list[object]:
    """Return all that was sent in a case, which is of one document."""
    for method, params in case["sent"]:
        assert (method, params["textDocument"]) == ("fim/context", {"uri": "file:///ferry/main.ts"})
    return [item for _, params in case["sent"] for item in params["items"]]


def test_each_name_is_asked_for_once_and_six_in_a_pause(paused: dict[str, Any]) -> None:
    """Sent is the code in the workspace, the signature outside of it, and nothing that is in view."""
    assert paused["known"]["asked"] == NAMES
    assert items(paused["known"]) == [SHIP, THREE]


def test_a_server_that_is_starting_is_asked_again(paused: dict[str, Any]) -> None:
    """As long as it knows none of the names."""
    assert paused["starting"]["asked"] == NAMES[:6] * 2
    assert items(paused["starting"]) == [SHIP, THREE]


def test_a_slow_answer_holds_nothing_up(paused: dict[str, Any]) -> None:
    """The others are sent after a second, and the name is asked for again."""
    assert items(paused["slow"]) == [SHIP]
    assert paused["slow"]["asked"] == [*NAMES[:6], "three", "seven", "eight"]


def test_errors_of_half_typed_text_are_not_sent(paused: dict[str, Any]) -> None:
    """Those near the cursor are, once, when the cursor moved without a key."""
    assert items(paused["typing"]) == []
    [error] = items(paused["errors"])
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
    value = {"message": "bad", "severity": 1, "range": place}
    assert error == {"uri": "file:///ferry/main.ts", "values": [value]}


@pytest.mark.parametrize("case", ["off", "untrusted"])
def test_switched_off_nothing_is_asked(paused: dict[str, Any], case: str) -> None:
    """By the setting, and in a workspace that is not trusted."""
    assert paused[case] == {"asked": [], "sent": []}


FILES = {
    "ferry/ship.ts": "// Ships.\n\nexport function freightOf(parcel: number): number {\n"
    "  return parcel * 3;\n}\n",
    "ferry/hidden.ts": "export function hiddenWay(fare: number): number {\n"
    "  return fare * 7777;\n}\n",
    "ferry/.gitignore": "hidden.ts\n",
    "node_modules/tolls/index.d.ts": "// Tolls.\n\nexport declare function tollOf(\n"
    "  fare: number,\n): number;\n",
    "node_modules/tolls/package.json": '{"name": "tolls", "version": "1.0.0", "types": '
    '"index.d.ts"}',
    "ferry/main.ts": (
        'import { freightOf } from "./ship";\nimport { tollOf } from "tolls";\n'
        'import { hiddenWay } from "./hidden";\nfreightOf(1);\ntollOf("2");\nhiddenWay(3);'
    ),
}


@needs_workbench
def test_a_typescript_server_is_asked(tmp_path: Path) -> None:
    """Definitions, a signature and an error are in the prompt when the cursor rests, and nothing of an ignored file."""
    furnish(tmp_path)
    (tmp_path / "ferry/.git").mkdir(parents=True)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    quiet = {"typescript.disableAutomaticTypeAcquisition": True}
    main = tmp_path / "ferry/main.ts"
    with closing(Workbench(tmp_path, main, {**SETTINGS, **quiet}, VSIX)) as workbench:
        workbench.wait_until_ready()
        workbench.open(main)
        workbench.wait_until(lambda: workbench("exists", ".squiggly-error"), "the error")
        workbench("press", "ArrowUp")
        workbench.wait_until(lambda: workbench.number(CHUNKS) == 3, "what was told in the ring")
        workbench.command("FIM: Show What the Model Is Shown")
        workbench.wait_for("told by another language server")
        for told in (
            "return parcel * 3;",
            "tollOf(fare: number): number",  # before it: what the server knew of it by then
            "line 5: Argument of type",
        ):
            workbench.wait_for(told)
        shown = str(workbench("text"))
        assert "7777" not in shown
        assert "module" not in shown
        assert "lines 1 to 0" not in shown
