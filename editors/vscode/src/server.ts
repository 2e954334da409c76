// The server's program: where it is, and how to get it.

import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { homedir } from "node:os";
import { promisify } from "node:util";
import * as vscode from "vscode";

const run = promisify(execFile);
const WINDOWS = process.platform === "win32";
const PROGRAM = WINDOWS ? "fim-lsp.exe" : "fim-lsp";
const BIN = WINDOWS ? "Scripts" : "bin";

/**
 * The program to run: `fim.serverPath`, else on the PATH, else where pipx and uv put programs
 * (editors started from a desktop often miss that part of the PATH), else what we installed.
 */
export async function findServer(context: vscode.ExtensionContext): Promise<string | undefined> {
  const configured = vscode.workspace.getConfiguration("fim").get<string>("serverPath", "");
  if (configured !== "") {
    const path = configured.replace(/^~(?=[/\\])/, homedir());
    return (await executable(path)) ? path : undefined;
  }
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const folders = [...onPath, join(homedir(), ".local", "bin"), join(ownEnvironment(context), BIN)];
  for (const folder of folders) {
    const path = join(folder, PROGRAM);
    if (await executable(path)) return path;
  }
  return undefined;
}

/** Say that the server is missing, where it was looked for, and what can be done. */
export async function offerInstallation(context: vscode.ExtensionContext): Promise<void> {
  const configured = vscode.workspace.getConfiguration("fim").get<string>("serverPath", "");
  const where = configured === "" ? "on the PATH" : `at ${configured} (setting fim.serverPath)`;
  const install = "Install It";
  const choose = "Set Its Path";
  const choices = (await bundledWheel(context)) ? [install, choose] : [choose];
  const message = `fim-lsp, the program that makes the completions, was not found ${where}.`;
  const answer = await vscode.window.showErrorMessage(message, ...choices);
  if (answer === install) await vscode.commands.executeCommand("fim.install");
  if (answer === choose) await vscode.commands.executeCommand("workbench.action.openSettings", "fim.serverPath");
}

/** Install the server of this extension into a Python environment of its own. False when that failed. */
export async function installServer(context: vscode.ExtensionContext): Promise<boolean> {
  const wheel = await bundledWheel(context);
  if (wheel === undefined) {
    void vscode.window.showErrorMessage("This build of the extension brings no server; see its README.");
    return false;
  }
  const environment = ownEnvironment(context);
  const options = { location: vscode.ProgressLocation.Notification, title: "Installing fim-lsp" };
  try {
    await vscode.window.withProgress(options, async () => {
      await run(WINDOWS ? "py" : "python3", ["-m", "venv", environment]);
      await run(join(environment, BIN, "python"), ["-m", "pip", "install", "--upgrade", wheel]);
    });
    return true;
  } catch (error) {
    const why = (error as { stderr?: string }).stderr ?? String(error);
    void vscode.window.showErrorMessage(`fim-lsp could not be installed (it needs Python 3.10 or newer): ${why}`);
    return false;
  }
}

function ownEnvironment(context: vscode.ExtensionContext): string {
  return join(context.globalStorageUri.fsPath, "server");
}

async function bundledWheel(context: vscode.ExtensionContext): Promise<string | undefined> {
  const files = await vscode.workspace.fs
    .readDirectory(vscode.Uri.joinPath(context.extensionUri, "server"))
    .then((entries) => entries.map(([name]) => name), () => []);
  const wheel = files.find((name) => name.endsWith(".whl"));
  return wheel && vscode.Uri.joinPath(context.extensionUri, "server", wheel).fsPath;
}

async function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(() => true, () => false);
}
