// The import of a name that an edit just used, as a next edit: where a diagnostic of another extension is about one
// name on a line that just changed, its quick fix. Only an action that does nothing but insert an import elsewhere
// is taken, and no command of an extension is run.

import * as vscode from "vscode";

const WAIT_MS = 10_000; // after the last change, for the diagnostics of slow servers
const LINES = 8; // that changed last
const RESOLVED = 20; // actions whose edits are asked for
const CHARS = 500; // of an import
const WORDS = /\b(import|include|open|require|use|using)\b/i; // of actions that import
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** What imports a name, in the shape of the server's next edits. */
export interface Import {
  textDocument: { uri: string; version: number };
  range: vscode.Range;
  text: string;
  why: string;
  name: string;
}

/** Finds what the last edits need. */
export class Imports {
  private readonly refused = new Set<string>();
  private asked = new Map<string, Promise<Import | undefined>>(); // by name, for the text as it is
  private document: vscode.TextDocument | undefined;
  private lines: number[] = []; // that changed last
  private changed = 0; // when

  /** The text of a document has changed. */
  note({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (document !== this.document || Date.now() - this.changed > WAIT_MS) this.lines = [];
    this.document = document;
    this.changed = Date.now();
    this.asked = new Map();
    for (const { range, text } of contentChanges) {
      const { start, end } = range;
      const added = text.split("\n").length - 1;
      const moved = this.lines.map((line) => (line > start.line ? line + added - (end.line - start.line) : line));
      const fresh = Array.from({ length: added + 1 }, (_, n) => start.line + n);
      this.lines = [...new Set([...moved, ...fresh])].slice(-LINES);
    }
  }

  /** Do not propose the import of a name again. */
  refuse(name: string): void {
    this.refused.add(name);
  }

  /** The import of a name on a line that just changed, unless the name may still be typed on. */
  async find({ document, selection }: vscode.TextEditor): Promise<Import | undefined> {
    if (document !== this.document || Date.now() - this.changed > WAIT_MS) return undefined;
    for (const diagnostic of vscode.languages.getDiagnostics(document.uri)) {
      const { range, severity } = diagnostic;
      const name = range.isSingleLine && this.lines.includes(range.start.line) ? document.getText(range) : "";
      const isTyped = range.end.isEqual(selection.active);
      if (severity > vscode.DiagnosticSeverity.Warning || isTyped || !NAME.test(name) || this.refused.has(name)) continue;
      const asked = this.asked.get(name) ?? ask(document, diagnostic, name).catch(() => undefined);
      this.asked.set(name, asked);
      const item = await asked;
      if (item !== undefined) return item;
    }
    return undefined;
  }
}

/** The only import among the quick fixes for a diagnostic, or the only one that is preferred. */
async function ask(document: vscode.TextDocument, { range, source }: vscode.Diagnostic, name: string): Promise<Import | undefined> {
  const textDocument = { uri: document.uri.toString(), version: document.version };
  const command = "vscode.executeCodeActionProvider";
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(command, document.uri, range, "quickfix", RESOLVED);
  const all = new Map<string, Import>();
  const preferred = new Map<string, Import>();
  for (const action of actions) {
    const edit = insertion(document.uri, action, name, range.start.line);
    if (edit === undefined) continue;
    const why = `\`${name}\` is not defined. ${source ?? "Quick fix"}: ${action.title}.`;
    const key = JSON.stringify([edit.range, edit.newText]);
    all.set(key, { textDocument, range: edit.range, text: edit.newText, why, name });
    if (action.isPreferred) preferred.set(key, { textDocument, range: edit.range, text: edit.newText, why, name });
  }
  const [item, other] = (preferred.size > 0 ? preferred : all).values();
  return other === undefined ? item : undefined;
}

/** What an action inserts to import `name` for its use in `row`; undefined where it does anything else. */
function insertion(uri: vscode.Uri, { title, edit }: vscode.CodeAction, name: string, row: number): vscode.TextEdit | undefined {
  const [file, ...others] = edit?.entries() ?? [];
  const [one, ...more] = file?.[1].filter(({ newText }) => newText !== name) ?? []; // Pylance replaces the name with itself, too
  if (one === undefined || more.length + others.length > 0 || file?.[0].toString() !== uri.toString()) return undefined;
  const { start, isEmpty } = one.range;
  const isElsewhere = start.line !== row || (start.character === 0 && one.newText.endsWith("\n"));
  const names = one.newText.split(/[^\p{L}\p{N}_$]+/u);
  return isEmpty && isElsewhere && one.newText.length <= CHARS && names.includes(name) && WORDS.test(`${title} ${one.newText}`) ? one : undefined;
}
