// The server of this extension in a Python environment of its own, in the extension's storage: one
// folder per version, so that an update of the extension updates the server.

import { spawn } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import * as vscode from "vscode";

const WINDOWS = process.platform === "win32";
const BIN = WINDOWS ? "Scripts" : "bin";
const PYTHONS = ["python3", "python", "py", "python3.14", "python3.13", "python3.12", "python3.11"];
const IS_NEW_ENOUGH = "import sys; sys.exit(sys.version_info < (3, 11))";
const REASON_CHARS = 300; // of what a failed command said; the end has the reason

export const PROGRAM = WINDOWS ? "fim-lsp.exe" : "fim-lsp";

/** Where the server of this version is, or would be, installed. */
export function ownProgram(context: vscode.ExtensionContext): string {
  return join(environment(context), BIN, PROGRAM);
}

/** The server as this build of the extension brings it, if it does. */
export async function wheelOf(context: vscode.ExtensionContext): Promise<string | undefined> {
  const folder = join(context.extensionPath, "server");
  const wheel = (await readdir(folder).catch(() => [])).find((name) => name.endsWith(".whl"));
  return wheel && join(folder, wheel);
}

/** Install it, and show how far that is. False when it failed or was cancelled, after a message. */
export async function installServer(context: vscode.ExtensionContext): Promise<boolean> {
  const wheel = await wheelOf(context);
  if (wheel === undefined) {
    void vscode.window.showErrorMessage("This build of the extension brings no server; see its README.");
    return false;
  }
  const title = "Installing fim-lsp, about 165 MB";
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  const storage = context.globalStorageUri.fsPath;
  try {
    await mkdir(storage, { recursive: true });
    await vscode.window.withProgress(options, (progress, token) => {
      const run = (command: string, ...args: string[]) =>
        output(command, args, storage, token, (line) => progress.report({ message: shortened(line) }));
      return install(environment(context), wheel, run);
    });
    await removeOthers(context);
    return true;
  } catch (error) {
    await rm(environment(context), { recursive: true, force: true });
    const reason = (error as Error).message.trim().slice(-REASON_CHARS);
    void vscode.window.showErrorMessage(`fim-lsp could not be installed: ${reason}`);
    return false;
  }
}

type Run = (command: string, ...args: string[]) => Promise<void>;

async function install(folder: string, wheel: string, run: Run): Promise<void> {
  await run(await python(run), "-I", "-m", "venv", "--clear", folder); // -I: no modules of the current folder
  const pip = ["-I", "-u", "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off"];
  await run(join(folder, BIN, "python"), ...pip, wheel); // -u: a line is seen as it is written
}

async function python(run: Run): Promise<string> {
  for (const name of PYTHONS) {
    if (await run(name, "-I", "-c", IS_NEW_ENOUGH).then(() => true, () => false)) return name;
  }
  throw new Error("Python 3.11 or newer was not found.");
}

/**
 * Run a command in the folder `cwd` and hear each line of its output; throws with all of it when the
 * command fails. The current folder may be a cloned repository, whose `venv.py` Python would take.
 */
function output(
  command: string,
  args: string[],
  cwd: string,
  token: vscode.CancellationToken,
  hear: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd });
    const cancelling = token.onCancellationRequested(() => child.kill());
    let said = "";
    const listen = (data: Buffer) => {
      said += data;
      hear(said.trimEnd().split("\n").at(-1) ?? "");
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("error", reject);
    child.on("close", (code) => {
      cancelling.dispose();
      if (code === 0) resolve();
      else reject(new Error(token.isCancellationRequested ? "it was cancelled." : said));
    });
  });
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
