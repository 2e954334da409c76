"""
The next edit: the place that needs the same change as the last edit. Pure.

edits: finished edits, as changes of single lines and blocks
log: makes finished edits from the changes of documents
rule: a template and its replacement
rules: infers the rules that could have made the change of one line
evidence: what speaks for and against a rule at a place
engine: finds the next edit, or none
answers: which patterns stay quiet after the user's answers
window: what a next-edit model is shown: the last edits and a few lines around the newest
sweep: prompts and answers of sweep-next-edit
zeta: prompts and answers of zeta-2 and zeta-2.1
formats: chooses the format by the model's name, and reads proposals from answers
"""
