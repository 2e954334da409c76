// What VS Code's other language servers know of the names near the cursor, for ours: where these are
// defined, and which errors there are. Asked when the cursor rests, a few names at a time, each once; sent as
// `fim/context`. Our server judges what it may use, by the file that each item names.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

type Item = { uri: string; value: string } | { uri: string; values: object[] };

const METHOD = "fim/context";
const PAUSE_MS = 500; // more than between two keys: other servers have work of their own after each
const WAIT_MS = 1000; // for slow servers; names that have no answer by then are asked for again
const NAMES = 6; // of one pause
const LONGEST = 1000; // characters of a line that are looked at
const ASKED = 256; // names of a document that are not asked for again
const ABOVE = 3; // lines around the cursor
const BELOW = 1;
const IN_VIEW = 50; // lines around the cursor of which ours knows all
const LINES = 16; // of a definition: the head of a class, a usual function
const BYTES = 1_000_000; // of a file that is read
const ERRORS = 5; // of errors: how many, and how far from the cursor
const ERROR_LINES = 10;
const SCHEMES = ["file", "vscode-notebook-cell"]; // what has a folder, and so may have context

/** Asks them, and tells our server, until disposed of. */
export class OtherServers implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private asked = new WeakMap<vscode.TextDocument, Set<string>>(); // names that were answered
  private told = new WeakMap<vscode.TextDocument, string>(); // the errors that were sent last
  private rested: { document: vscode.TextDocument; version: number } | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly client: LanguageClient) {
    this.subscriptions = [
      client.onDidChangeState(() => {
        if (!client.isRunning()) return;
        this.asked = new WeakMap(); // this server was sent nothing yet
        this.told = new WeakMap();
        this.moved(vscode.window.activeTextEditor);
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => this.moved(editor)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.moved(textEditor)),
    ];
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** The cursor moved, or a key was typed. */
  private moved(editor: vscode.TextEditor | undefined): void {
    clearTimeout(this.timer);
    if (editor === undefined || !SCHEMES.includes(editor.document.uri.scheme)) return;
    const { document } = editor;
    const isTyping = this.rested?.document === document && this.rested.version !== document.version;
    this.rested = { document, version: document.version };
    this.timer = setTimeout(() => void this.inform(editor, isTyping), PAUSE_MS);
  }

  /** Ask the other servers, and tell ours. */
  private async inform(editor: vscode.TextEditor, isTyping: boolean): Promise<void> {
    const isWanted = vscode.workspace.getConfiguration("fim").get<boolean>("ring.servers", true);
    if (!isWanted || !vscode.workspace.isTrusted || editor !== vscode.window.activeTextEditor) return;
    const { document, selection } = editor;
    const { version } = document;
    const items = await this.definitions(document, selection.active);
    if (document.isClosed || !this.client.isRunning()) return;
    // What is half typed has errors that are none.
    if (!isTyping && document.version === version) items.push(...this.errors(document, selection.active));
    if (items.length === 0) return;
    void this.client.sendNotification(METHOD, { textDocument: { uri: this.uri(document.uri) }, items });
  }

  private uri(uri: vscode.Uri): string {
    return this.client.code2ProtocolConverter.asUri(uri);
  }

  /** The errors near the cursor, where they are others than before. */
  private errors(document: vscode.TextDocument, here: vscode.Position): Item[] {
    const isNear = ({ severity, range }: vscode.Diagnostic) =>
      severity === vscode.DiagnosticSeverity.Error && Math.abs(range.start.line - here.line) <= ERROR_LINES;
    const near = vscode.languages.getDiagnostics(document.uri).filter(isNear).slice(0, ERRORS);
    const { asRange } = this.client.code2ProtocolConverter;
    const values = near.map(({ message, range }) => ({ message, severity: 1, range: asRange(range) }));
    const news = JSON.stringify(values);
    if (news === (this.told.get(document) ?? "[]")) return [];
    this.told.set(document, news);
    return [{ uri: this.uri(document.uri), values }];
  }

  /** The definitions of the names near the cursor that are known after `WAIT_MS`; the other names are asked for again. */
  private async definitions(document: vscode.TextDocument, here: vscode.Position): Promise<Item[]> {
    const asked = this.asked.get(document) ?? new Set();
    const items: Item[] = [];
    const answered: string[] = [];
    let isKnown = asked.size > 0;
    const asking = [...namesNear(document, here, asked)].map(async ([name, at]) => {
      const place = await definitionOf(document, at);
      isKnown ||= place !== undefined;
      const value = place && !isInView(place, document, here) && (await codeOf(document, at, place));
      if (place && value) items.push({ uri: this.uri(place.uri), value });
      answered.push(name);
    });
    await Promise.race([Promise.allSettled(asking), new Promise((resolve) => setTimeout(resolve, WAIT_MS))]);
    // Until one name is known, another server may only be starting.
    if (isKnown) this.asked.set(document, new Set([...(asked.size < ASKED ? asked : []), ...answered]));
    return [...items];
  }
}

/** The names near the cursor besides those `asked` already, with their places, those of the nearest lines first. */
function namesNear(document: vscode.TextDocument, here: vscode.Position, asked: Set<string>): Map<string, vscode.Position> {
  const names = new Map<string, vscode.Position>();
  for (let distance = 0; distance <= ABOVE; distance += 1) {
    const below = distance > 0 && distance <= BELOW ? [here.line + distance] : [];
    for (const row of [here.line - distance, ...below]) {
      if (row < 0 || row >= document.lineCount) continue;
      for (const { 0: name, index } of document.lineAt(row).text.slice(0, LONGEST).matchAll(/[A-Za-z_]\w{2,}/g)) {
        if (names.size < NAMES && !asked.has(name) && !names.has(name)) names.set(name, new vscode.Position(row, index));
      }
    }
  }
  return names;
}

/** The first place, of a file, where a name is defined. */
async function definitionOf(document: vscode.TextDocument, at: vscode.Position): Promise<vscode.Location | undefined> {
  const command = "vscode.executeDefinitionProvider";
  const found = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[]>(command, document.uri, at);
  const [first] = found;
  if (first === undefined) return undefined;
  const place = "targetUri" in first ? new vscode.Location(first.targetUri, first.targetRange) : first;
  return place.uri.scheme === "file" ? place : undefined;
}

function isInView({ uri, range }: vscode.Location, document: vscode.TextDocument, here: vscode.Position): boolean {
  return uri.toString() === document.uri.toString() && Math.abs(range.start.line - here.line) < IN_VIEW;
}

/** The code of a definition; of one outside of the workspace its signature, if there is one. */
async function codeOf(document: vscode.TextDocument, at: vscode.Position, place: vscode.Location): Promise<string | undefined> {
  const isOurs = vscode.workspace.getWorkspaceFolder(place.uri) !== undefined;
  const code = (isOurs ? undefined : await signature(document, at)) ?? (await textAt(place));
  return code?.trim() ? code : undefined;
}

/** The first piece of code that is shown on hover. */
async function signature(document: vscode.TextDocument, at: vscode.Position): Promise<string | undefined> {
  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, at);
  const texts = hovers.flatMap(({ contents }) => contents).map((each) => (typeof each === "string" ? each : each.value));
  return texts.map((text) => text.match(/```\w*\n([^]*?)\n```/)?.[1]).find((code) => code !== undefined);
}

/** What stands at a place, undefined where that cannot be read. It is not opened: our server would take it for the user's. */
async function textAt({ uri, range }: vscode.Location): Promise<string | undefined> {
  const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  const text = open?.getText() ?? (await fileText(uri).catch(() => undefined));
  return text && definition(text.split(/\r?\n/).slice(range.start.line, range.start.line + LINES), range);
}

async function fileText(uri: vscode.Uri): Promise<string | undefined> {
  const { type, size } = await vscode.workspace.fs.stat(uri);
  if (type !== vscode.FileType.File || size > BYTES) return undefined;
  return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
}

/** The lines of a definition up to where `range` ends; where that is its name, as long as they are indented deeper. */
function definition(lines: string[], range: vscode.Range): string {
  const indent = (line: string) => line.search(/\S|$/);
  const first = indent(lines[0] ?? "");
  const end = range.isSingleLine
    ? lines.findIndex((line, n) => n > 0 && /\S/.test(line) && indent(line) <= first)
    : range.end.line - range.start.line + 1;
  return lines.slice(0, end < 0 ? LINES : end).join("\n");
}
