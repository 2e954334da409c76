// The status bar: the server's state, and a menu with the numbers and the switches.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { configuredPath } from "./server";
import { switchedOn } from "./settings";

/**
 * `didChangeStatus`, as Copilot's server sends it, and which model answers: "" for not known. `firstLookS`: so many
 * seconds the first look at a place still takes.
 */
export interface Status {
  kind: "Normal" | "Warning" | "Error" | "Inactive";
  busy: boolean;
  state?: string; // what the model's server does: loading, ready, busy, asleep …
  message: string;
  model: string;
  bundled: boolean;
  firstLookS?: number;
  trouble?: string; // what is wrong, as the server tells the user; "" while all is well
  quietUntil?: string; // automatic suggestions are off until then; "" while they are on
}

/** `fim/stats`: the parts that the menu shows. */
interface Stats {
  requests: number;
  shown: number;
  accepted: number;
  backend: { state: string; kind: string; url: string; model: string };
  tokens: { evaluated: number; cached: number; predicted: number };
  latencyMs: { p50: number | null; p95: number | null };
  ring: { chunks: number; capacity: number; queued: number };
  nextEdit: { offered: number; shown: number; taken: number; dismissed: number };
}

const NAME_CHARS = 24; // of a model's name; the rest of the bar is for others

interface Row extends vscode.QuickPickItem {
  command?: string;
}

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("fim.status", vscode.StatusBarAlignment.Right, 100);
  private readonly subscriptions: vscode.Disposable[];
  private status: Status = { kind: "Inactive", busy: false, message: "", model: "", bundled: false };

  constructor(private readonly client: () => LanguageClient | undefined) {
    this.item.name = "fim-lsp";
    this.item.command = "fim.menu";
    this.item.show();
    this.subscriptions = [
      this.item,
      vscode.window.onDidChangeActiveTextEditor(() => this.draw()),
      vscode.workspace.onDidChangeConfiguration(() => this.draw()),
    ];
    this.draw();
  }

  update(status: Status): void {
    this.status = status;
    this.draw();
  }

  dispose(): void {
    this.subscriptions.forEach((one) => one.dispose());
  }

  /** The numbers, then the switches. */
  async showMenu(output: vscode.OutputChannel): Promise<void> {
    const stats = await this.client()
      ?.sendRequest<Stats>("fim/stats", {})
      .catch(() => undefined);
    const rows = [...numbers(stats, this.status), ...steps(this.status, this.client() === undefined), ...switches(this.status)];
    const chosen = await vscode.window.showQuickPick<Row>(rows, { title: "fim-lsp", matchOnDetail: true });
    if (chosen?.command === "fim.output") output.show();
    else if (chosen?.command === "fim.settings") {
      await vscode.commands.executeCommand("workbench.action.openSettings", "@ext:fim-lsp.fim-lsp");
    } else if (chosen?.command !== undefined) await vscode.commands.executeCommand(chosen.command);
  }

  private draw(): void {
    const { kind, busy, message, model, bundled, firstLookS = 0 } = this.status;
    const on = switchedOn(vscode.window.activeTextEditor?.document.languageId);
    const trouble = kind === "Error" || kind === "Warning";
    const well = !(on.auto && on.language) ? "circle-slash" : this.status.quietUntil ? "bell-slash" : kind === "Inactive" ? "circle-outline" : "sparkle";
    const words = ["FIM", bundled ? "bundled model" : shortened(model), trouble ? "" : phase(this.status)];
    this.item.text = `$(${trouble ? "warning" : busy || firstLookS > 0 ? "loading~spin" : well}) ${words.filter((word) => word !== "").join(" ")}`;
    this.item.tooltip = message === "" ? "fim-lsp: local completions" : `fim-lsp: ${message}`;
    this.item.backgroundColor = trouble ? new vscode.ThemeColor("statusBarItem.warningBackground") : undefined;
  }
}

/** What the model does: it is loading, reads a place for the first time, is busy, asleep or ready. */
function phase({ kind, state = "", firstLookS = 0, quietUntil = "" }: Status): string {
  if (quietUntil !== "") return `quiet until ${quietUntil}`;
  if (firstLookS > 0) return `first look: ${firstLookS} s`;
  return kind === "Normal" ? state : "";
}

/** A model's name: a path or a repository's name ends with it. */
function shortened(model: string): string {
  const name = (model.split(/[/\\]/).at(-1) ?? "").replace(/\.gguf$/, "");
  if (name.length <= NAME_CHARS) return name;
  return name.slice(0, NAME_CHARS + 1).replace(/[-_.:][^-_.:]*$/, "").slice(0, NAME_CHARS); // whole words
}

/** What is missing yet, as rows to choose. */
function steps(status: Status, isMissing: boolean): Row[] {
  const path = configuredPath();
  if (isMissing && path !== "") {
    return [{ label: "$(clear-all) Clear the Setting fim.serverPath", description: path, command: "fim.install" }];
  }
  if (isMissing) return [{ label: "$(cloud-download) Install the Server", description: "about 173 MB", command: "fim.install" }];
  if (!status.bundled && status.kind !== "Error") return [];
  const description = status.bundled ? "the bundled one is a toy that knows a little Python" : "the one that is set cannot be used";
  return [{ label: "$(cloud-download) Get a Real Model", description, command: "fim.setup" }];
}

function numbers(stats: Stats | undefined, status: Status): Row[] {
  if (stats === undefined) {
    return [{ label: "$(warning) The server does not answer", detail: status.message }];
  }
  const { backend, tokens, latencyMs, ring, nextEdit } = stats;
  const ms = (value: number | null) => (value === null ? "–" : `${Math.round(value)} ms`);
  const state = status.kind === "Error" ? "cannot be used" : backend.state; // it is tried again now and then
  const server = { label: `$(server) ${state}: ${backend.model || backend.kind}`, detail: status.message };
  if (stats.requests === 0) return [server, { label: "$(watch) Nothing asked yet" }];
  const share = Math.round((100 * tokens.cached) / Math.max(1, tokens.cached + tokens.evaluated));
  return [
    backend.kind === "embedded" ? server : { ...server, description: backend.url }, // an engine's port says nothing to a user
    { label: `$(database) ${share} % of the prompt from the cache`, description: `${tokens.evaluated} tokens evaluated, ${tokens.cached} reused` },
    { label: `$(watch) ${ms(latencyMs.p50)} median, ${ms(latencyMs.p95)} at worst (95 %)` },
    { label: `$(files) ${ring.chunks} of ${ring.capacity} chunks of context`, description: `${ring.queued} waiting` },
    { label: `$(check) ${stats.accepted} of ${stats.shown} suggestions accepted`, description: `${stats.requests} requests` },
    { label: `$(arrow-right) ${nextEdit.taken} of ${nextEdit.shown} next edits applied`, description: `${nextEdit.dismissed} dismissed` },
  ];
}

function switches(status: Status): Row[] {
  const language = vscode.window.activeTextEditor?.document.languageId;
  const on = switchedOn(language);
  const rows: Row[] = [
    { label: "", kind: vscode.QuickPickItemKind.Separator },
    status.quietUntil ? { label: "Suggest Again", description: `quiet until ${status.quietUntil}`, command: "fim.resume" }
      : { label: "Not Now", description: "no suggestions for some minutes", command: "fim.snooze" },
    { label: on.auto ? "Stop Completing While Typing" : "Complete While Typing", command: "fim.toggleAuto" },
    { label: "Why No Suggestion Here?", command: "fim.why" },
    { label: "What the Model Is Shown", command: "fim.showContext" }, // the server's own commands
    { label: "What It Does, Live in Your Browser", command: "fim.openPage" },
    { label: "Check Everything", command: "fim.doctor" },
    { label: "Settings", command: "fim.settings" },
    { label: "Output", command: "fim.output" },
    { label: "Restart the Server", command: "fim.restart" },
  ];
  if (language !== undefined) {
    const label = on.language ? `No Completions for ${language}` : `Completions for ${language}`;
    rows.splice(3, 0, { label, command: "fim.toggleLanguage" });
  }
  return rows;
}
