"""
All that a session keeps of workspaces and open documents. Only the methods of its classes write.

acceptance: finds out what became of suggestions, from reports of the editor and from what is typed
state_file: the file of a workspace with its ring and frames
edit_history: the next edits of one workspace: what was edited, proposed and answered
verdicts: which files are private, by a look at the disk that holds up no other
workspaces: all that is kept of one workspace; creates and drops them
open_document: all that is kept of one open document: text, verdict, frames, what is on screen
open_documents: creates and drops open documents
"""
