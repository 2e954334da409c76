"""
The language server: LSP messages in and out.

types: LSP's types, imported quickly
logs: where the log goes: stderr or our own file, never stdout
ending: ends the process within a second of its client's end
convert: converts LSP values to ours and back, with UTF-8, UTF-16 and UTF-32 columns
notebooks: joins the cells of a notebook into one document per language
large_files: keeps documents that are too large for suggestions away from the session
transport: reads and writes message bodies over stdin and stdout, or a socket
tcp: serves one client at a port, if it is the user's own
rpc: calls pygls handlers for message bodies, with exactly one answer per request
quirks: what some editors do without declaring it
messages: what the user is shown besides suggestions: progress and problems
local_page: opens the port of the session, by the setting or for a user who wants to see the page
editor: one editor: its capabilities, its settings, its last request
context_items: reads the items of `fim/context` as snippets
offer: offers a real model once, while the bundled one is at work
snooze: the commands that silence the session for some minutes, and the report of a dismissal
commands: the commands of the editor
inline_edits: the next edit in Copilot's shapes, for clients that draw it
commit_message: writes the subject of a commit into its message, or answers with it
why: explains why there is no suggestion
edits: the commands for edits by instruction
code_actions: code actions: the next edit, a commit message, instructions that need no typing
server: the table of methods and their handlers: convert in, one call, convert out
"""
