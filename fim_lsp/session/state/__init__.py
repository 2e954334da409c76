"""
All that a session keeps of workspaces and open documents. Only the methods of its classes write.

acceptance: finds out what became of suggestions, from reports of the editor and from what is typed
state_file: the file of a workspace with its ring and frames
edit_history: the next edits of one workspace: what was edited, proposed and answered
workspaces: one workspace and all that is kept of it; creates and drops them; decides which documents are private
open_document: all that is kept of one open document: text, verdict, frames, the suggestion on screen
open_documents: creates and drops open documents
"""
