// Ghost text that grows. VS Code draws what its question was answered with, and asks nothing more until the next key; so
// the server is asked for all of the text, VS Code is answered in time with what there is, and made to ask again once
// the rest is here. That question is answered from here: the server hears nothing of it.

import * as vscode from "vscode";
import { type InlineCompletionList, type InlineCompletionParams, type LanguageClient, ProgressType } from "vscode-languageclient/node";
import { switchedOn } from "./settings";

const METHOD = "textDocument/inlineCompletion";
const PATIENCE_MS = 250; // for all of a text; then its first lines are shown
const IN_WORD_MS = 600; // of the 750 that VS Code's list waits for ghost text, since 1.121
const IN_WORD = /[\p{L}\p{N}_]$/u;
const ALONE = "fim.isAlone"; // true where VS Code asked by hand and got one text: it asks for others once only, and did
const WAITS = "fim.listWaits"; // true while VS Code's list waits for an answer: then a key keeps it closed
// VS Code keeps what it shows and puts the new text behind it, as another suggestion.
const ASK = "editor.action.inlineSuggest.trigger";
const NEXT = "editor.action.inlineSuggest.showNext";
const HIDE = "editor.action.inlineSuggest.hide"; // then VS Code asks again
const lines = new ProgressType<InlineCompletionList>();
let count = 0;

type Answer = vscode.InlineCompletionItem[] | vscode.InlineCompletionList | null | undefined;
type Provide = (
  document: vscode.TextDocument,
  position: vscode.Position,
  context: vscode.InlineCompletionContext,
  token: vscode.CancellationToken,
) => vscode.ProviderResult<Answer>;

/** The newest question. `told`: what VS Code was answered with; `more`: what it is answered with while it asks again. */
interface Question {
  document: vscode.TextDocument;
  version: number;
  position: vscode.Position;
  asking: vscode.CancellationTokenSource;
  told?: string;
  more?: Answer;
  wasAskedAgain?: boolean;
}

/** Asks the server and answers VS Code, until disposed of. */
export class Growing implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[];
  private newest: Question | undefined;
  private isAlone = false;
  private shown: { document: vscode.TextDocument; at: vscode.Position; text: string } | undefined;

  constructor(private readonly client: LanguageClient) {
    const leave = () => {
      if (this.newest?.told !== undefined && !isHere(this.newest)) this.forget();
    };
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument(leave),
      vscode.window.onDidChangeTextEditorSelection(leave),
      vscode.window.onDidChangeActiveTextEditor(leave),
    ];
  }

  dispose(): void {
    this.forget();
    this.noteAlone(false);
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** Show no more of what was asked for: the user does not want it, or is elsewhere. */
  forget(): void {
    this.newest?.asking.cancel();
    this.newest = undefined;
  }

  /** Answer VS Code: by hand, and for an entry of its list, as the server answers; else in time, and once more later. */
  readonly provide = async (
    document: vscode.TextDocument,
    position: vscode.Position,
    context: vscode.InlineCompletionContext,
    token: vscode.CancellationToken,
    next: Provide,
  ): Promise<Answer> => {
    const isByHand = context.triggerKind === vscode.InlineCompletionTriggerKind.Invoke;
    const isOfList = context.selectedCompletionInfo !== undefined;
    const again = this.newest;
    if (isByHand && again?.more !== undefined && isAt(again, document, position)) {
      again.wasAskedAgain = !isOfList;
      this.noteAlone(itemsOf(again.more).length === 1);
      return isOfList ? [] : again.more;
    }
    this.forget();
    if (isByHand || isOfList) {
      const found = await next(document, position, context, token);
      this.noteAlone(itemsOf(found).length === 1);
      return found;
    }
    this.noteAlone(false);
    const question = this.begin(document, position);
    const cancelling = token.onCancellationRequested(() => question.asking.cancel());
    const first = await this.ask(question, context);
    cancelling.dispose(); // VS Code is done with its question, the server not with ours
    return token.isCancellationRequested ? null : first;
  };

  /** Show another text where one is shown, as VS Code does while it still asks for others itself. */
  readonly showAnother = async (): Promise<void> => {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return;
    this.forget();
    const { document, selection: { active: position } } = editor;
    const question = this.begin(document, position);
    const byHand = { triggerKind: vscode.InlineCompletionTriggerKind.Invoke, selectedCompletionInfo: undefined };
    const found = await this.request(question, this.client.code2ProtocolConverter.asInlineCompletionParams(document, position, byHand));
    if (this.newest !== question || !isHere(question)) return;
    if (itemsOf(found).length > 1) {
      question.more = found;
      await vscode.commands.executeCommand(HIDE);
      await vscode.commands.executeCommand(ASK);
    }
    if (this.newest === question) await vscode.commands.executeCommand(NEXT);
    if (this.newest === question) this.newest = undefined;
  };

  private begin(document: vscode.TextDocument, position: vscode.Position): Question {
    const question = { document, version: document.version, position, asking: new vscode.CancellationTokenSource() };
    this.newest = question;
    return question;
  }

  private noteAlone(isAlone: boolean): void {
    if (isAlone === this.isAlone) return; // a key has no time to lose
    this.isAlone = isAlone;
    void setContext(ALONE, isAlone);
  }

  /** The server's answer; nothing where the question was cancelled, or the server has ended. */
  private request({ asking }: Question, params: InlineCompletionParams): Promise<Answer> {
    return this.client
      .sendRequest<InlineCompletionList | null>(METHOD, params, asking.token)
      .then((found) => (found === null ? null : this.read(found, asking)))
      .catch(() => null);
  }

  private read(list: InlineCompletionList, asking: vscode.CancellationTokenSource): Promise<Answer> {
    return this.client.protocol2CodeConverter.asInlineCompletionResult(list, asking.token);
  }

  /** Ask the server; returns what VS Code is to show first, while the rest may be on its way. */
  private ask(question: Question, context: vscode.InlineCompletionContext): Promise<Answer> {
    const { document, position, asking } = question;
    const partialResultToken = `fim.growing:${(count += 1)}`;
    const params = { ...this.client.code2ProtocolConverter.asInlineCompletionParams(document, position, context), partialResultToken };
    return new Promise((answer) => {
      let soFar: Answer;
      let isDue = false;
      const tell = (found: Answer) => {
        if (question.told !== undefined) return void this.grow(question, found);
        question.told = textOf(found);
        if (this.newest === undefined || this.newest === question) void setContext(WAITS, false);
        this.shown = { document, at: position, text: question.told };
        answer(found);
      };
      const tellPart = () => {
        if (isDue && soFar !== undefined && question.told === undefined) tell(soFar);
      };
      const timers: NodeJS.Timeout[] = [];
      const after = (ms: number, work: () => void) => timers.push(setTimeout(work, ms));
      after(this.goesOn(question) ? 0 : patienceMs(document), () => ((isDue = true), tellPart()));
      if (listWaits() && IN_WORD.test(lineBefore(document, position))) {
        void setContext(WAITS, true);
        after(IN_WORD_MS, () => question.told === undefined && tell(soFar));
      }
      const listening = this.client.onProgress(lines, partialResultToken, async (part) => {
        soFar = await this.read(part, asking);
        if (question.told === "") after(PATIENCE_MS, () => tell(soFar)); // late already: if all of it comes now, that
        else tellPart();
      });
      void this.request(question, params).then((all) => {
        timers.forEach(clearTimeout);
        listening.dispose();
        tell(all);
      });
    });
  }

  /** Whether the user types along what is shown: then there is no reason to wait. */
  private goesOn({ document, position }: Question): boolean {
    const shown = this.shown;
    if (shown?.document !== document || !shown.at.isBefore(position)) return false;
    return shown.text.startsWith(document.getText(new vscode.Range(shown.at, position)));
  }

  /** Show all that there is, if the user is still there and it goes on as what is shown, once: VS Code asks no third time. */
  private async grow(question: Question, all: Answer): Promise<void> {
    const { document, told = "" } = question;
    const text = textOf(all);
    const on = switchedOn(document.languageId);
    if (this.newest !== question || question.more !== undefined || !isHere(question)) return;
    if (text === told || !text.startsWith(told) || !on.auto || !on.language || !vscode.window.state.focused) return;
    question.more = all;
    this.shown = { document, at: question.position, text };
    await vscode.commands.executeCommand(ASK);
    if (told !== "" && question.wasAskedAgain === true && this.newest === question) await vscode.commands.executeCommand(NEXT);
    if (this.newest === question) this.newest = undefined;
  }
}

function setContext(name: string, value: boolean): Thenable<unknown> {
  return vscode.commands.executeCommand("setContext", name, value);
}

function isAt(question: Question, document: vscode.TextDocument, position: vscode.Position): boolean {
  return question.document === document && question.version === document.version && question.position.isEqual(position);
}

/** Whether the cursor is where it was asked, in the same text. */
function isHere(question: Question): boolean {
  const editor = vscode.window.activeTextEditor;
  return editor !== undefined && editor.selection.isEmpty && isAt(question, editor.document, editor.selection.active);
}

function lineBefore(document: vscode.TextDocument, position: vscode.Position): string {
  return document.lineAt(position).text.slice(0, position.character);
}

function patienceMs(document: vscode.TextDocument): number {
  return vscode.workspace.getConfiguration("fim", document).get<number | null>("completion.patienceMs") ?? PATIENCE_MS;
}

/** What would be inserted, "" for nothing. */
function textOf(answer: Answer): string {
  const [item] = itemsOf(answer);
  return item === undefined ? "" : insertedBy(item);
}

export function itemsOf(answer: Answer): vscode.InlineCompletionItem[] {
  return Array.isArray(answer) ? answer : (answer?.items ?? []);
}

export function insertedBy({ insertText }: vscode.InlineCompletionItem): string {
  return typeof insertText === "string" ? insertText : insertText.value;
}

/** Whether VS Code's list waits for ghost text inside a word. */
function listWaits(): boolean {
  const [major = 0, minor = 0] = vscode.version.split(".").map(Number);
  return major > 1 || minor >= 121;
}
