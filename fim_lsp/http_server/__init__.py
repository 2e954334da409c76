"""
Answers the completion clients of other programs over HTTP, and serves the page.

excerpt: joins the parts of a text that stateless requests have shown; pure
zeta: reads Zed's prompts for its own model, and writes that model's answers; pure
requests: reads the bodies that clients send; pure
answers: writes the JSON that each client expects; pure
client_documents: turns stateless requests into documents of the session
completions: the text to insert for one request
admission: decides from its head whether a request may be answered; pure
connections: reads requests from a port, and writes the answers
routes: the table of paths
client_key: the key of this user's completion clients
page: the page, made of the session's counters
local_port: a port that answers for a session
"""
