#!/bin/sh
# tree-sitter-sql: which statements that users write have an error, and which unfinished ones have none?
# PostgreSQL's ON CONFLICT, T-SQL's TOP and [names], MySQL's LIMIT 5, 3 and a procedure's body have one; a body in $$ has none.
# A list that ends with a comma takes the next statement's SELECT as a name: no error, and one statement where there are two.
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

print("tree-sitter-sql", importlib.metadata.version("tree-sitter-sql"))
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_sql.language()))
TEXTS = {
    "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO NOTHING;": (True, 1),
    "SELECT TOP 5 a FROM [t];": (True, 1),
    "SELECT a FROM t LIMIT 5, 3;": (True, 1),
    "CREATE PROCEDURE p AS BEGIN SELECT 1; END;": (True, 1),
    "CREATE FUNCTION f() RETURNS int AS $$\nBEGIN\n  RETURN 1;\nEND;\n$$ LANGUAGE plpgsql;": (False, 1),
    "SELECT a::int FROM t;": (False, 1),
    "SELECT a,\n\nSELECT b FROM u;": (False, 1),
    "SELECT a FROM t WHERE a > ;\n\nSELECT b FROM u;": (True, 2),
}
changed = False
for text, expected in TEXTS.items():
    root = parser.parse(text.encode()).root_node
    seen = root.has_error, sum(child.type == "statement" for child in root.children)
    print("error," if seen[0] else "right,", seen[1], "statements:", repr(text), "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
