// How much of a suggestion was accepted, told to the server.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { type Growing, insertedBy, itemsOf } from "./growing";
import type { NextEdits } from "./nextEdit";

interface Shown {
  uri: string;
  offset: number; // of the suggestion in the document
  text: string;
  item: object; // as the server sent it
}

// Suggestions as the server sent them, newest last; the one on screen is among the last few.
const REMEMBERED = 8;

const unix = (text: string) => text.replaceAll("\r\n", "\n"); // the line ends of what the server sends

/**
 * Accepting a word or a line runs no command (vscode#172384) but is an edit of its own: more than
 * one character, at the suggestion, and the suggestion's own text.
 */
export function watchPartialAcceptance(
  client: LanguageClient,
  nextEdits: NextEdits,
  growing: Growing,
  notify: (method: string, params: object) => void,
): vscode.Disposable {
  const shown: Shown[] = [];
  client.middleware.provideInlineCompletionItems = async (document, position, context, token, next) => {
    const result = await growing.provide(document, position, context, token, next);
    const items = itemsOf(result);
    for (const item of items) {
      const { range, command } = item;
      const text = insertedBy(item);
      const offset = document.offsetAt(range?.start ?? position);
      shown.push({ uri: document.uri.toString(), offset, text, item: { insertText: text, command } });
    }
    if (items.length > 0) nextEdits.giveWay(document, position.line);
    shown.splice(0, shown.length - REMEMBERED);
    return result;
  };
  return vscode.workspace.onDidChangeTextDocument(({ document, contentChanges: [change] }) => {
    if (change === undefined || unix(change.text).length < 2) return;
    const uri = document.uri.toString();
    const isCrlf = document.eol === vscode.EndOfLine.CRLF;
    for (const { offset, text, item, uri: where } of shown.toReversed()) {
      const start = change.rangeOffset - offset;
      const inserted = isCrlf ? text.replaceAll("\n", "\r\n") : text;
      if (where !== uri || start < 0 || !inserted.startsWith(change.text, start)) continue;
      const acceptedLength = unix(inserted.slice(0, start + change.text.length)).length;
      if (acceptedLength < text.length) {
        notify("textDocument/didPartiallyAcceptCompletion", { item, acceptedLength });
      }
      return;
    }
  });
}
