// All processes of the extension start here, as programs with an absolute path in the extension's own
// folder: the current folder, and relative folders of the PATH, may be those of a cloned repository.

import { spawn } from "node:child_process";
import { access, constants, mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type * as vscode from "vscode"; // types alone: uninstall.ts runs without it
import type { Executable } from "vscode-languageclient/node";

/** The file beside extension.js that names the installed server, for uninstall.ts. */
export const NOTE = "program";
const SUFFIX = process.platform === "win32" ? ".exe" : "";

/** The extension's own folder, which all processes run in. */
export async function ownFolder(context: vscode.ExtensionContext): Promise<string> {
  const { fsPath } = context.globalStorageUri;
  await mkdir(fsPath, { recursive: true });
  return fsPath;
}

/**
 * The path of a program: an absolute one as it is (`~` is the home folder), a name as it is found in the
 * absolute folders of the PATH; undefined where there is none.
 */
export async function programPath(name: string): Promise<string | undefined> {
  const path = name.replace(/^~(?=[/\\])/, homedir());
  if (/[/\\]/.test(path)) return isAbsolute(path) && (await executable(path)) ? path : undefined;
  for (const folder of (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute)) {
    const file = join(folder, name + SUFFIX);
    if (await executable(file)) return file;
  }
  return undefined;
}

/** How the language client starts the server. */
export function serverProcess(program: string, cwd: string): Executable {
  return { command: absolute(program), args: ["--stdio"], options: { cwd } };
}

/** How a task starts a program. */
export async function taskProcess(program: string, args: string[], cwd: string): Promise<vscode.ProcessExecution> {
  const { ProcessExecution } = await import("vscode");
  return new ProcessExecution(absolute(program), args, { cwd });
}

/** Run a program and hear each line of its output; throws with all of it when the program fails. */
export function run(
  program: string,
  args: string[],
  cwd: string,
  token: vscode.CancellationToken,
  hear: (line: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(absolute(program), args, { cwd });
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

function absolute(program: string): string {
  if (!isAbsolute(program)) throw new Error(`${program} is not an absolute path.`);
  return program;
}

async function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(() => true, () => false);
}
