"""
Edits by instruction: what the model is asked, and the edits from its answer. Pure.

blocks: the block of code in the model's answer
layout: the lines of an answer as the file lays them out
dialogue: the question for selected lines and an instruction, typed or not, and the turns after it
placeholders: lines of an answer that stand for lines which it leaves out
refusals: why an answer is not applied
answer: the fewest edits from the model's answer
"""
