#!/bin/sh
# py-tree-sitter: what does a query do with a predicate that the library does not know, such as Neovim's #lua-match?, #contains?,
# #has-ancestor?, or with #is-not? local, which every second highlights.scm has?
# It counts as true, in both its forms, without an error or a word: each node matches. Of the known ones a wrong regular expression and
# too few arguments are errors when the query is made. A program that runs editors' queries has to look for these names itself.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-python==0.25.0
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import tree_sitter_python
from tree_sitter import Language, Parser, Query, QueryCursor, QueryError

print("tree-sitter", importlib.metadata.version("tree-sitter"))
language = Language(tree_sitter_python.language())
root = Parser(language).parse(b"foo = X\n").root_node


def names(predicate):
    try:
        query = Query(language, f"((identifier) @a ({predicate}))")
    except QueryError:
        return "QueryError"
    return [node.text.decode() for node in QueryCursor(query).captures(root).get("a", [])]


SEEN = {
    '#match? @a "^X"': ["X"],
    '#any-of? @a "X" "Y"': ["X"],
    '#lua-match? @a "^X"': ["foo", "X"],
    '#not-lua-match? @a "^X"': ["foo", "X"],
    '#contains? @a "X"': ["foo", "X"],
    "#has-ancestor? @a call": ["foo", "X"],
    '#match? @a "(["': "QueryError",
    "#any-of? @a": "QueryError",
}
changed = False
for predicate, expected in SEEN.items():
    seen = names(predicate)
    print(predicate, "->", seen, "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
