#!/bin/sh
# ast-grep (Python): does a pattern match only what has its parts?
# Before its end yes: a return type that the pattern has not makes no match. Behind its end anything may follow: `import $A` matches
# `import a, b`, `assert $A` an assert with a message, `if $A: pass` one with an else. Comments between the parts are passed over.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ast-grep-py==0.51.0
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

from ast_grep_py import SgRoot

print("ast-grep-py", importlib.metadata.version("ast-grep-py"))
SEEN = [  # pattern, text, whether it matches
    ("import $A", "import a", True),
    ("import $A", "import a, b", True),
    ("assert $A", "assert x, y", True),
    ("raise $A", "raise X from y", True),
    ("if $A: pass", "if a: pass\nelse: pass", True),
    ("f($A)", "f(x, y)", False),
    ("f($A)", "f(x, # note\n)", True),
    ("def $F($A): pass", "def f(a): pass", True),
    ("def $F($A): pass", "def f(a) -> int: pass", False),
]
changed = False
for pattern, text, expected in SEEN:
    found = SgRoot(text, "python").root().find(pattern=pattern)
    seen = found is not None and found.text() == text
    print(repr(pattern), repr(text), seen, "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
