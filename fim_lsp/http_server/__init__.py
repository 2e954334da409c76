"""
Answers the completion clients of other programs over HTTP, and serves the page.

excerpt: joins the parts of a text that stateless requests have shown; pure
dialects: reads the bodies that clients send, and writes the JSON that each expects; pure
client_documents: turns stateless requests into documents of the session
completions: the text to insert for one request
connections: reads requests from a port, and writes the answers
routes: the table of paths for completions, and what clients look at before they ask
page: the page, made of the session's counters
local_port: a port that answers for a session: who may ask there, and this user's key
"""
