"""
The filters of a suggestion: small functions of a candidate and its cursor. Pure.

seam: a suggestion and the text around it must fit, and have no syntax errors more
repeats: what is there already is not said again
foreign: control tokens, other files, characters that are broken or not shown
ends: where a suggestion ends: its statement is whole, the model not sure, the text broken off
spelling: white space as in the file; what is too short to be worth a key
order: the list of all filters, and `polish`, which runs them
"""
