#!/bin/sh
# tree-sitter: where has_error is true, is there an ERROR or a MISSING node to be found?
# Not always. Typing an SQL file in order, some states say has_error down to a node whose children all say no: code that
# counts ERROR and MISSING nodes takes such a text for right, code that asks has_error takes it for wrong.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-sql==0.3.13
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import tree_sitter
import tree_sitter_sql

for name in ("tree-sitter", "tree-sitter-sql"):
    print(name, importlib.metadata.version(name))
TEXT = b"SELECT i.name\nFROM item AS i\nLEFT JOIN stock AS s ON s.item_id = i.id\nWHERE i.price > 0;\n"
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_sql.language()))


def n_bad(node):
    below = sum(map(n_bad, node.children)) if node.has_error else 0
    return below + (node.is_error or node.is_missing)


states = [TEXT[:end] for end in range(1, len(TEXT) + 1)]
roots = [parser.parse(state).root_node for state in states]
wrong = sum(root.has_error for root in roots)
silent = [state for state, root in zip(states, roots) if root.has_error and not n_bad(root)]
print(len(states), "keys,", wrong, "with has_error, of them without a node:", len(silent))
for state in silent[:3]:
    print("  ", state[-24:])
sys.exit(not silent)
END
