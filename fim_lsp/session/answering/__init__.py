"""
Texts of models at the cursors of open documents, and the requests that wait for it.

life: the states of a stream, and what happens to it: a table
completion: a completion as far as a model has said it
generation: a completion that is being decoded, the requests that wait for it, and what runs it
texts: what was said of each document, and is being said: found, begun, kept, ended
dispatcher: starts generations, lets requests wait for them, and decodes ahead
"""
