"""A plain editor's end of a language server, for the scripts of this folder: it asks, and gathers what the server says."""

import json
import pathlib
import queue
import subprocess
import threading

CAPABILITIES = {
    "workspace": {"configuration": True, "workspaceFolders": True},
    "textDocument": {
        "publishDiagnostics": {"versionSupport": True},
        "completion": {
            "contextSupport": True,
            "completionItem": {
                "snippetSupport": True,
                "resolveSupport": {"properties": ["detail", "additionalTextEdits"]},
            },
        },
    },
}


class Server:
    """A server, started by *command* for the folder *root*; every wait ends after 60 s."""

    def __init__(self, root, *command):
        self.root = pathlib.Path(root).resolve()
        self.notes = []
        self._n_asked = 0
        self._inbox = queue.Queue()
        self._process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
        threading.Thread(target=self._read, daemon=True).start()
        uri = self.root.as_uri()
        folders = [{"uri": uri, "name": "root"}]
        params = {
            "processId": None,
            "rootUri": uri,
            "workspaceFolders": folders,
            "capabilities": CAPABILITIES,
        }
        answer = self.answer(self.ask("initialize", params))
        self.capabilities = answer["result"]["capabilities"]
        self.tell("initialized", {})

    def open(self, name, language, text):
        """Write a file, open it as version 1, return its URI."""
        path = self.root / name
        path.write_text(text, "utf-8")
        document = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        return path.as_uri()

    def insert(self, uri, version, line, character, text):
        """Tell the server that *text* came in at a place."""
        place = {"line": line, "character": character}
        change = {"range": {"start": place, "end": place}, "text": text}
        document = {"uri": uri, "version": version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})

    def complete(self, uri, line, character):
        """Ask for completions, without waiting; return the request's id."""
        place = {"line": line, "character": character}
        params = {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": 1}}
        return self.ask("textDocument/completion", params)

    def ask(self, method, params):
        """Send a request; return its id."""
        self._n_asked += 1
        self._send({"id": self._n_asked, "method": method, "params": params})
        return self._n_asked

    def tell(self, method, params):
        """Send a notification."""
        self._send({"method": method, "params": params})

    def answer(self, number):
        """Wait for the answer to the request of that id."""
        return self._wait(lambda message: message.get("id") == number and "method" not in message)

    def note(self, method):
        """Wait for the next notification of *method*; return its parameters."""
        return self._wait(lambda message: message.get("method") == method)["params"]

    def close(self):
        """End the server as an editor does, and be sure that it has ended."""
        self.answer(self.ask("shutdown", None))
        self.tell("exit", None)
        try:
            self._process.wait(10)
        finally:
            self._process.kill()
            self._process.wait()

    def _send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _read(self):
        length = 0
        for line in self._process.stdout:
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            elif not line.strip():
                self._inbox.put(json.loads(self._process.stdout.read(length)))

    def _wait(self, is_wanted):
        while True:
            message = self._inbox.get(timeout=60)
            if "method" in message and "id" in message:  # a request of the server's
                asked = message["params"].get("items", [])  # of workspace/configuration
                self._send({"id": message["id"], "result": [{} for _ in asked] or None})
            elif "method" in message:
                self.notes.append(message)
            if is_wanted(message):
                return message


def items(answer):
    """Return the completion items of an answer, whichever of its shapes it has."""
    found = answer.get("result") or []
    return found["items"] if isinstance(found, dict) else found
