"""
One editor's session: open documents, generations, and all waiting for the model.

quietness: how quiet the session is: snoozed, and after dismissals
stats: the answer to a request and its cost; the counters of `fim/stats`
connection: opens the backend, reconnects, and reports its state once
scheduler: two lanes of short steps: foreground at once, background only while idle
lane: the way to the model: work with a permit, which is asked before each call; steps and streams
state: all that is kept of workspaces and open documents
framing: chooses the frame that is cheapest to evaluate
answering: what models say of open documents, and the requests that wait for it
prefill: evaluates in advance what the next requests will need
persistence: when to save, and what to restore
shared_engine: tells other sessions what the engine was shown, and ends it
judging: decides which open documents are private, before anything of them is used
edits: next edits, edits by instruction, long texts
completer: answers one completion request in time
session: the `Session`: events in, answers out
"""
