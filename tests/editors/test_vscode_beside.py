"""
Beside another extension that has ghost text, in VS Code: both are offered, each counts as its own.
"""

from __future__ import annotations

import json
import time
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors.conftest import REST_OF_WORD, TYPED, shop_in
from tests.editors.second_server import ITEM
from tests.editors.test_vscode import ACCEPTED, SETTINGS, VSIX, needs_workbench
from tests.editors.vscode import ASK, LIST, Workbench

pytestmark = [pytest.mark.editors, needs_workbench]

NEXT = "Alt+BracketRight"
PACKAGE = {
    "name": "second", "publisher": "tests", "version": "1.0.0", "engines": {"vscode": "^1.97.0"},
    "main": "main.js", "activationEvents": ["onStartupFinished"],
}  # fmt: skip
MAIN = """
const vscode = require("vscode");
exports.activate = () => {
  const count = vscode.window.createStatusBarItem();
  let n = 0;
  count.text = "theirs: 0";
  count.show();
  vscode.commands.registerCommand("second.accepted", () => (count.text = `theirs: ${++n}`));
  const command = { title: "", command: "second.accepted" };
  vscode.languages.registerInlineCompletionItemProvider("python", {
    provideInlineCompletionItems: (_, at) => [{ insertText: "ITEM", range: new vscode.Range(at, at), command }],
  });
};
""".replace("ITEM", ITEM)
MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata><Identity Language="en-US" Id="second" Version="1.0.0" Publisher="tests"/></Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/></Assets>
</PackageManifest>
"""


def second_extension(folder: Path) -> Path:
    """Return an extension whose ghost text is that of the second server."""
    path = folder / "second.vsix"
    with zipfile.ZipFile(path, "w") as vsix:
        vsix.writestr("extension.vsixmanifest", MANIFEST)
        vsix.writestr("extension/package.json", json.dumps(PACKAGE))
        vsix.writestr("extension/main.js", MAIN)
    return path


def test_both_are_offered(tmp_path: Path) -> None:
    """One at a time; a key goes from one to the other, and what is taken counts for its own."""
    file = shop_in(tmp_path)
    second = second_extension(tmp_path)
    with closing(Workbench(tmp_path, file, SETTINGS, VSIX, second)) as workbench:
        workbench.wait_for("theirs: 0")
        workbench.wait_until_ready()
        workbench.open(file)
        workbench.write(TYPED)
        seen: set[str] = set()

        def both() -> bool:
            """
            Whether each was on screen; the other one may be some keys away, after more of ours.
            """
            ghost = str(workbench("ghost"))
            seen.update(text for text in (ITEM, REST_OF_WORD) if text in ghost)
            if not (len(seen) > 1 and ITEM in ghost):
                if workbench("exists", LIST):  # on a slow machine it opens before either comes
                    workbench("press", "Escape")
                workbench("press", NEXT if ghost else ASK)
                time.sleep(1.0)
            return len(seen) > 1 and ITEM in ghost

        workbench.wait_until(both, "ours, and theirs at last")
        workbench("press", "Tab")
        workbench.wait_for("theirs: 1")
        assert workbench.saved().endswith(f"for w{ITEM}")
        assert workbench.number(ACCEPTED) == 0
