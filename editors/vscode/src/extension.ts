// Starts the server, sends it the editor's events, and shows its status. Completions themselves go
// through vscode-languageclient.

import * as vscode from "vscode";
import { type Executable, LanguageClient, RevealOutputChannelOn, State } from "vscode-languageclient/node";
import { EDIT, Edits } from "./edit";
import { watch } from "./events";
import { Growing } from "./growing";
import { installServer, wheelOf } from "./install";
import { DISMISS, NextEdits, WHY } from "./nextEdit";
import { offerModel } from "./offer";
import { showPage } from "./page";
import { ownFolder, serverProcess } from "./processes";
import { clearPath, configuredPath, findServer, offerInstallation } from "./server";
import { changedByUser, toggle, toggleLanguage } from "./settings";
import { RESUME, SNOOZE, askMinutes, minutesLeft, remember } from "./snooze";
import { StatusBar, type Status } from "./status";
import { projectFolder, runInTerminal } from "./terminal";
import { inTurn } from "./turns";

// What the status bar shows for the server's process. The server itself reports on its backend, as
// soon as a document is open.
const LIFE: Record<State, Status> = {
  [State.Starting]: { kind: "Normal", busy: true, state: "loading", message: "Starting", model: "", bundled: false },
  [State.Running]: { kind: "Inactive", busy: false, message: "", model: "", bundled: false },
  [State.StartFailed]: trouble("The server did not start."),
  [State.Stopped]: trouble("The server has ended."),
};
const ACCEPTED = "fim.didAcceptCompletionItem";
const WHY_NOT = "fim.why";
const SHORT = 120; // characters of a message that VS Code shows whole in a corner
const ENDS = new Set(["fim.didDismissCompletion", SNOOZE]); // after these no more of a suggestion is to be shown
const EXECUTE = "workspace/executeCommand";
const WALKTHROUGH = "fim-lsp.fim-lsp#start";

let client: LanguageClient | undefined;
let watching: vscode.Disposable | undefined;
let nextEdits: NextEdits | undefined;
let edits: Edits | undefined;
let growing: Growing | undefined;
let hasRealModel = false;
let hasAccepted = false;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("fim-lsp", { log: true });
  const status = new StatusBar(() => client);
  const start = inTurn(() => startClient(context, output, status)); // a second one would register all commands again
  context.subscriptions.push(
    output,
    status,
    vscode.commands.registerCommand("fim.menu", () => status.showMenu(output)),
    vscode.commands.registerCommand("fim.toggleAuto", toggle),
    vscode.commands.registerCommand("fim.toggleLanguage", toggleLanguage),
    vscode.commands.registerCommand("fim.restart", start),
    vscode.commands.registerCommand("fim.install", async () => {
      if (configuredPath() !== "") await clearPath(); // and the change starts the server
      else if (await installServer(context)) await start();
    }),
    vscode.commands.registerCommand("fim.walkthrough", async () => {
      await vscode.commands.executeCommand("workbench.action.openWalkthrough", WALKTHROUGH);
      await tickSteps();
    }),
    vscode.commands.registerCommand("fim.setup", async () => {
      await inTerminal(context, "setup");
      await start(); // with what it wrote
    }),
    vscode.commands.registerCommand("fim.showAnother", () => growing?.showAnother()),
    vscode.commands.registerCommand("fim.keepListClosed", () => growing?.forget()), // the key's other commands did
    vscode.commands.registerCommand("fim.doctor", () => inTerminal(context, "doctor", ...projectFolder())),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("fim.serverPath")) await start();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(async () => {
      if (client === undefined) await start(); // what could not be installed before
    }),
  );
  await start();
}

function trouble(message: string): Status {
  return { kind: "Error", busy: false, message, model: "", bundled: false };
}

async function inTerminal(context: vscode.ExtensionContext, ...args: string[]): Promise<void> {
  const program = await findServer(context);
  if (program !== undefined) await runInTerminal(context, program, ...args);
  else await offerInstallation(context);
}

export async function deactivate(): Promise<void> {
  await stopClient();
}

async function startClient(
  context: vscode.ExtensionContext,
  output: vscode.LogOutputChannel,
  status: StatusBar,
): Promise<void> {
  await stopClient();
  const command = (await findServer(context)) ?? (await installFirst(context, status));
  if (command === undefined) {
    status.update(trouble("The server is not installed."));
    if (vscode.workspace.isTrusted || configuredPath() !== "") void offerInstallation(context);
    return;
  }
  const mine = (client = makeClient(serverProcess(command, await ownFolder(context)), output, context.workspaceState));
  mine.onDidChangeState(({ newState }) => {
    if (client !== mine) return;
    status.update(LIFE[newState]);
    void vscode.commands.executeCommand("setContext", "fim.running", newState === State.Running);
  });
  mine.onNotification("didChangeStatus", (news: Status) => {
    status.update(news);
    const ready = news.kind === "Normal" && !news.busy;
    hasRealModel = ready && !news.bundled;
    void tickSteps();
    if (ready && news.bundled && news.trouble === "") void offerModel(context);
  });
  nextEdits = new NextEdits(mine);
  edits = new Edits(mine);
  growing = new Growing(mine);
  watching = vscode.Disposable.from(
    nextEdits,
    edits,
    growing,
    watch(mine, nextEdits, growing),
  );
  await mine.start().catch((error) => output.error(`${command}: ${error}`));
  const minutes = minutesLeft(context.workspaceState);
  if (mine.isRunning() && minutes > 0) await mine.sendRequest(EXECUTE, { command: SNOOZE, arguments: [minutes] });
}

/**
 * Tick off the steps of the walkthrough that are done. VS Code hears only of contexts that become true after it has read
 * the walkthrough, which it may do late; so they become true each time, and are not left so.
 */
async function tickSteps(): Promise<void> {
  const done = { "fim.did.install": client?.isRunning(), "fim.did.setup": hasRealModel, "fim.did.accept": hasAccepted };
  for (const [step, isDone] of Object.entries(done)) {
    if (isDone !== true) continue;
    await vscode.commands.executeCommand("setContext", step, true);
    await vscode.commands.executeCommand("setContext", step, false);
  }
}

/** The extension brings its server: without another one it is installed, when nothing was said against it. */
async function installFirst(context: vscode.ExtensionContext, status: StatusBar): Promise<string | undefined> {
  if (configuredPath() !== "" || (await wheelOf(context)) === undefined) return undefined;
  status.update({ ...LIFE[State.Starting], message: "Installing the server" });
  return (await installServer(context)) ? findServer(context) : undefined;
}

async function stopClient(): Promise<void> {
  const old = client;
  client = undefined;
  watching?.dispose();
  await old?.dispose().catch(() => undefined); // it may have ended by itself
}

function makeClient(server: Executable, output: vscode.LogOutputChannel, memory: vscode.Memento): LanguageClient {
  return new LanguageClient("fim", "fim-lsp", server, {
    documentSelector: ["file", "untitled", "vscode-notebook-cell"].map((scheme) => ({ scheme })),
    outputChannel: output,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: () => ({ fim: changedByUser() }),
    middleware: {
      window: { showDocument: showPage },
      executeCommand: async (name, given: unknown[], next) => {
        if (ENDS.has(name)) growing?.forget();
        if (name === ACCEPTED) {
          hasAccepted = true;
          void tickSteps();
        }
        if ((name === DISMISS || name === WHY) && nextEdits?.handle(name)) return undefined;
        if (name === SNOOZE && given.length === 0) {
          const minutes = await askMinutes();
          if (minutes === undefined) return undefined;
          await remember(memory, minutes);
          return next(name, [minutes]);
        }
        if (name === RESUME) await remember(memory, 0);
        if (name === EDIT) return edits?.start(given[0]);
        const about = given.length > 0 ? given : aboutThis(name);
        if (name === WHY_NOT) return showWhole((await client?.sendRequest<string>("fim/why", about[0] ?? {})) ?? "");
        return next(name, about);
      },
      // The server gets only what the user set, asked for or told: the defaults of this extension
      // would hide the user's config.toml.
      workspace: {
        configuration: (params) => params.items.map((item) => (item.section === "fim" ? changedByUser() : null)),
        didChangeConfiguration: async () =>
          client?.sendNotification("workspace/didChangeConfiguration", { settings: { fim: changedByUser() } }),
      },
    },
  });
}

/** Show what the user asked for where all of it can be read: a long message in the corner is cut. */
async function showWhole(text: string): Promise<void> {
  const [first = "", ...detail] = text.split("\n");
  if (detail.length === 0 && first.length <= SHORT) {
    void vscode.window.showInformationMessage(first);
    return;
  }
  await vscode.window.showInformationMessage(first, { modal: true, detail: detail.join("\n") });
}

/** The arguments of a server's command that the palette runs: the active document, at the cursor. */
function aboutThis(command: string): unknown[] {
  const editor = vscode.window.activeTextEditor;
  if (client === undefined || editor === undefined) return [];
  const uri = client.code2ProtocolConverter.asUri(editor.document.uri);
  if (["fim.showContext", "fim.didDismissCompletion", DISMISS, WHY].includes(command)) return [uri];
  if (!["fim.continueLong", WHY_NOT].includes(command)) return [];
  return [{ uri, position: client.code2ProtocolConverter.asPosition(editor.selection.active) }];
}
