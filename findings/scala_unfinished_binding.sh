#!/bin/sh
# A binding without a value, `val x =`, with other definitions below: what does it take in?
# In tree-sitter's grammar of Scala all of them, as a block of its value, without an error; Scala 3 wants a block indented. In OCaml's
# the ERROR goes on to the last definition, in Haskell's it is one line.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-scala==0.26.3 tree-sitter-ocaml==0.26.0 tree-sitter-haskell==0.24.1
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import tree_sitter_haskell
import tree_sitter_ocaml
import tree_sitter_scala
from tree_sitter import Language, Parser

for name in ("tree-sitter", "tree-sitter-scala", "tree-sitter-ocaml", "tree-sitter-haskell"):
    print(name, importlib.metadata.version(name))


def parse(language, text):
    return Parser(Language(language)).parse(text.encode()).root_node


def lines_of(root, kind):
    """Return the first and the last line of each node of that kind, the outer ones first."""
    found = [(root.start_point.row, root.end_point.row)] if root.type == kind else []
    return found + [lines for child in root.children for lines in lines_of(child, kind)]


scala = parse(tree_sitter_scala.language(), "val a = 1\n\nval x =\n\nval b = 2\n\nval c = 3\n")
ocaml = parse(tree_sitter_ocaml.language_ocaml(), "let a = 1\n\nlet x =\n\nlet b = 2\n\nlet c = 3\n")
haskell = parse(tree_sitter_haskell.language(), "a = 1\n\nx =\n\nb = 2\n\nc = 3\n")
seen = {
    "scala": (scala.has_error, lines_of(scala, "val_definition")),
    "ocaml": (ocaml.has_error, lines_of(ocaml, "ERROR")),
    "haskell": (haskell.has_error, lines_of(haskell, "ERROR")),
}
print(seen)
expected = {
    "scala": (False, [(0, 0), (2, 7), (4, 4), (6, 6)]),
    "ocaml": (True, [(2, 6), (4, 4)]),
    "haskell": (True, [(2, 2)]),
}
sys.exit(seen != expected)
END
