"""
Run a program that a model wrote: in a process of its own, with limits, without a network.

`unshare` (Linux) gives the process its own network, in which there is nothing, and its own process numbers, so that
all it started ends with it.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile

SECONDS = 10.0
MEMORY = 1 << 30  # bytes
FILE = 1 << 20
ALONE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child")
# A program that ends by itself has not passed, so the last thing is a word that it does not know.
RUNNER = f"""
import os, resource, sys
for limit, most in (("AS", {MEMORY}), ("CPU", {SECONDS:.0f}), ("FSIZE", {FILE}), ("CORE", 0)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (most, most))
word, out, program = sys.argv.pop(), os.dup(1), sys.stdin.read()
null = os.open(os.devnull, os.O_RDWR)
for stream in range(3):
    os.dup2(null, stream)
exec(compile(program, "program", "exec"), {{"__name__": "program"}})
os.write(out, word.encode())
"""


def why_impossible() -> str:
    """Return why no program can be run here, "" if it can."""
    try:
        subprocess.run([*ALONE, "true"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"unshare (Linux) must keep a model's code off the network, and fails: {error}"
    return ""


def passes(program: str) -> bool:
    """Return whether *program* runs to its end, within the limits."""
    word = secrets.token_hex()
    with tempfile.TemporaryDirectory() as folder:
        command = [*ALONE, sys.executable, "-I", "-c", RUNNER, word]
        try:
            done = subprocess.run(
                command, input=program.encode("utf-8", "replace"), cwd=folder,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return False
    return done.stdout.decode() == word
