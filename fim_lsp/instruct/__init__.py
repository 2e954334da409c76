"""
Edits by instruction: what the model is asked, and the edits from its answer. Pure.

selection: the question for selected lines and an instruction
dialogue: the next turn, which begins where the last one ended
answer: the fewest edits from the model's answer
presets: instructions that the user need not type, among them the fix of a diagnostic
"""
