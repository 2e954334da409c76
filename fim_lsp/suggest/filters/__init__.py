"""
The filters of a suggestion: small functions of a candidate and its cursor. Pure.

seam: a suggestion and the text right of the cursor and below must fit
repeats: what is there already is not said again
syntax: a suggestion adds no syntax errors
foreign: control tokens, other files, characters that are broken or not shown
ends: where a suggestion ends: its statement is whole, the model not sure, the text broken off
spelling: white space as in the file; what is too short to be worth a key
order: the list of all filters, and `polish`, which runs them
"""
