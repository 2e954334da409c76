// A text that the server wrote to be read: in a language of its own, whose defaults wrap its lines.

import * as vscode from "vscode";
import type { ShowDocumentParams, ShowDocumentResult } from "vscode-languageclient";

const LANGUAGE = "fim-context";

export async function showPage({ uri, takeFocus, external }: ShowDocumentParams): Promise<ShowDocumentResult> {
  // asExternalUri opens the way to a server on another machine (Remote SSH, containers)
  if (external) return { success: await vscode.env.openExternal(await vscode.env.asExternalUri(vscode.Uri.parse(uri))) };
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  await vscode.languages.setTextDocumentLanguage(document, LANGUAGE);
  await vscode.window.showTextDocument(document, { preserveFocus: !takeFocus });
  return { success: true };
}
