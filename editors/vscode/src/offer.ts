// The bundled model is a toy: say so once, with the way to a real one.

import * as vscode from "vscode";

const TOLD = "bundledModelTold";

/** Offer a real model, once ever on this machine, whatever the answer is. */
export async function offerModel(context: vscode.ExtensionContext): Promise<void> {
  if (context.globalState.get(TOLD, false)) return;
  await context.globalState.update(TOLD, true);
  const get = "Get a Real Model";
  const message = "fim-lsp: the bundled model answers, a toy that knows a little Python. Alt+\\ asks it by hand.";
  const answer = await vscode.window.showInformationMessage(message, get, "No, Thanks");
  if (answer === get) await vscode.commands.executeCommand("fim.setup");
}
