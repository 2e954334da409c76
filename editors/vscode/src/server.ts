// The server's program: where it is, and what the user is asked where it is not.

import { homedir } from "node:os";
import { join } from "node:path";
import * as vscode from "vscode";
import { offerTrust, ownProgram, PROGRAM, wheelOf } from "./install";
import { programPath } from "./processes";

/** `fim.serverPath`, "" where it is not set. */
export function configuredPath(): string {
  return vscode.workspace.getConfiguration("fim").get<string>("serverPath", "");
}

/**
 * The program to run: `fim.serverPath` (an absolute path), else on the PATH, else where pipx and uv put programs
 * (editors started from a desktop often miss that part of the PATH), else what this version of the
 * extension has installed.
 */
export async function findServer(context: vscode.ExtensionContext): Promise<string | undefined> {
  const configured = configuredPath();
  if (configured !== "") return programPath(configured);
  for (const name of [PROGRAM, join(homedir(), ".local", "bin", PROGRAM), ownProgram(context)]) {
    const path = await programPath(name);
    if (path !== undefined) return path;
  }
  return undefined;
}

/**
 * Say that the server is missing, where it was looked for, and what can be done. A wrong path is
 * offered to be cleared: what is installed is not looked at while it is set. In a workspace that is not
 * trusted, where nothing is installed, trust is what has to come first.
 */
export async function offerInstallation(context: vscode.ExtensionContext): Promise<void> {
  const configured = configuredPath();
  if (configured === "" && !vscode.workspace.isTrusted) return offerTrust();
  const where = configured === "" ? "on the PATH or in ~/.local/bin" : `at ${configured} (setting fim.serverPath)`;
  const install = configured === "" ? "Install It" : "Clear the Setting";
  const choose = "Set Its Path";
  const canInstall = configured !== "" || (await wheelOf(context)) !== undefined;
  const message = `fim-lsp, the program that makes the completions, was not found ${where}.`;
  const answer = await vscode.window.showErrorMessage(message, ...(canInstall ? [install] : []), choose);
  if (answer === choose) await vscode.commands.executeCommand("workbench.action.openSettings", "fim.serverPath");
  else if (answer === install) await vscode.commands.executeCommand("fim.install");
}

/** Take the path out of the settings, so that the server is looked for everywhere again; show it where that fails. */
export async function clearPath(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("fim");
  await settings.update("serverPath", undefined, vscode.ConfigurationTarget.Global);
  if (configuredPath() !== "") await vscode.commands.executeCommand("workbench.action.openSettings", "fim.serverPath");
}
