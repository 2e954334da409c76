// Commands of the server's program that ask the user something or have much to say: in a terminal.

import * as vscode from "vscode";
import { ownFolder, taskProcess } from "./processes";

const SOURCE = "fim-lsp";

/**
 * Run `fim-lsp` with these arguments in a terminal that stays open, or show the one where the same runs already; resolves
 * when the program has ended.
 */
export async function runInTerminal(context: vscode.ExtensionContext, program: string, ...args: string[]): Promise<void> {
  const scope = vscode.workspace.workspaceFolders ? vscode.TaskScope.Workspace : vscode.TaskScope.Global;
  const execution = await taskProcess(program, args, await ownFolder(context));
  const [name = ""] = args;
  const task = new vscode.Task({ type: "process" }, scope, name, SOURCE, execution, []);
  task.presentationOptions = { focus: true, panel: vscode.TaskPanelKind.Dedicated, echo: false };
  const open = vscode.tasks.taskExecutions.find((each) => each.task.source === SOURCE && each.task.name === name);
  if (open !== undefined) vscode.window.terminals.find((each) => each.name === name)?.show();
  const running = open ?? (await vscode.tasks.executeTask(task)); // a second one, VS Code would ask what to do with the first
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
