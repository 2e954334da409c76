// "Not now": for how long, asked in the palette.

import * as vscode from "vscode";

/** The server's command, which takes the minutes. */
export const SNOOZE = "fim.snooze";

/** The server's command that ends it. */
export const RESUME = "fim.resume";

const CHOICES = [5, 10, 30, 60, 240];
const UNTIL = "snoozedUntil"; // milliseconds since 1970, of this workspace
const MINUTE = 60_000;

/** Remember that it is quiet for so many minutes, for the next server of this workspace; 0 forgets it. */
export async function remember(memory: vscode.Memento, minutes: number): Promise<void> {
  await memory.update(UNTIL, minutes > 0 ? Date.now() + minutes * MINUTE : undefined);
}

/** The minutes that are left of what was remembered, 0 for none. */
export function minutesLeft(memory: vscode.Memento): number {
  return Math.max(0, (memory.get<number>(UNTIL) ?? 0) - Date.now()) / MINUTE;
}

/** The minutes that the user chose, if any; what is on screen goes. */
export async function askMinutes(): Promise<number | undefined> {
  const rows = CHOICES.map((minutes) => ({ label: minutes < 60 ? `${minutes} minutes` : `${minutes / 60} h`, minutes }));
  const title = "No automatic suggestions for";
  const chosen = await vscode.window.showQuickPick(rows, { title });
  if (chosen !== undefined) await vscode.commands.executeCommand("editor.action.inlineSuggest.hide");
  return chosen?.minutes;
}
