"""
Edits by instruction: what the model is asked, and the edits from its answer. Pure.

selection: the question for selected lines and an instruction; the next turn of a dialogue
answer: the new lines, read from the model's answer, as the fewest edits
presets: instructions that the user need not type, among them the fix of a diagnostic with the definitions of its names
"""
