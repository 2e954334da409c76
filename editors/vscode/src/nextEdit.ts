// The next edit on VS Code's stable API: decorations show it, one command goes there and then applies
// it, another dismisses it. `fim.nextEditShown` is true while it is on screen, for the key bindings.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { Imports, type Import } from "./imports";
import { parts, type Part } from "./parts";

/** What to do to whole lines; in a file that is not open there is no version, but what stood there. */
interface Item {
  textDocument: { uri: string; version: number | null };
  range: { start: vscode.Position; end: vscode.Position };
  text: string;
  oldText?: string;
  command: { command: string; arguments: unknown[] };
  why: string;
}

/** The answer to `textDocument/copilotInlineEdit`: at most one edit. */
interface Answer {
  edits: Item[];
  off?: true; // the user wants none now
}

/** An edit of a file that is not open. */
interface Unopened {
  uri: vscode.Uri;
  line: number;
  item: Item;
}

/** Of the lines of `document`, `before` from `line` on become `after`. */
interface NextEdit {
  name?: string; // of an import, which our server does not know of
  document: vscode.TextDocument;
  version: number;
  line: number;
  before: string[];
  after: string[];
  range: vscode.Range;
  text: string;
  command?: { command: string; arguments: unknown[] };
  why: string;
}

const METHOD = "textDocument/copilotInlineEdit";
const SHOWN = "textDocument/didShowInlineEdit";
const TRIGGER_AUTOMATIC = 2;
const FIRST_COLUMNS = 80; // a window shows as many where the cursor is among them
const NEAR_COLUMNS = 30; // VS Code shows so much on either side of the cursor when it scrolls to it
const QUIET_MS = 250; // less than an edit takes to be finished (`SETTLED` of the server)

/** Commands of the server that mean the edit on screen; they take the document's URI. */
export const DISMISS = "fim.dismissNextEdit";
export const WHY = "fim.whyNextEdit";

const removed = vscode.window.createTextEditorDecorationType({
  backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
});
const added = vscode.window.createTextEditorDecorationType({}); // its text comes with each place
const hint = vscode.window.createTextEditorDecorationType({});

/** Shows next edits until disposed of. */
export class NextEdits implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private shown: NextEdit | Unopened | undefined;
  private ghost: { document: vscode.TextDocument; version: number; line: number } | undefined;
  private asking: vscode.CancellationTokenSource | undefined;
  private readonly imports = new Imports();
  private isOff = true; // as the server said last

  constructor(private readonly client: LanguageClient) {
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument((change) => {
        const isHere = change.document === vscode.window.activeTextEditor?.document;
        if (change.contentChanges.length === 0 || !isHere) return;
        this.imports.note(change);
        void this.ask(change.document, QUIET_MS);
      }),
      vscode.languages.onDidChangeDiagnostics(() => void this.askOthers()),
      vscode.window.onDidChangeActiveTextEditor(() => this.draw()),
      vscode.window.onDidChangeTextEditorVisibleRanges(() => this.draw()),
      vscode.window.onDidChangeTextEditorSelection(() => this.draw()),
      vscode.commands.registerCommand("fim.nextEdit", () => this.take()),
    ];
  }

  dispose(): void {
    this.hide();
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Ghost text came into a line: hide an edit of it, one that inserts lines below it, and the hint. */
  giveWay(document: vscode.TextDocument, line: number): void {
    this.ghost = { document, version: document.version, line };
    const edit = this.edit;
    const first = edit?.before.length === 0 ? edit.line - 1 : (edit?.line ?? 0);
    const isHere = edit?.document === document && line >= first && line < edit.line + Math.max(1, edit.before.length);
    if (isHere) this.hide();
    else this.draw();
  }

  /** Whether ghost text stands at the cursor, as far as is known: VS Code does not tell when it is gone. */
  private isGhostAt({ document, selection }: vscode.TextEditor): boolean {
    const ghost = this.ghost;
    return ghost?.document === document && ghost.version === document.version && ghost.line === selection.active.line;
  }

  /** The edit on screen, where its document is open. */
  private get edit(): NextEdit | undefined {
    return this.shown !== undefined && "document" in this.shown ? this.shown : undefined;
  }

  hide(): void {
    this.asking?.cancel();
    this.asking = undefined;
    this.shown = undefined;
    this.draw();
    void vscode.commands.executeCommand("setContext", "fim.nextEditShown", false);
  }

  /** Ask when nothing came for so long; the newest request wins; the server answers when the edit is finished. */
  private async ask(document: vscode.TextDocument, quietMs: number): Promise<void> {
    this.hide();
    const asking = (this.asking = new vscode.CancellationTokenSource());
    await new Promise((resolve) => setTimeout(resolve, quietMs)); // in any case after the change itself
    const editor = vscode.window.activeTextEditor;
    if (asking.token.isCancellationRequested || editor?.document !== document || !this.client.isRunning()) return;
    const { asUri, asPosition } = this.client.code2ProtocolConverter;
    const params = {
      textDocument: { uri: asUri(document.uri), version: document.version },
      position: asPosition(editor.selection.active),
      context: { triggerKind: TRIGGER_AUTOMATIC, otherDocuments: true, closedDocuments: true },
    };
    const answer = await this.client.sendRequest<Answer>(METHOD, params, asking.token).catch(() => undefined);
    if (asking.token.isCancellationRequested) return;
    this.asking = undefined;
    const item = answer?.edits[0];
    this.isOff = answer === undefined || answer.off === true;
    if (item === undefined) return this.askOthers();
    if (this.show(item)) void this.client.sendNotification(SHOWN, { item: { command: item.command } });
  }

  /** Where there is nothing else to show, look for the import of a name that an edit just used. */
  private async askOthers(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const isFree = () => this.shown === undefined && this.asking === undefined && editor === vscode.window.activeTextEditor;
    if (editor === undefined || this.isOff || !isFree()) return;
    const item = await this.imports.find(editor);
    if (item !== undefined && isFree()) this.show(item);
  }

  private show(item: Item | Import): boolean {
    this.shown = fromServer(item);
    this.draw();
    void vscode.commands.executeCommand("setContext", "fim.nextEditShown", this.shown !== undefined);
    return this.shown !== undefined;
  }

  /** Do a command that means the edit on screen; whether that was an import, which our server does not know of. */
  handle(command: string): boolean {
    const edit = this.edit;
    if (command === DISMISS) this.hide();
    if (edit?.name === undefined) return false;
    if (command === DISMISS) this.imports.refuse(edit.name);
    else void vscode.window.showInformationMessage(edit.why);
    return true;
  }

  /** Go to the edit; there, apply it. */
  private async take(): Promise<void> {
    if (this.shown !== undefined && "item" in this.shown) return this.open(this.shown);
    const edit = this.edit;
    if (edit === undefined || edit.document.version !== edit.version) return this.hide();
    const editor = vscode.window.activeTextEditor;
    const at = new vscode.Selection(place(edit), place(edit));
    if (editor?.document !== edit.document) await vscode.window.showTextDocument(edit.document, { selection: at });
    else if (editor.selection.active.line === at.active.line && isBesideCursor(editor, edit)) await this.apply(edit);
    else {
      editor.selection = at; // at once: the key may come again before anything could be waited for
      editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
    this.draw();
  }

  /** Open the file of an edit, and go there if it says what the server read. */
  private async open(unopened: Unopened): Promise<void> {
    const document = await vscode.workspace.openTextDocument(unopened.uri).then(undefined, () => undefined);
    if (this.shown !== unopened) return; // the user typed meanwhile
    const edit = document && inDocument(document, unopened.item);
    const stands = edit && document.getText(edit.range).replaceAll("\r\n", "\n");
    if (edit === undefined || stands !== unopened.item.oldText) return this.hide();
    this.shown = edit;
    await vscode.window.showTextDocument(edit.document, { selection: new vscode.Selection(place(edit), place(edit)) });
    this.draw();
  }

  private async apply(edit: NextEdit): Promise<void> {
    this.hide();
    const change = new vscode.WorkspaceEdit();
    change.replace(edit.document.uri, edit.range, edit.text);
    if (!(await vscode.workspace.applyEdit(change))) return;
    const editor = vscode.window.activeTextEditor;
    const last = edit.document.lineAt(Math.min(edit.document.lineCount, edit.line + Math.max(1, edit.after.length)) - 1);
    const old = edit.before.at(-1) ?? "";
    const tail = old.length - (parts(old, edit.after.at(-1) ?? "").at(-1)?.to ?? old.length);
    const end = last.range.end.translate(0, -tail);
    if (editor !== undefined) editor.selection = new vscode.Selection(end, end);
    if (edit.command !== undefined) await vscode.commands.executeCommand(edit.command.command, ...edit.command.arguments);
    await this.ask(edit.document, 0); // it is finished already
  }

  /** Show what is to be shown in every visible editor; an edit of a text that has changed is none. */
  private draw(): void {
    const here = this.edit;
    if (here !== undefined && here.document.version !== here.version) return this.hide();
    for (const editor of vscode.window.visibleTextEditors) {
      const edit = editor.document === here?.document ? here : undefined;
      editor.setDecorations(removed, edit === undefined ? [] : goes(edit));
      editor.setDecorations(added, edit === undefined ? [] : comes(edit));
      editor.setDecorations(hint, this.shown === undefined || this.isGhostAt(editor) ? [] : hints(editor, this.shown));
    }
  }
}

/** What the server proposes; undefined where it is for another version of the text. */
function fromServer(item: Item | Import): NextEdit | Unopened | undefined {
  const uri = vscode.Uri.parse(item.textDocument.uri);
  const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  if ("oldText" in item) return { uri, line: item.range.start.line, item };
  return document?.version === item.textDocument.version ? inDocument(document, item) : undefined;
}

/** The edit in whole lines that differ. */
function inDocument(document: vscode.TextDocument, item: Item | Import): NextEdit | undefined {
  const { start, end } = item.range;
  if (start.line >= document.lineCount) return undefined;
  const range = new vscode.Range(start.line, start.character, end.line, end.character);
  const head = document.lineAt(start.line).text.slice(0, start.character);
  const lastLine = document.lineAt(Math.min(end.line, document.lineCount - 1)).text;
  const before = (head + document.getText(range) + lastLine.slice(end.character)).split(/\r?\n/);
  const after = (head + item.text + lastLine.slice(end.character)).split(/\r?\n/);
  let line = start.line;
  while (before.length > 0 && before[0] === after[0]) {
    before.shift();
    after.shift();
    line += 1;
  }
  while (before.length > 0 && after.length > 0 && before.at(-1) === after.at(-1)) {
    before.pop();
    after.pop();
  }
  if (before.length + after.length === 0) return undefined;
  return { ...item, document, version: document.version, line, before, after, range };
}

/** Within the line where one line becomes one other; undefined where it is more than that. */
function within(edit: NextEdit): Part[] | undefined {
  const { before, after } = edit;
  return before.length === 1 && after.length === 1 ? parts(before[0] ?? "", after[0] ?? "") : undefined;
}

/** Where the cursor goes. */
function place(edit: NextEdit): vscode.Position {
  return new vscode.Position(Math.min(edit.line, edit.document.lineCount - 1), within(edit)?.[0]?.from ?? 0);
}

function goes(edit: NextEdit): vscode.DecorationOptions[] {
  if (edit.before.length === 0) return [];
  const last = edit.document.lineAt(edit.line + edit.before.length - 1).range.end;
  const all = [{ from: 0, to: last.character }];
  return (within(edit) ?? all).map(({ from, to }) => ({
    range: new vscode.Range(edit.line, from, last.line, to),
    hoverMessage: explained(edit),
  }));
}

/**
 * What comes: within the line where one line changes; else line by line beside the lines that go.
 * Decorations cannot add lines on the stable API, so what is left over stands behind the last of them.
 */
function comes(edit: NextEdit): vscode.DecorationOptions[] {
  const { before, after } = edit;
  const places = within(edit);
  if (places !== undefined) {
    return places.map(({ to, text }) => beside(edit, new vscode.Position(edit.line, to), text, "0"));
  }
  const rows = Math.max(1, before.length);
  const first = Math.min(before.length === 0 ? Math.max(0, edit.line - 1) : edit.line, edit.document.lineCount - 1);
  return Array.from({ length: rows }, (_, n) => {
    const text = n < rows - 1 ? (after[n] ?? "") : after.slice(n).map((line) => line.trim()).join(" ⏎ ");
    const mark = before.length === 0 ? `⏎ ${text}` : text;
    return beside(edit, edit.document.lineAt(Math.min(first + n, edit.document.lineCount - 1)).range.end, mark, "2em");
  }).filter((each) => each.renderOptions?.after?.contentText !== "");
}

function beside(edit: NextEdit, at: vscode.Position, text: string, margin: string): vscode.DecorationOptions {
  const backgroundColor = new vscode.ThemeColor("diffEditor.insertedTextBackground");
  const contentText = text.replaceAll(" ", "\u00a0"); // others are collapsed
  const after = { contentText, backgroundColor, margin: `0 0 0 ${margin}` };
  return { range: new vscode.Range(at, at), hoverMessage: explained(edit), renderOptions: { after } };
}

/** Beside the cursor, where the place is: while that is out of sight. */
function hints(editor: vscode.TextEditor, edit: NextEdit | Unopened): vscode.DecorationOptions[] {
  if (editor !== vscode.window.activeTextEditor || isInSight(edit)) return [];
  const at = editor.document.lineAt(editor.selection.active.line).range.end;
  const contentText = `⇥ ${named(editor.document, edit)}`;
  const after = { contentText, color: new vscode.ThemeColor("editorGhostText.foreground"), margin: "0 0 0 2em" };
  return [{ range: new vscode.Range(at, at), renderOptions: { after } }];
}

function isInSight(edit: NextEdit | Unopened): boolean {
  if ("item" in edit) return false;
  const editors = vscode.window.visibleTextEditors.filter((each) => each.document === edit.document);
  return editors.some((each) => isLineInSight(each, edit) && isBesideCursor(each, edit));
}

function isLineInSight(editor: vscode.TextEditor, edit: NextEdit): boolean {
  return editor.visibleRanges.some((range) => range.contains(place(edit)));
}

/** Whether the cursor's column and the place's are in sight together: VS Code does not tell which columns are. */
function isBesideCursor(editor: vscode.TextEditor, edit: NextEdit): boolean {
  const wrap = vscode.workspace.getConfiguration("editor", edit.document).get("wordWrap");
  const column = place(edit).character;
  const cursor = editor.selection.active.character;
  return wrap !== "off" || Math.max(column, cursor) < FIRST_COLUMNS || Math.abs(column - cursor) < NEAR_COLUMNS;
}

/** What to call the place of an edit, for a reader of `document`. */
function named(document: vscode.TextDocument, edit: NextEdit | Unopened): string {
  if ("item" in edit) return `${vscode.workspace.asRelativePath(edit.uri)}:${edit.line + 1}`;
  if (edit.document === document) {
    const editors = vscode.window.visibleTextEditors.filter((each) => each.document === document);
    const column = editors.some((each) => isLineInSight(each, edit)) ? `, column ${place(edit).character + 1}` : "";
    return `line ${place(edit).line + 1}${column}`;
  }
  for (const notebook of vscode.workspace.notebookDocuments) {
    const cell = notebook.getCells().find((each) => each.document === edit.document);
    if (cell !== undefined) return `cell ${cell.index + 1}`;
  }
  return vscode.workspace.asRelativePath(edit.document.uri);
}

/** Why, and the whole edit as a diff. */
function explained(edit: NextEdit): vscode.MarkdownString {
  const lines = [...edit.before.map((line) => `-${line}`), ...edit.after.map((line) => `+${line}`)];
  return new vscode.MarkdownString().appendText(edit.why).appendCodeblock(lines.join("\n"), "diff");
}
