"""
From raw model text to a suggestion worth showing, and answers known in advance. Pure.

lines: reads a line's indentation, brackets and comments
cursor: the text around a cursor; the `Candidate`
boundary: where a suggestion may stand, and where it ends
repeats: cuts off loops and repeated lines
syntax_errors: counts the syntax errors around a cursor; cuts back candidates that add one
confidence: cuts a candidate to the part that is likely enough to be shown
filters: the list of all these filters, among them the one of closing brackets
continuations: known continuations of a document, and what is left of one while it is typed; lines in sight
request: a completion request, the reasons why it may get nothing, in words, and what the editor inserts
long_text: filters a long text while it is written
debounce: how long to wait for the next key
"""
