// An edit by instruction: asked for in an input box, written into a diff of the file, and applied when it is accepted.
// The diff is VS Code's own, beside nothing else: decorations of the stable API cannot add lines.

import * as vscode from "vscode";
import { type LanguageClient, ProgressType, type Range as LspRange, type TextEdit } from "vscode-languageclient/node";

/** The command of the server; code actions run it, too. */
export const EDIT = "fim.edit";
const SCHEME = "fim-edit"; // of what the file would be; keys and buttons go by it
const EXECUTE = "workspace/executeCommand";
const CHANGED = "fim-lsp changed nothing: the text was changed meanwhile.";
const written = new ProgressType<{ line: number; newText: string }>();

/** What is asked for: an instruction, or problems to fix. */
interface Wish {
  instruction?: string | undefined;
  diagnostics?: { message: string }[] | undefined;
}

/** The argument of a code action: what is asked for, and where. */
interface Wished extends Wish {
  textDocument?: { uri: string; version?: number | null };
  range?: LspRange;
}

/** The answer to `fim.edit` with `preview`; without `range` there is nothing to apply. */
interface Answer {
  version?: number;
  range?: LspRange;
  newText?: string;
  edits: TextEdit[];
  note: string;
}

/** An edit that is being written, or waits for the user. `text` takes the place of whole lines, from `first` to before `end`. */
interface Shown {
  document: vscode.TextDocument;
  version: number;
  wish: Wish;
  range: LspRange;
  uri: vscode.Uri;
  first: number;
  end: number;
  text: string;
  edits: TextEdit[];
  asking: vscode.CancellationTokenSource | undefined;
}

/** Shows edits until disposed of: one at a time. */
export class Edits implements vscode.Disposable, vscode.TextDocumentContentProvider {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  private shown: Shown | undefined;
  private count = 0;

  constructor(private readonly client: LanguageClient) {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.window.tabGroups.onDidChangeTabs(({ closed }) => {
        if (closed.some((tab) => this.isOf(tab))) this.forget();
      }),
      vscode.workspace.onDidChangeTextDocument(({ document }) => {
        if (document.uri.toString() === this.shown?.uri.toString()) this.reveal();
      }),
      vscode.commands.registerCommand("fim.edit.fix", () => this.fix()),
      vscode.commands.registerCommand("fim.edit.accept", () => this.accept()),
      vscode.commands.registerCommand("fim.edit.reject", () => this.close()),
      vscode.commands.registerCommand("fim.edit.again", () => this.again()),
      vscode.commands.registerCommand("fim.edit.more", () => this.more()),
    ];
  }

  dispose(): void {
    void this.close();
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** What the file would be: while the answer is written, the lines that it has not come to are the old ones. */
  provideTextDocumentContent(uri: vscode.Uri): string {
    const shown = this.shown;
    if (shown === undefined || uri.toString() !== shown.uri.toString()) return "";
    const lines = shown.document.getText().split(/\r?\n/);
    const now = shown.text.split(/\r?\n/).slice(0, -1);
    const left = shown.asking === undefined ? [] : lines.slice(shown.first, shown.end).slice(now.length);
    return [...lines.slice(0, shown.first), ...now, ...left, ...lines.slice(shown.end)].join("\n");
  }

  /** Edit the selection, else the function or the block at the cursor: as a code action of the server says, or as the user does. */
  async start(given: unknown): Promise<void> {
    const asked = given as Wished | undefined;
    if (asked?.instruction !== undefined || asked?.diagnostics !== undefined) return this.follow(asked);
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.uri.scheme === SCHEME) return this.more();
    if (editor === undefined) return;
    const range = asked?.range ?? this.client.code2ProtocolConverter.asRange(await linesHere(editor));
    const place = { textDocument: this.named(editor.document), range };
    void this.execute("fim.edit.prepare", place).catch(() => undefined);
    const instruction = await typedInstruction("Edit these lines: what should become of them?");
    if (instruction !== undefined) await this.ask(editor.document, range, { instruction });
  }

  /** Do what a code action says, in the text that it was made for: another one may be in front by now, or it was changed. */
  private async follow({ textDocument, range, instruction, diagnostics }: Wished): Promise<void> {
    const named = vscode.workspace.textDocuments.find((each) => this.named(each).uri === textDocument?.uri);
    const document = textDocument === undefined ? vscode.window.activeTextEditor?.document : named;
    if (document === undefined || range === undefined || (textDocument?.version ?? document.version) !== document.version) {
      void vscode.window.showInformationMessage(CHANGED);
      return;
    }
    await this.ask(document, range, { instruction, diagnostics });
  }

  /** Fix what any extension finds wrong at the cursor. */
  private async fix(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return;
    const lines = new vscode.Range(editor.selection.start.line, 0, editor.selection.end.line + 1, 0);
    const found = vscode.languages.getDiagnostics(editor.document.uri).filter((each) => each.range.intersection(lines) !== undefined);
    const [first] = found;
    if (first === undefined) {
      void vscode.window.showInformationMessage("fim-lsp: no problem is reported here.");
      return;
    }
    const range = found.map((each) => each.range).reduce((all, each) => all.union(each), first.range);
    const diagnostics = found.map(({ message }) => ({ message }));
    await this.ask(editor.document, this.client.code2ProtocolConverter.asRange(range), { diagnostics });
  }

  private async again(): Promise<void> {
    const shown = this.shown;
    if (shown !== undefined) await this.ask(shown.document, shown.range, shown.wish, { again: true });
  }

  private async more(): Promise<void> {
    const shown = this.shown;
    if (shown === undefined) return;
    const instruction = await typedInstruction("And then?");
    if (instruction !== undefined && this.shown === shown) {
      await this.ask(shown.document, shown.range, { instruction }, { more: true });
    }
  }

  /** Have the model write, and show what it writes line by line. */
  private async ask(document: vscode.TextDocument, range: LspRange, wish: Wish, how: object = {}): Promise<void> {
    const before = this.shown?.document === document ? this.shown : undefined;
    before?.asking?.cancel();
    const asking = new vscode.CancellationTokenSource();
    const uri = before?.uri ?? document.uri.with({ scheme: SCHEME, query: String((this.count += 1)) });
    const end = range.end.character === 0 && range.end.line > range.start.line ? range.end.line : range.end.line + 1;
    const place = { range, first: range.start.line, end };
    const shown: Shown = { document, version: document.version, wish, uri, ...place, text: "", edits: [], asking };
    if (before === undefined) await this.close();
    this.shown = shown;
    void vscode.commands.executeCommand("setContext", "fim.editIsWhole", false);
    const partialResultToken = `fim.edit:${(this.count += 1)}`;
    const listening = this.client.onProgress(written, partialResultToken, ({ line, newText }) => {
      if (this.shown !== shown || wish.diagnostics !== undefined) return; // which lines a fix is for, the answer says
      const above = shown.text.split(/(?<=\n)/).slice(0, line);
      shown.text = above.join("") + newText;
      void this.show(shown);
    });
    const asked = { textDocument: this.named(document), range, ...wish, ...how, preview: true, partialResultToken };
    const answer = await this.execute(EDIT, asked, asking.token).catch(() => undefined);
    listening.dispose();
    if (this.shown !== shown) return;
    shown.asking = undefined;
    if (answer?.range === undefined || answer.edits.length === 0) {
      await this.close();
      if (!asking.token.isCancellationRequested) void vscode.window.showInformationMessage(unchanged(answer));
      return;
    }
    const { start, end: last } = answer.range;
    Object.assign(shown, { range: answer.range, first: start.line, end: last.character > 0 ? last.line + 1 : last.line });
    const text = answer.newText ?? "";
    shown.text = text === "" || text.endsWith("\n") ? text : `${text}\n`;
    shown.edits = answer.edits;
    await this.show(shown);
    this.reveal(); // now, if VS Code has all of it, else once it has
    await vscode.commands.executeCommand("setContext", "fim.editIsWhole", true);
  }

  /** Put the diff in front, or have it drawn again where it is. */
  private async show(shown: Shown): Promise<void> {
    this.changed.fire(shown.uri);
    if (this.tab() !== undefined) return;
    const name = vscode.workspace.asRelativePath(shown.document.uri);
    const title = `Tab accepts · ${name}: ${shown.wish.instruction ?? "fix"}`;
    const selection = new vscode.Range(shown.first, 0, shown.first, 0);
    await vscode.commands.executeCommand("vscode.diff", shown.document.uri, shown.uri, title, { preview: false, selection });
    this.changed.fire(shown.uri); // what was written while it opened, VS Code did not hear
  }

  /** Have the first change in sight, once all is written: it may stand far to the right. */
  private reveal(): void {
    const shown = this.shown;
    const editor = vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === shown?.uri.toString());
    if (shown === undefined || shown.asking !== undefined || editor === undefined) return;
    const change = firstChange(shown.document, editor.document, shown.first);
    editor.revealRange(change, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Apply the edit, in one step. */
  private async accept(): Promise<void> {
    const shown = this.shown;
    if (shown === undefined || shown.asking !== undefined) return;
    await this.close();
    const change = new vscode.WorkspaceEdit();
    for (const { range, newText } of shown.edits) {
      change.replace(shown.document.uri, this.client.protocol2CodeConverter.asRange(range), newText);
    }
    const { document, first } = shown;
    const nLines = document.lineCount;
    const isApplied = document.version === shown.version && (await vscode.workspace.applyEdit(change));
    if (!isApplied) void vscode.window.showInformationMessage(CHANGED);
    const at = isApplied ? endOfLast(shown.edits, document, document.lineCount - nLines) : new vscode.Position(first, 0);
    await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
  }

  /** Close the diff: what is not accepted is rejected. */
  private async close(): Promise<void> {
    const tab = this.tab();
    this.forget();
    if (tab !== undefined) await vscode.window.tabGroups.close(tab);
  }

  private forget(): void {
    this.shown?.asking?.cancel();
    this.shown = undefined;
  }

  private tab(): vscode.Tab | undefined {
    return vscode.window.tabGroups.all.flatMap((group) => group.tabs).find((tab) => this.isOf(tab));
  }

  private isOf({ input }: vscode.Tab): boolean {
    return input instanceof vscode.TabInputTextDiff && input.modified.toString() === this.shown?.uri.toString();
  }

  private named(document: vscode.TextDocument): { uri: string; version: number } {
    return { uri: this.client.code2ProtocolConverter.asUri(document.uri), version: document.version };
  }

  private execute(command: string, argument: object, token?: vscode.CancellationToken): Promise<Answer> {
    const params = { command, arguments: [argument] };
    if (token === undefined) return this.client.sendRequest<Answer>(EXECUTE, params); // an undefined one would be sent, as a second parameter
    return this.client.sendRequest<Answer>(EXECUTE, params, token);
  }
}

/** The selection; without one the innermost function around the cursor, where an extension knows functions, else the block of its line. */
async function linesHere({ document, selection }: vscode.TextEditor): Promise<vscode.Range> {
  if (!selection.isEmpty) return selection;
  const functions = [vscode.SymbolKind.Function, vscode.SymbolKind.Method, vscode.SymbolKind.Constructor];
  const command = "vscode.executeDocumentSymbolProvider";
  const top = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(command, document.uri);
  const all = (symbols: vscode.DocumentSymbol[]): vscode.DocumentSymbol[] => symbols.flatMap((each) => [each, ...all(each.children ?? [])]);
  const around = all(top ?? []).filter(({ kind, range }) => functions.includes(kind) && range?.contains(selection.active));
  const last = around.at(-1)?.range;
  return last === undefined ? blockAt(document, selection.active.line) : new vscode.Range(last.start.line, 0, last.end.line + 1, 0);
}

/** A line, with the lines below it that are indented further: a header of a block stands for all of that. */
function blockAt(document: vscode.TextDocument, first: number): vscode.Range {
  const indent = (line: number): number => document.lineAt(line).firstNonWhitespaceCharacterIndex;
  let end = first + 1;
  for (let line = end; line < document.lineCount; line++) {
    if (document.lineAt(line).isEmptyOrWhitespace) continue;
    if (indent(line) <= indent(first)) {
      const closes = end > first + 1 && indent(line) === indent(first) && /^\s*[\])}]/.test(document.lineAt(line).text);
      return new vscode.Range(first, 0, closes ? line + 1 : end, 0);
    }
    end = line + 1;
  }
  return new vscode.Range(first, 0, end, 0);
}

/** What of the first line that differs, from a line on, is new. */
export function firstChange(old: vscode.TextDocument, now: vscode.TextDocument, first: number): vscode.Range {
  const textOf = (document: vscode.TextDocument, line: number): string => (line < document.lineCount ? document.lineAt(line).text : "");
  let line = first;
  while (line < now.lineCount - 1 && textOf(old, line) === textOf(now, line)) line++;
  const [before, after] = [textOf(old, line), textOf(now, line)];
  let start = 0;
  while (start < after.length && before[start] === after[start]) start++;
  let end = after.length;
  while (end > start && before[before.length - (after.length - end) - 1] === after[end - 1]) end--;
  return new vscode.Range(line, start, line, end);
}

async function typedInstruction(prompt: string): Promise<string | undefined> {
  const typed = await vscode.window.showInputBox({ title: "fim-lsp", prompt, placeHolder: "for example: make it async" });
  return typed?.trim() === "" ? undefined : typed;
}

/** The end of the last line that edits wrote, after so many more lines than before. */
function endOfLast(edits: TextEdit[], document: vscode.TextDocument, nMore: number): vscode.Position {
  const ends = edits.map(({ range: { end } }) => (end.character === 0 ? end.line - 1 : end.line));
  return document.lineAt(Math.max(0, Math.max(...ends) + nMore)).range.end;
}

/** Why nothing comes of an edit. */
function unchanged(answer: Answer | undefined): string {
  return `fim-lsp changed nothing: ${answer?.note || "the server did not answer"}.`;
}
