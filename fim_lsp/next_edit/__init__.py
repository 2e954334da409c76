"""
The next edit: the place that needs the same change as the last edit. Pure.

edits: finished edits, as changes of single lines and blocks; texts to look for more
log: makes finished edits from the changes of documents
rule: the tokens that changed in a line, a template with holes, and its replacement
renames: finds the definitions that were renamed, and the lines with their uses
declarations: finds the declarations that functions in C and C++ lack
rules: infers the rules that could have made the change of one line, of two, or of whole lines
evidence: what speaks for and against a rule at a place, and its score
engine: finds the next edit, or none
answers: why an edit is proposed, and which patterns stay quiet after the user's answers
window: what a next-edit model is shown: the last edits and a few lines around the newest
formats: prompts and answers of sweep-next-edit and zeta-2, chosen by the model's name
"""
