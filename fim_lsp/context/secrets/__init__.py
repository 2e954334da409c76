"""
Finds text that looks like a secret, and redacts it before it leaves. Pure.

span: a place in a text
letters: decides whether letters look like words
values: decides whether a value looks like a secret
names: decides whether the name of a field promises a secret
issuers: the published token forms of issuers, read from `issuers.txt`
credentials: finds secrets by their place: URLs, headers, command lines
forms: what may stand between a name and its value; data
statements: finds the literals of a statement, from the name of its field on
fields: finds secrets by the name in front of them
tokens: finds tokens of known issuers
scan: finds every secret in a text, private keys among them
above: finds the part of a text that belongs to a secret which begins above it
growing: finds the secret that the user is typing
scrub: redacts the secrets of texts
"""
