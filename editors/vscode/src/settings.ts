// VS Code's settings as the server's: the same names, without those that are not set.

import * as vscode from "vscode";

const SECTION = "fim";

interface Manifest {
  contributes: { configuration: { properties: Record<string, unknown> }[] };
}

/** The settings that the user or the workspace has set, as a nested object. */
export function changedByUser(): object {
  const all = vscode.workspace.getConfiguration();
  const result: Record<string, Record<string, unknown>> = { status: { notify: true } };
  for (const key of names()) {
    const [, section, name] = key.split(".");
    const found = all.inspect(key);
    const set = found?.workspaceFolderValue ?? found?.workspaceValue ?? found?.globalValue;
    if (section !== undefined && name !== undefined && set !== undefined) {
      (result[section] ??= {})[name] = set;
    }
  }
  return result;
}

/** Switch completions while typing off, or on again, for this user. */
export async function toggle(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const auto = !settings.get<boolean>("completion.auto", true);
  await settings.update("completion.auto", auto, vscode.ConfigurationTarget.Global);
}

/** Switch completions while typing off, or on again, for the language of the file in front. */
export async function toggleLanguage(): Promise<void> {
  const language = vscode.window.activeTextEditor?.document.languageId;
  if (language === undefined) return;
  const settings = vscode.workspace.getConfiguration(SECTION);
  const off = settings.get<string[]>("completion.disabledFor", []);
  const others = off.filter((name) => name !== language);
  const now = others.length < off.length ? others : [...off, language];
  await settings.update("completion.disabledFor", now, vscode.ConfigurationTarget.Global);
}

/** Whether completions come while typing, and whether they come at all for a language. */
export function switchedOn(language: string | undefined): { auto: boolean; language: boolean } {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const off = settings.get<string[]>("completion.disabledFor", []);
  return { auto: settings.get("completion.auto", true), language: language === undefined || !off.includes(language) };
}

/** Every setting of the server, `fim.section.name`. */
function names(): string[] {
  const manifest = vscode.extensions.getExtension("fim-lsp.fim-lsp")?.packageJSON as Manifest;
  const keys = manifest.contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
  return keys.filter((key) => key.split(".").length === 3);
}
