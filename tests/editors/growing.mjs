// One question of VS Code, answered with a first line; what happens then; and the rest. What VS Code is made to do.
import * as vscode from "vscode";
import { Growing } from "./growing";

const [part, whole, another, now] = ["eight:", "eight:\n  pass", "ord", {}];
const document = { version: 1, languageId: "python", lineAt: () => ({ text: "for w" }), getText: () => "" };
const position = { character: 5, isEqual: (other) => other === position, isBefore: () => false };
const editor = { document, selection: { isEmpty: true, active: position } };
const hear = (name) => (heard) => (now[name] = heard, { dispose: () => undefined });
const automatic = { triggerKind: 1 }, byHand = { triggerKind: 0 }, token = { onCancellationRequested: hear("cancel") };
const settings = { "completion.patienceMs": 0 };
Object.assign(vscode.window, {
  activeTextEditor: editor, state: { focused: true }, onDidChangeTextEditorSelection: hear("moved"), onDidChangeActiveTextEditor: hear("left"),
});
Object.assign(vscode.workspace, {
  onDidChangeTextDocument: hear("changed"), getConfiguration: () => ({ get: (name, otherwise) => settings[name] ?? otherwise }),
});
const client = {
  code2ProtocolConverter: { asInlineCompletionParams: () => ({}) },
  protocol2CodeConverter: { asInlineCompletionResult: async (list) => list },
  onProgress: (_, __, listen) => hear("progress")(listen),
  sendRequest: () => new Promise((answer) => (now.answer = answer)),
};
const list = (insertText) => ({ items: insertText === "" ? [] : [{ insertText }] });
const elsewhere = { active: { ...position, isEqual: () => false }, isEmpty: true };
const next = async () => list("");
const cases = {
  "the user waits": () => undefined,
  "the cursor moved": (growing) => (editor.selection = elsewhere, now.moved(), editor.selection = { isEmpty: true, active: position }),
  "the cursor is elsewhere": () => (editor.selection = elsewhere),
  "the text changed": () => (document.version += 1),
  "another editor is in front": () => (vscode.window.activeTextEditor = undefined, now.left()),
  "the window lost the focus": () => (vscode.window.state = { focused: false }),
  "it was dismissed": (growing) => growing.forget(),
  "the list opened": (growing) => growing.provide(document, position, { ...automatic, selectedCompletionInfo: {} }, token, next),
  "the user asked by hand": (growing) => growing.provide(document, position, byHand, token, next),
  "suggestions are off": () => (settings["completion.auto"] = false),
  "they are off for the language": () => (settings["completion.disabledFor"] = ["python"]),
};
const did = {};
for (const said of [part, ""]) {
  for (const [name, happens] of Object.entries(cases)) {
    for (const text of [whole, another, ""]) {
      const before = [editor.selection, document.version];
      const growing = new Growing(client), ran = [];
      Object.assign(vscode.commands, {
        executeCommand: async (command, name, value) => {
          if (command === "setContext") return void (now[name] = value);
          ran.push(command.split(".").at(-1));
          const again = await growing.provide(document, position, byHand, token, next);
          ran.push(again.items[0]?.insertText ?? "");
        },
      });
      const first = growing.provide(document, position, automatic, token, next);
      await new Promise((done) => setTimeout(done, 1));
      await now.progress(list(said));
      await first;
      happens(growing);
      now.answer(list(text));
      await new Promise((done) => setTimeout(done, 1));
      if (now["fim.listWaits"] !== false) ran.push("the list waits still");
      (did[name] ??= {})[`${said}|${text}`] = ran;
      [editor.selection, document.version] = before;
      Object.assign(vscode.window, { activeTextEditor: editor, state: { focused: true } });
      delete settings["completion.auto"], delete settings["completion.disabledFor"];
    }
  }
}
console.log(JSON.stringify(did));
