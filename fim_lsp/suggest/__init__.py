"""
From raw model text to a suggestion worth showing, and answers known in advance. Pure.

lines: the layout of a line of code: indentation, brackets, comments
cursor: the text around a cursor; the `Candidate`
boundary: where a suggestion may stand, and where it ends
syntax_errors: counts the syntax errors around a cursor
confidence: how sure a model is of its text, and the part of it that is likely enough to be shown
said: what a model said at a place, what is left of it elsewhere, and what is known by that
filters: small functions that cut what must not be shown, and their order
continuations: known continuations of a document
lines_in_sight: a suggestion without a model: the line that begins as the typed one does
switches: whether the user's list of languages and files switches suggestions off
reasons: why a request got nothing, or where its suggestion is from, in words
request: a completion request, the reasons why it may get nothing, and what the editor inserts
long_text: filters a long text while it is written
pace: the wait between a key and the request, by the user's typing pace
back_off: how much rarer suggestions are after some that were not wanted
worth: the keys that a suggestion is expected to save this user
"""
