// A suggestion after "if x", taken in two pieces, in documents of both line ends.
import * as vscode from "vscode";
import { watchPartialAcceptance } from "./partialAcceptance";

const TEXT = " > 1:\n    stop()\n    return";

async function take(eol, pieces) {
  const document = { uri: { toString: () => "file:///a.py" }, eol: vscode.EndOfLine[eol], offsetAt: () => 4 };
  const told = [];
  let changed;
  vscode.workspace.onDidChangeTextDocument = (listener) => (changed = listener);
  const client = { middleware: {} };
  const growing = { provide: (document, position, context, token, next) => next(document, position, context, token) };
  watchPartialAcceptance(client, { giveWay: () => undefined }, growing, (_, { acceptedLength }) => told.push(acceptedLength));
  const next = () => [{ insertText: TEXT, range: undefined, command: {} }];
  await client.middleware.provideInlineCompletionItems(document, { line: 0 }, {}, {}, next);
  let rangeOffset = 4;
  for (const text of pieces) {
    changed({ document, contentChanges: [{ rangeOffset, text }] });
    rangeOffset += text.length;
  }
  return told.map((length) => TEXT.slice(0, length));
}

console.log(JSON.stringify({
  lf: await take("LF", [" > 1:", "\n    stop()", "\n    return"]),
  crlf: await take("CRLF", [" > 1:", "\r\n    stop()", "\r\n    return"]),
  typed: await take("CRLF", [" ", "> 1:", "\r\n"]),
}));
