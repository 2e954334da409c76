"""
The language server: knows editors, and models only through `server_bridge.protocol`.

A module imports only what stands above it in this list. Of `server_bridge` it imports only what
`CONTRACT` in `tests/test_tidy.py` names; the last three modules join both sides.

display: makes text from elsewhere safe to show or log
documents: texts, positions and edits
events: the closed set of events from an editor
tasks: tasks that are under way, each held until it ends
regular_files: reads a file that is one, or says what is wrong with it
settings: the settings, from files, the editor and flags
context: chooses code from elsewhere in the workspace; finds what is private; pure
prompt: the prompt for a document, a cursor and chunks; pure
suggest: makes suggestions from what the model writes, and decides when the user wants none; pure
next_edit: finds the place that needs the same change as the last edit; pure
instruct: edits by instruction: what the model is asked, and the edits from its answer; pure
workspace: files on disk: which are private, and what they define
session: the session of one editor; all waiting for the model is here
lsp: LSP messages in and out
http_server: answers the completion clients of other programs over HTTP, and serves the page
cli: the command line, a module per command
models_command: `fim-lsp models`, `fim-lsp serve` and downloads: joins settings with `server_bridge`
__main__: the entry point: joins the editor side with `server_bridge.bridge`
"""

__version__ = "0.1.0"
