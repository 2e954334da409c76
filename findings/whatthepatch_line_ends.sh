#!/bin/sh
# whatthepatch, with which data of edits is made: does it read what git writes?
# Not every line end of Python is one of git. A carriage return inside a line, a form feed (C, Emacs Lisp) or U+2028 in a context line
# splits it there, so the patch does not fit the text that it was made of. unidiff has all of them right, and both a removed `-- x`.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check unidiff==1.0.1 whatthepatch==1.0.7
cd "$folder"
HOME=$folder GIT_CONFIG_NOSYSTEM=1 venv/bin/python - <<'END'
import importlib.metadata
import pathlib
import subprocess
import sys

import unidiff
import whatthepatch

for name in ("unidiff", "whatthepatch"):
    print(name, importlib.metadata.version(name))


def diff(old, new):
    for name, text in (("old", old), ("new", new)):
        pathlib.Path(name).write_bytes(text.encode())
    command = ["git", "diff", "--no-index", "old", "new"]
    return subprocess.run(command, capture_output=True, check=False).stdout.decode()


def by_unidiff(patch, new):
    [file] = unidiff.PatchSet(patch)
    return "".join(line.value for hunk in file for line in hunk if line.line_type != "-") == new


def by_whatthepatch(patch, old, new):
    [parsed] = whatthepatch.parse_patch(patch)
    try:
        return "\n".join(whatthepatch.apply_diff(parsed, old)) == new.rstrip("\n")
    except whatthepatch.exceptions.HunkApplyException as error:
        return type(error).__name__


SEEN = {  # the first line: right by unidiff, by whatthepatch
    "-- a comment of SQL": (True, True),
    "one\rtwo": (True, "HunkApplyException"),
    "\f": (True, "HunkApplyException"),
    "one\u2028two": (True, "HunkApplyException"),
}
changed = False
for line, expected in SEEN.items():
    old, new = f"{line}\nb\nc\n", f"{line}\nb\nd\n"
    patch = diff(old, new)
    seen = by_unidiff(patch, new), by_whatthepatch(patch, old, new)
    print(repr(line), "unidiff:", seen[0], "whatthepatch:", seen[1], "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
