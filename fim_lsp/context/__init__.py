"""
Context from elsewhere: what the model is shown besides the code around the cursor. Pure.

secrets: finds and redacts text that looks like a secret
similarity: the similarity of two pieces of text, from 0 to 1
grammars: the tree-sitter grammar for a file name or a language
parse: parses bytes into a syntax tree, within limits
syntax: cuts source code into units: functions, classes, imports
definitions: finds the definitions in source code, by the queries of `tags/`
chunks: cuts units into pieces of one size, and makes chunks of pieces, each with a reason
ranking: orders pieces by what is used where the user works
ring: the chunks of the prompt: appended at the end, evicted in bulk
update: computes the next ring from a snapshot of what is known
words: the set of words of a text: which files may hold a line
index: the names and words of files that are not open
paste_origin: finds the place that a pasted text was copied from
memory: what is remembered of one workspace
ignore_patterns: reads ignore rules as git does
ignore_rules: decides which files such rules ignore, in linear time
privacy: decides whether a file is private, by its name and the rules of all folders above it
"""
