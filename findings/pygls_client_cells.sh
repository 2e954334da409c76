#!/bin/sh
# pygls as a client: which language servers can it start?
# Not those that take any notebook's cells (ruff, ty, pyrefly, zuban): the selector `{"cells": [{"language": "python"}]}`, right by
# LSP, is a union that lsprotocol cannot read, so the answer to `initialize` is dropped with a line in the log and the client waits
# for ever. With `notebook` beside the cells (basedpyright) it can.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pygls==2.1.1 lsprotocol==2025.0.0 ruff==0.17.5 jedi-language-server==0.47.0
cd "$folder"
PATH=$folder/venv/bin:$PATH HOME=$folder python - 2>client.log <<'END'
import asyncio
import importlib.metadata
import sys

from lsprotocol import converters, types
from pygls.lsp.client import LanguageClient

print("pygls", importlib.metadata.version("pygls"), "lsprotocol", importlib.metadata.version("lsprotocol"))


async def start(limit_s, *command):
    """Tell whether the client takes the server's answer to `initialize`."""
    client = LanguageClient("client", "1")
    await client.start_io(*command)
    params = types.InitializeParams(process_id=None, root_uri=None, capabilities=types.ClientCapabilities())
    try:
        await asyncio.wait_for(client.initialize_async(params), limit_s)
        said = "answered"
    except TimeoutError:
        said = "never"
    client._server.terminate()
    await client._server.wait()
    return said


def read(selector):
    try:
        converters.get_converter().structure({"notebookSelector": [selector]}, types.NotebookDocumentSyncOptions)
    except Exception as error:
        return type(error).__name__
    return "read"


cells = {"cells": [{"language": "python"}]}
seen = {"jedi": asyncio.run(start(60, "jedi-language-server")), "ruff": asyncio.run(start(8, "ruff", "server"))}
seen |= {"cells": read(cells), "notebook and cells": read({"notebook": "*", **cells})}
print(seen)
expected = {"jedi": "answered", "ruff": "never"}
expected |= {"cells": "ClassValidationError", "notebook and cells": "read"}
sys.exit(seen != expected)
END
