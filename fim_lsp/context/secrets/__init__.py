"""
Finds text that looks like a secret, and redacts it before it leaves. Pure.

values: a place in a text; decides whether a value looks like a secret
chosen: the words and phrases that users choose as passwords
tokens: finds tokens of the forms that their issuers published, read from `issuers.txt`
settings: tells a value without quotes from a variable, by the lines around it
credentials: finds secrets by their place: URLs, headers, command lines
forms: which names promise a secret, and what may stand between a name and its value
literals: finds the literals further on in the statement of a name
fields: finds secrets by the name in front of them
scan: finds every secret in a text, also above it and half-typed ones, and redacts them
"""
