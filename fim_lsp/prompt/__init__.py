"""
The prompt for a document, a cursor and chunks: window, half-typed word, frame. Pure.

window: cuts an anchored window (prefix, suffix, middle) around a position
half_words: where a half-typed word begins, and the tokens of one that the model has begun
frame: the frozen part of a prompt, header and window; the prompt for a cursor behind it
report: shows the parts of a prompt, with the cost of each and the reason for it
"""
