// "Not now": for how long, asked in the palette.

import * as vscode from "vscode";

/** The server's command, which takes the minutes. */
export const SNOOZE = "fim.snooze";

const CHOICES = [5, 10, 30, 60, 240];

/** The minutes that the user chose, if any; what is on screen goes. */
export async function askMinutes(): Promise<number | undefined> {
  const rows = CHOICES.map((minutes) => ({ label: minutes < 60 ? `${minutes} minutes` : `${minutes / 60} h`, minutes }));
  const title = "No automatic suggestions for";
  const chosen = await vscode.window.showQuickPick(rows, { title });
  if (chosen !== undefined) await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
  return chosen?.minutes;
}
