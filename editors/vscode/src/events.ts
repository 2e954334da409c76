// Notifications to the server beside the text: the active file, where the cursor rests, what was copied, and how
// much of a suggestion was accepted.

import * as vscode from "vscode";
import { State, type LanguageClient } from "vscode-languageclient/node";
import type { Growing } from "./growing";
import type { NextEdits } from "./nextEdit";
import { watchPartialAcceptance } from "./partialAcceptance";

// A cursor that rests so long is not on its way elsewhere.
const REST_MS = 200;
// More is a file, not a piece of one, and would be read again at each key that extends the selection.
const MOST_LINES = 1000;

/** Send editor events to the server, until disposed of; next edits are hidden while suggestions show. */
export function watch(client: LanguageClient, nextEdits: NextEdits, growing: Growing): vscode.Disposable {
  const uriOf = (document: vscode.TextDocument) => client.code2ProtocolConverter.asUri(document.uri);
  const notify = (method: string, params: object) => {
    if (client.isRunning()) void client.sendNotification(method, params);
  };
  const focus = (editor: vscode.TextEditor | undefined) => {
    notify("textDocument/didFocus", editor ? { textDocument: { uri: uriOf(editor.document) } } : {});
  };
  return vscode.Disposable.from(
    client.onDidChangeState(({ newState }) => {
      if (newState === State.Running) focus(vscode.window.activeTextEditor);
    }),
    vscode.window.onDidChangeActiveTextEditor(focus),
    watchCursor((document, position) => {
      const at = client.code2ProtocolConverter.asPosition(position);
      notify("fim/didMoveCursor", { textDocument: { uri: uriOf(document) }, position: at });
    }),
    watchCopies((document, text) => notify("fim/didYank", { textDocument: { uri: uriOf(document) }, text })),
    watchPartialAcceptance(client, nextEdits, growing, notify),
  );
}

/** See where the cursor rests after the mouse or a key moved it; typing asks for suggestions by itself. */
function watchCursor(rested: (document: vscode.TextDocument, position: vscode.Position) => void): vscode.Disposable {
  let timer: NodeJS.Timeout | undefined;
  const watching = vscode.window.onDidChangeTextEditorSelection(({ textEditor, kind }) => {
    clearTimeout(timer);
    if (kind === undefined) return;
    timer = setTimeout(() => rested(textEditor.document, textEditor.selection.active), REST_MS);
  });
  return { dispose: () => (clearTimeout(timer), watching.dispose()) };
}

/**
 * See what is copied or cut, by whatever key, menu or extension. A paste provider is told of every
 * copy so that it may add to the clipboard; this one adds nothing, so no key is rebound and the
 * clipboard stays as it is. VS Code up to 1.100 shows the text in the clipboard; later ones show an
 * empty one, and what was cut is no longer in the document, so the last selection is remembered.
 */
function watchCopies(copied: (document: vscode.TextDocument, text: string) => void): vscode.Disposable {
  let selected: { range: vscode.Range; document: vscode.TextDocument; text: string }[] = [];
  const watching = vscode.window.onDidChangeTextEditorSelection(({ textEditor: { document }, selections }) => {
    const ranges = selections.filter((range) => !range.isEmpty);
    if (ranges.length === 0) return; // as a cut leaves it
    const n = ranges.reduce((sum, { start, end }) => sum + end.line - start.line, 0);
    selected = n > MOST_LINES ? [] : ranges.map((range) => ({ range, document, text: document.getText(range) }));
  });
  const provider: vscode.DocumentPasteEditProvider = {
    async prepareDocumentPaste(document, ranges, clipboard) {
      const text = await clipboard.get("text/plain")?.asString();
      const textOf = (range: vscode.Range) =>
        selected.find((each) => each.document === document && each.range.isEqual(range))?.text ??
        document.getText(range);
      copied(document, text || ranges.map(textOf).join("\n"));
    },
  };
  const nothing = { providedPasteEditKinds: [], copyMimeTypes: [], pasteMimeTypes: [] };
  const providing = vscode.languages.registerDocumentPasteEditProvider({ scheme: "file" }, provider, nothing);
  return vscode.Disposable.from(watching, providing);
}
