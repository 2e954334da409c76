#!/bin/sh
# tree-sitter's grammars of Markdown and TOML: is a text without its last line end, which both languages allow, read as with it?
# Not Markdown: "# A" is an ERROR, and a last "===", "***", "-", a table's rule or the end of front matter is a paragraph, without any
# error. In TOML a comment below an empty line leaves its table. YAML, Julia, OCaml, Scala and Dart read both alike.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tree-sitter==0.26.1 tree-sitter-markdown==0.5.4 tree-sitter-toml==0.7.0
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import tree_sitter_markdown
import tree_sitter_toml
from tree_sitter import Language, Parser

for name in ("tree-sitter", "tree-sitter-markdown", "tree-sitter-toml"):
    print(name, importlib.metadata.version(name))
markdown = Parser(Language(tree_sitter_markdown.language()))
toml = Parser(Language(tree_sitter_toml.language()))
SEEN = [  # parser, text, what stands there with the line end, and without
    (markdown, "# A", "(atx_heading", "(ERROR"),
    (markdown, "A\n===", "(setext_heading", "(paragraph"),
    (markdown, "***", "(thematic_break", "(paragraph"),
    (markdown, "-", "(list", "(paragraph"),
    (markdown, "| a |\n|---|", "(pipe_table", "(paragraph"),
    (markdown, "---\na: 1\n---", "(minus_metadata", "(thematic_break"),
    (markdown, "- x", "(list", "(list"),
    (markdown, "```\nx\n```", "(fenced_code_block", "(fenced_code_block"),
    (toml, "[b]\n\n# n", "(table (bare_key) (comment))", "(table (bare_key)) (comment)"),
]
changed = False
for parser, text, ended, open_ in SEEN:
    trees = [str(parser.parse((text + end).encode()).root_node) for end in ("\n", "")]
    is_as_before = ended in trees[0] and open_ in trees[1]
    print(repr(text), *trees, "" if is_as_before else "CHANGED", sep="\n    ")
    changed |= not is_as_before
sys.exit(changed)
END
