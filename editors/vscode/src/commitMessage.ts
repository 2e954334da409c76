// A commit message: into the box of VS Code's source control view, or into the COMMIT_EDITMSG that git opened.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

/** The command of the server. */
export const COMMIT_MESSAGE = "fim.commitMessage";

/** The parts of the git extension's interface (version 1) that are used. */
interface Git {
  getAPI(version: 1): { repositories: Repository[]; getRepository(uri: vscode.Uri): Repository | null };
}

interface Repository {
  rootUri: vscode.Uri;
  inputBox: { value: string };
}

interface Answer {
  text: string;
  note: string;
}

type Ask = (argument: object) => Promise<Answer>;

/** Write one: `given` is the repository whose button was pressed, if one was. */
export async function writeCommitMessage(client: LanguageClient, given: unknown, ask: Ask): Promise<Answer | undefined> {
  const { asUri } = client.code2ProtocolConverter;
  const document = vscode.window.activeTextEditor?.document;
  if (given === undefined && document !== undefined && isMessage(document)) return ask({ uri: asUri(document.uri) });
  const repository = await chosenRepository(given, document);
  if (repository === undefined) {
    void vscode.window.showInformationMessage("fim-lsp: there is no git repository to write a commit message for.");
    return undefined;
  }
  const before = repository.inputBox.value;
  const [typed = "", ...below] = before.split("\n");
  const answer = await ask({ folder: asUri(repository.rootUri), typed });
  if (answer.text === "") void vscode.window.showInformationMessage(`fim-lsp wrote nothing: ${answer.note}`);
  else if (repository.inputBox.value === before) repository.inputBox.value = [typed + answer.text, ...below].join("\n");
  return answer;
}

/** Ask for ghost text where git waits for a message: VS Code asks by itself only when something is typed. */
export function suggestInMessage(editor: vscode.TextEditor | undefined): void {
  if (editor === undefined || !isMessage(editor.document)) return;
  const isEmpty = editor.document.lineAt(0).isEmptyOrWhitespace && editor.selection.active.line === 0;
  if (isEmpty && vscode.workspace.getConfiguration("fim").get<boolean>("completion.auto", true)) {
    void vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
  }
}

function isMessage(document: vscode.TextDocument): boolean {
  return document.uri.scheme === "file" && document.uri.path.endsWith("/COMMIT_EDITMSG");
}

/** The repository of the button, else of the file in front, else the only one. */
async function chosenRepository(given: unknown, document: vscode.TextDocument | undefined): Promise<Repository | undefined> {
  const extension = vscode.extensions.getExtension<Git>("vscode.git");
  const git = (await extension?.activate())?.getAPI(1);
  if (git === undefined) return undefined;
  const uri = (given as { rootUri?: vscode.Uri } | undefined)?.rootUri ?? document?.uri;
  return (uri && git.getRepository(uri)) ?? (git.repositories.length === 1 ? git.repositories[0] : undefined);
}
