"""
From raw model text to a suggestion worth showing, and answers known in advance. Pure.

reasons: how a request ended, and the words for that
lines: the layout of a line of code: indentation, brackets, comments
cursor: the text around a cursor; the `Candidate`
boundary: where a suggestion may stand, and where it ends
quotes: the comments, strings and code in strings that are open where a text ends
open_ends: what closes the blocks and strings that are open at a cursor
grammar_limits: where a grammar cannot tell what is right
syntax_errors: counts the syntax errors around a cursor
next_lines: lines that often follow a line which is an error without them
scope: whether a place stands in a comment or a string
confidence: how sure a model is of its text, and the part of it that is likely enough to be shown
filters: small functions that cut what must not be shown, and their order
lines_in_sight: a suggestion without a model: the line that begins as the typed one does
request: a completion request, and what the editor inserts
why: why a request got nothing: one value, made from its state
known: what a model said at a place, and what is left of it at a cursor, where a request may wait
pace: the wait between a key and the request, by the user's typing pace
back_off: how much longer suggestions wait after some that were not wanted
"""
