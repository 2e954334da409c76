"""
The language server: LSP messages in and out.

ending: ends the process within a second of its client's end
log: where the log goes, and what may stand in it
watchdog: ends a process whose event loop hangs, and says later where it hung
transport: reads and writes message bodies, over stdin and stdout
structure: raw messages into LSP's types, without what cannot be read and is not needed
rpc: all that is changed of pygls, which calls handlers: one answer per request
convert: LSP values to ours and back, in columns of three encodings
items: suggestions into ghost text, and into entries of the menu as each client takes them
quirks: what some editors do without declaring it, and what clients leave out of params
notebooks: joins the cells of a notebook into one document per language
messages: what the user is shown besides suggestions: progress and problems
local_page: opens the port of the session, by the setting or for a user who wants to see the page
editor: one editor: its capabilities, its settings, its last request
commands: the editor's commands: accept, switch, be quiet, look inside, say why
edits: edits by instruction: their commands, and the code actions that need no instruction typed
inline_edits: the next edit: in Copilot's shapes, for clients that draw it, and as a code action
server: the table of methods and their handlers: convert in, one call, convert out
run: serves one editor on stdio, to its end
"""
