"""
Context from elsewhere: what the model is shown besides the code around the cursor. Pure.

secrets: finds and redacts text that looks like a secret
grammars: the tree-sitter grammar for a file name or a language; parses within limits, and finds
    where a text may be cut, by the queries of `tags/`
magics: reads IPython's shell lines and magics as Python
shell_words: decides which arguments of a shell's command name variables
owners: reads the names of classes, and of what a method belongs to
scopes: says what a name is where it stands, by the tables of `scopes.toml`
bindings: finds the definition that a name refers to, and all places of the same variable
alike: finds names without scopes that belong to a changed one: classes of CSS, pairs of tags
uses: finds the uses of a definition that was renamed, by scope
chunks: cuts texts into pieces of one size, and makes chunks of pieces, each with a reason
ranking: orders pieces from new to old, and chooses the newest that fit
ring: the chunks of the prompt, appended at the end, evicted in bulk; computes the next ring
index: the words of files that are not open
memory: what is remembered of one workspace
ignore_rules: reads ignore rules as git does, and decides in linear time which files they ignore
privacy: decides whether a file is private, by its name and the rules of all folders above it
generated: decides whether a tool writes a file, by its name, its marks and its head
"""
