// The part of VS Code's interface that the parts of the extension use that run without a window: see extension.py.
// What the user would be shown is printed; FIM_TRUSTED says whether the workspace is trusted.

const nothing = () => undefined;

export const ProgressLocation = { Notification: 15 };
export const workspace = {
  isTrusted: process.env.FIM_TRUSTED !== "no",
  getConfiguration: () => ({ get: (_, otherwise) => process.env.FIM_SERVER_PATH ?? otherwise }),
};
export const commands = { executeCommand: nothing };
export const window = {
  showErrorMessage: async (message, ...ways) => console.log(message, ...ways),
  showWarningMessage: async (message, ...ways) => console.log(message, ...ways),
  withProgress: (_, work) =>
    work({ report: nothing }, { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: nothing }) }),
};

export class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
export class Location {
  constructor(uri, range) {
    Object.assign(this, { uri, range });
  }
}
export class Range {
  constructor(...numbers) {
    this.numbers = numbers;
  }
}
export class EventEmitter {
  fire = nothing;
}
export class CancellationTokenSource {
  token = { isCancellationRequested: false };
  cancel = nothing;
}
export class WorkspaceEdit {
  changes = [];
  replace(uri, range, text) {
    this.changes.push([uri.toString(), range, text]);
  }
}
export class ProgressType {} // of vscode-languageclient
export const DiagnosticSeverity = { Error: 0 };
export const EndOfLine = { LF: 1, CRLF: 2 };
export const FileType = { File: 1 };
export const InlineCompletionTriggerKind = { Invoke: 0, Automatic: 1 };
export const languages = {};
export const version = "1.139.0";
