"""
All that a session keeps of workspaces and open documents.

acceptance: finds out what became of suggestions, from reports of the editor and from what is typed
state_file: the file of a workspace with its ring and frames
edit_history: the next edits of one workspace: what was edited, proposed and answered
verdicts: which files are private, by a look at the disk that holds up no other
workspaces: all that is kept of one workspace; creates and drops them
frame_ladder: the frames of one document: which serves, which is next
model_view: what a model may see of it and says behind its cursor: what a verdict ends
open_document: its text and what the user did there, which outlive a verdict, and its view
open_documents: creates and drops open documents
"""
