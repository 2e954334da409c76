#!/bin/sh
# tree-sitter-kotlin and -swift: how much is lost while a string in a function has no closing quote yet?
# Kotlin: the function and all below it are one ERROR to the last line, no function among it. Swift: the function goes on to the end
# of the file, with a MISSING quote and a MISSING brace there. What stands above is whole in both.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-kotlin==1.1.0 tree-sitter-swift==0.7.4
cd "$folder"
venv/bin/python - <<'END'
import importlib
import importlib.metadata
import sys

import tree_sitter

KOTLIN = 'fun a() {\n    y()\n}\nfun b() {\n    val s = "x\n    y()\n}\nfun c() {}\n'
TEXTS = {"kotlin": KOTLIN, "swift": KOTLIN.replace("fun", "func").replace("val", "let")}
EXPECTED = {"kotlin": ["function_declaration 0-2", "ERROR 3-8"], "swift": ["function_declaration 0-2", "function_declaration 3-8"]}
seen = {}
for name, text in TEXTS.items():
    language = tree_sitter.Language(importlib.import_module(f"tree_sitter_{name}").language())
    print(f"tree-sitter-{name}", importlib.metadata.version(f"tree-sitter-{name}"), "ABI", language.abi_version)
    root = tree_sitter.Parser(language).parse(text.encode()).root_node
    top = [root] if root.is_error else root.children
    seen[name] = [f"{node.type} {node.start_point[0]}-{node.end_point[0]}" for node in top]
    print("  ", seen[name])
sys.exit(seen != EXPECTED)
END
