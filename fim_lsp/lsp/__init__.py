"""
The language server: LSP messages in and out.

types: LSP's types, imported quickly
ending: ends the process within a second of its client's end; where its log goes
convert: converts LSP values to ours and back, with UTF-8, UTF-16 and UTF-32 columns
notebooks: joins the cells of a notebook into one document per language
transport: reads and writes message bodies, over stdin and stdout or a port of the user's own
rpc: calls pygls handlers for message bodies, with exactly one answer per request
quirks: what some editors do without declaring it
messages: what the user is shown besides suggestions: progress and problems
local_page: opens the port of the session, by the setting or for a user who wants to see the page
editor: one editor: its capabilities, its settings, its last request
offer: offers a real model once, while the bundled one is at work
commands: the commands of the editor: accept, switch, be quiet, look inside, say why; and `fim/context`
edits: the commands for edits by instruction and for commit messages
inline_edits: the next edit in Copilot's shapes, for clients that draw it; code actions
server: the table of methods and their handlers: convert in, one call, convert out
"""
