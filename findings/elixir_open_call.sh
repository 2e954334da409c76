#!/bin/sh
# tree-sitter-elixir: what is left of a module while a call in one function has no closing bracket yet?
# The first `end` behind it closes nothing, `)` and the module's `end` are MISSING at the end of the file, and what stands
# below is inside the open function: of two functions one is left at the module's level. A name with its dot ("x.") takes `end`
# for a method and does the same.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-elixir==0.3.5
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import tree_sitter
import tree_sitter_elixir

print("tree-sitter-elixir", importlib.metadata.version("tree-sitter-elixir"))
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_elixir.language()))
TEXT = "defmodule A do\n  def a do\n    {}\n  end\n  def b do\n    1\n  end\nend\n"


def shape(line):
    """The names of the module's own functions, and what is missing where."""
    root = parser.parse(TEXT.replace("{}", line).encode()).root_node
    missing, stack = [], [root]
    while stack:
        node = stack.pop()
        stack += node.children
        if node.is_error or node.is_missing:
            missing.append(f"{node.type} {node.start_point[0]}")
    block = next((child for call in root.children for child in call.children if child.type == "do_block"), None)
    calls = [child for child in block.children if child.type == "call"] if block else []
    return [call.text.decode().split("\n")[0] for call in calls], sorted(missing)


seen = {line: shape(line) for line in ("f(1)", "f(", "x.")}
for line, found in seen.items():
    print(repr(line), found)
both = ["def a do", "def b do"]
sys.exit(seen != {"f(1)": (both, []), "f(": (["def a do"], [") 7", "end 8"]), "x.": (["def a do"], ["end 8"])})
END
