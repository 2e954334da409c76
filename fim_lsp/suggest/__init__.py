"""
From raw model text to a suggestion worth showing, and answers known in advance. Pure.

cursor: a line's indentation, brackets and comments; the text around a cursor; the `Candidate`
boundary: where a suggestion may stand, and where it ends
syntax_errors: counts the syntax errors around a cursor
confidence: how sure a model is of its text, and the part of it that is likely enough to be shown
filters: small functions that cut what must not be shown, and their order
continuations: known continuations of a document, what is left of one while it is typed; lines
  in sight
request: a completion request, the reasons why it may get nothing, and what the editor inserts
long_text: filters a long text while it is written
quiet: when the user wants no suggestion: the wait for the next key, the back-off after
  dismissals, the keystrokes that a suggestion is expected to save
"""
