// Commands of the server's program that ask the user something or have much to say: in a terminal.

import * as vscode from "vscode";

/** Run `fim-lsp` with these arguments in a terminal that stays open; resolves when the program has ended. */
export async function runInTerminal(program: string, ...args: string[]): Promise<void> {
  const scope = vscode.workspace.workspaceFolders ? vscode.TaskScope.Workspace : vscode.TaskScope.Global;
  const execution = new vscode.ProcessExecution(program, args);
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
