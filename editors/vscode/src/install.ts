// The server of this extension in a Python environment of its own, in the extension's storage: one
// folder per version, so that an update of the extension updates the server.

import { readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { NOTE, ownFolder, programPath, run } from "./processes";

const WINDOWS = process.platform === "win32";
const BIN = WINDOWS ? "Scripts" : "bin";
const PYTHONS = ["python3", "python", "py", "python3.14", "python3.13", "python3.12", "python3.11"];
const IS_NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))";
const REASON_CHARS = 300; // of what a failed command said; the end has the reason

export const PROGRAM = "fim-lsp";

/** Where the server of this version is, or would be, installed. */
export function ownProgram(context: vscode.ExtensionContext): string {
  return join(environment(context), BIN, WINDOWS ? `${PROGRAM}.exe` : PROGRAM);
}

/** The server as this build of the extension brings it, if it does. */
export async function wheelOf(context: vscode.ExtensionContext): Promise<string | undefined> {
  const folder = join(context.extensionPath, "server");
  const wheel = (await readdir(folder).catch(() => [])).find((name) => name.endsWith(".whl"));
  return wheel && join(folder, wheel);
}

/** Install it, and show how far that is. False when it may not be, failed or was cancelled, after a message. */
export async function installServer(context: vscode.ExtensionContext): Promise<boolean> {
  if (!vscode.workspace.isTrusted) {
    void offerTrust();
    return false;
  }
  const wheel = await wheelOf(context);
  if (wheel === undefined) {
    void vscode.window.showErrorMessage("This build of the extension contains no server; see its README.");
    return false;
  }
  const title = "Installing fim-lsp, about 173 MB";
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  try {
    const storage = await ownFolder(context);
    await vscode.window.withProgress(options, (progress, token) => {
      const runHere = (program: string, ...args: string[]) =>
        run(program, args, storage, token, (line) => progress.report({ message: shortened(line) }));
      return install(environment(context), wheel, runHere);
    });
    await removeOthers(context);
    // beside uninstall.js, which knows no storage; a folder that cannot be written to is no failure
    await writeFile(join(context.extensionPath, "dist", NOTE), ownProgram(context)).catch(() => undefined);
    return true;
  } catch (error) {
    await rm(environment(context), { recursive: true, force: true });
    const reason = (error as Error).message.trim().slice(-REASON_CHARS);
    void vscode.window.showErrorMessage(`fim-lsp could not be installed: ${reason}`);
    return false;
  }
}

/** Say why nothing is installed in this workspace, with the way to change that; `activate` hears of it. */
export async function offerTrust(): Promise<void> {
  const manage = "Manage Workspace Trust";
  const message = "fim-lsp installs nothing in a workspace that is not trusted. Trust this one, or open a trusted one once.";
  const answer = await vscode.window.showWarningMessage(message, manage);
  if (answer === manage) await vscode.commands.executeCommand("workbench.trust.manage");
}

type Run = (program: string, ...args: string[]) => Promise<void>;

async function install(folder: string, wheel: string, run: Run): Promise<void> {
  await run(await python(run), "-I", "-m", "venv", "--clear", folder); // -I: no modules but Python's own
  const pip = ["-I", "-u", "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"]; // -u: a line is seen as it is written
  const own = join(folder, BIN, WINDOWS ? "python.exe" : "python");
  const lock = join(dirname(wheel), "requirements.txt"); // each wheel with its hash: what runs is what was looked at
  await run(own, ...pip, "--require-hashes", "--only-binary=:all:", "-r", lock);
  await run(own, ...pip, "--no-deps", "--no-index", wheel);
}

async function python(run: Run): Promise<string> {
  for (const name of PYTHONS) {
    const path = await programPath(name);
    if (path !== undefined && (await run(path, "-I", "-c", IS_NEW_ENOUGH).then(() => true, () => false))) return path;
  }
  throw new Error("Python 3.11 or newer was not found.");
}

/** "Collecting xllamacpp>=2026.10 (from fim-lsp)" as "Collecting xllamacpp". */
function shortened(line: string): string {
  return line.trim().split(/\s+/, 2).join(" ").replace(/[<>=!~,].*/, "");
}

function environment(context: vscode.ExtensionContext): string {
  const { version } = context.extension.packageJSON as { version: string };
  return join(context.globalStorageUri.fsPath, `server-${version}`);
}

/** Servers of other versions of the extension. */
async function removeOthers(context: vscode.ExtensionContext): Promise<void> {
  const storage = context.globalStorageUri.fsPath;
  const old = (await readdir(storage)).filter((name) => /^server(-|$)/.test(name));
  const kept = environment(context);
  await Promise.all(
    old.map((name) => join(storage, name)).filter((path) => path !== kept).map((path) => rm(path, { recursive: true, force: true })),
  );
}
