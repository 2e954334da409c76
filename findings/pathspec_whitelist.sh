#!/bin/sh
# pathspec's GitIgnoreSpec: does it hide what git hides?
# Not what is let in again below a folder that is hidden (`*` with `!*.py`, `node_modules/` with `!node_modules/mine/`): git does not
# look into the folder, pathspec shows the file. Not by classes such as [[:digit:]]. And one line that git takes (`a\  `: a space at the
# end that counts, and one that does not) is an error for the whole file. A tool that hides private files by it sends some.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pathspec==1.1.1
cd "$folder"
HOME=$folder GIT_CONFIG_NOSYSTEM=1 venv/bin/python -W ignore - <<'END'
import importlib.metadata
import pathlib
import subprocess
import sys

import pathspec

print("pathspec", importlib.metadata.version("pathspec"), subprocess.check_output(["git", "--version"], text=True).strip())


def is_hidden_by_git(number, lines, name):
    path = pathlib.Path(f"r{number}", name)
    path.parent.mkdir(parents=True)
    path.touch()
    pathlib.Path(f"r{number}", ".gitignore").write_text("\n".join(lines) + "\n")
    subprocess.run(["git", "init", "-q", f"r{number}"], check=True)
    return subprocess.run(["git", "-C", f"r{number}", "check-ignore", "-q", name], check=False).returncode == 0


def is_hidden_by_pathspec(lines, name):
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines).match_file(name)
    except ValueError as error:
        return type(error).__name__


SEEN = [  # lines, file, git, pathspec
    (["*.log"], "d/a.log", True, True),
    (["build/*", "!build/keep"], "build/keep", False, False),
    (["build/", "!build/keep"], "build/keep", True, False),
    (["*", "!*.py"], "d/a.py", True, False),
    (["node_modules/", "!node_modules/mine/"], "node_modules/mine/a.js", True, False),
    (["[[:digit:]].key"], "1.key", True, False),
    (["a\\  "], "a ", True, "GitIgnorePatternError"),
]
changed = False
for number, (lines, name, *expected) in enumerate(SEEN):
    seen = [is_hidden_by_git(number, lines, name), is_hidden_by_pathspec(lines, name)]
    print(lines, repr(name), "git:", seen[0], "pathspec:", seen[1], "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
