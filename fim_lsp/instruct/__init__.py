"""
Edits by instruction: what the model is asked, and the edits from its answer. Pure.

dialogue: the question for selected lines and an instruction, typed or not, and the turns after it
answer: the fewest edits from the model's answer
"""
