"""
The prompt for a document, a cursor and chunks: window, healing, tape, frame. Pure.

window: cuts an anchored window (prefix, suffix, middle) around a position
frame: the frozen part of a prompt, header and window; half-typed words; the prompt of both
commit_message: the prompt for the subject of a commit
report: shows the parts of a prompt, with the cost of each and the reason for it
"""
