// What the server wants shown: a place in the user's code, a page in the browser, or a text that it wrote
// to be read, in a language of its own, whose defaults wrap its lines.

import * as vscode from "vscode";
import type { ShowDocumentParams, ShowDocumentResult } from "vscode-languageclient";

const LANGUAGE = "fim-context";

export async function showPage({ uri, takeFocus, external, selection }: ShowDocumentParams): Promise<ShowDocumentResult> {
  // asExternalUri opens the way to a server on another machine (Remote SSH, containers)
  // and loses what follows the #: the page's key.
  if (external) {
    const address = vscode.Uri.parse(uri);
    const outside = await vscode.env.asExternalUri(address);
    return { success: await vscode.env.openExternal(outside.with({ fragment: address.fragment })) };
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  if (selection !== undefined) {
    const { start, end } = selection;
    const place = new vscode.Range(start.line, start.character, end.line, end.character);
    await vscode.window.showTextDocument(document, { selection: place });
    return { success: true };
  }
  await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
  await vscode.window.showTextDocument(document, { preserveFocus: !takeFocus });
  return { success: true };
}
