"""
One editor's session: open documents, generations, and all waiting for the model.

answer: what a completion request gets: suggestions, the reason, and the cost
stats: the counters of `fim/stats`, and daily sums of them on disk
quietness: how quiet the session is: snoozed, after dismissals, and by what was learned
acceptance: finds out what became of suggestions, from reports of the editor and from what is typed
connection: opens the backend, reconnects, and reports its state once
scheduler: two lanes of short steps: foreground at once, background only while idle
lane: the way to the model: work with a permit, which is asked before each call; steps and streams
generation: one completion as it is decoded; every request that agrees with it joins it; how much it asks for at a time
state_file: the file of a workspace with its ring and frames
edit_history: the next edits of one workspace: what was edited, proposed and answered
workspace: all that is kept of one workspace
workspaces: creates and drops workspaces; decides which documents are private
open_document: all that is kept of one open document: text, verdict, frames, the suggestion on screen
open_documents: creates and drops open documents
model_edits: asks a next-edit model, if the settings name one
next_edits: proposes the next edit of a workspace
framing: chooses the frame that is cheapest to evaluate
next_action: when a request is answered, and when a stream goes on: two tables; pure
dispatcher: starts generations, lets requests wait for them, and decodes ahead
prefill: evaluates in advance what the next requests will need
long_text: writes a long text at the cursor that may outgrow the context
commit_messages: writes the subject of a commit from what is staged
persistence: when to save, and what to restore
judging: decides which open documents are private, before anything of them is used
informing: takes in context that other language servers offer
instructed_edits: edits by instruction, as the model writes them
completer: answers one completion request in time
session: the `Session`: events in, answers out
"""
