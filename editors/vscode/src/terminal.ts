// Commands of the server's program that ask the user something or have much to say: in a terminal.

import * as vscode from "vscode";
import { ownFolder, taskProcess } from "./processes";

/** Run `fim-lsp` with these arguments in a terminal that stays open; resolves when the program has ended. */
export async function runInTerminal(context: vscode.ExtensionContext, program: string, ...args: string[]): Promise<void> {
  const scope = vscode.workspace.workspaceFolders ? vscode.TaskScope.Workspace : vscode.TaskScope.Global;
  const execution = await taskProcess(program, args, await ownFolder(context));
  const task = new vscode.Task({ type: "process" }, scope, args[0] ?? "", "fim-lsp", execution, []);
  task.presentationOptions = { focus: true, panel: vscode.TaskPanelKind.Dedicated, echo: false };
  const running = await vscode.tasks.executeTask(task);
  await new Promise<void>((resolve) => {
    const watching = vscode.tasks.onDidEndTask((ended) => {
      if (ended.execution !== running) return;
      watching.dispose();
      resolve();
    });
  });
}

/** The folder whose settings `fim-lsp doctor` looks at, as its arguments. */
export function projectFolder(): string[] {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file");
  return folder === undefined ? [] : ["--root", folder.uri.fsPath];
}
