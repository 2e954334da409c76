// A code action of one file, which is run when another one is in front; what the server is asked, and what is edited.
import * as vscode from "vscode";
import { Edits } from "./edit";

const open = (path) => ({
  uri: { scheme: "file", with: () => ({ toString: () => `edit:${path}` }), toString: () => `file://${path}` },
  version: 3,
  getText: () => "x\n",
  lineCount: 9,
  lineAt: () => ({ range: {} }),
});
const [front, other] = [open("/front.py"), open("/other.py")];
const range = { start: { line: 4, character: 0 }, end: { line: 5, character: 0 } };
const answer = { range, newText: "y\n", edits: [{ range, newText: "y\n" }], note: "" };
const asked = [], edited = [], said = [], known = {};
Object.assign(vscode.window, {
  activeTextEditor: { document: front },
  visibleTextEditors: [],
  showInformationMessage: (text) => said.push(text),
  showTextDocument: async () => undefined,
  tabGroups: { all: [], onDidChangeTabs: () => ({}) },
});
Object.assign(vscode.workspace, {
  textDocuments: [front, other],
  onDidChangeTextDocument: () => ({}),
  registerTextDocumentContentProvider: () => ({}),
  asRelativePath: String,
  applyEdit: async ({ changes }) => edited.push(...changes.map(([uri]) => uri)),
});
Object.assign(vscode.commands, { executeCommand: async () => undefined, registerCommand: (name, run) => (known[name] = run) });
const edits = new Edits({
  code2ProtocolConverter: { asUri: String, asRange: (each) => each },
  protocol2CodeConverter: { asRange: (each) => each },
  onProgress: () => ({ dispose: () => undefined }),
  sendRequest: async (_, { arguments: [given] }) => (asked.push(given.textDocument), answer),
});
for (const [uri, version] of [["file:///other.py", 3], ["file:///other.py", 2], ["file:///closed.py", 3]]) {
  await edits.start({ textDocument: { uri, version }, range, instruction: "add types" });
  await known["fim.edit.accept"]();
}
console.log(JSON.stringify({ asked, edited, said }));
