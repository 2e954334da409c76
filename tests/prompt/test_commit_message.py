"""Diffs into files and prompts for a subject."""

from __future__ import annotations

import pytest

from fim_lsp.prompt.commit_message import (
    SCISSORS,
    FileDiff,
    below_scissors,
    file_diffs,
    line_of,
    prompt_of,
    repeats,
    scrub_diff,
)
from server_bridge.protocol import Health, State

FILLS = State(Health.READY, "embedded", fills_only="it only fills in")
INSTRUCT, CHAT = State(Health.READY, "llama-server"), State(Health.READY, "openai")
CART = """\
diff --git a/cart.py b/cart.py
index 1b2c3d4..5e6f7a8 100644
--- a/cart.py
+++ b/cart.py
@@ -1 +1 @@
-total = 0
+total = 1
"""
MOVED = """\
diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
--- a/old name.py\t
+++ b/new name.py\t
@@ -1 +1 @@
-a
+--- a/not a name
"""


def test_files_of_a_diff() -> None:
    """Each has all names that it may have, and no line without a meaning."""
    cart, moved = file_diffs(CART + MOVED)
    assert cart.names == ("a/cart.py", "b/cart.py", "cart.py")
    assert cart.text == CART.replace("index 1b2c3d4..5e6f7a8 100644\n", "")
    assert {"old name.py", "new name.py"} < {*moved.names}
    assert "not a name" not in moved.names
    assert "similarity" not in moved.text


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("diff --git a/x y.png b/x y.png\nBinary files differ\n", "x y.png"),
        ("diff --git old/x.py new/x.py\n--- old/x.py\n+++ new/x.py\n", "x.py"),
        ("diff --git i/x.py w/x.py\nold mode 100644\nnew mode 100755\n", "x.py"),
        ("diff --git x.py x.py\nnew file mode 100644\n", "x.py"),
        ('diff --git "a/caf\\303\\251.py" "b/caf\\303\\251.py"\n--- "a/caf\\303\\251.py"\n',
         "café.py"),
        ('diff --git "a/q\\"\\t.py" "b/q\\"\\t.py"\n--- /dev/null\n+++ "b/q\\"\\t.py"\n',
         'q"\t.py'),
        ("diff --cc x.py\nindex 1,2..3\n--- a/x.py\n+++ b/x.py\n@@@ -1,1 -1,1 +1,1 @@@\n", "x.py"),
    ],
)  # fmt: skip
def test_names(header: str, name: str) -> None:
    """Prefixes differ by settings, quotes by characters; a file may have no lines that changed."""
    [found] = file_diffs(header)
    assert name in found.names


def test_a_name_that_is_not_clear_leaves_its_file_out() -> None:
    """It could be that of a private one."""
    assert file_diffs("diff --git a/x b/y\nsimilarity index 100%\n") == []
    assert file_diffs("no diff at all\n") == []


def test_the_diff_in_a_message() -> None:
    """Below the scissors, without what is not staged."""
    message = f"\n# Please enter\n# {SCISSORS}\n# Do not modify\n{CART}"
    assert below_scissors(message) == CART
    unstaged = f"# {'-' * 50}\n# Changes not staged for commit:\ndiff --git i/b w/b\n+b\n"
    assert below_scissors(message + unstaged) == CART
    assert below_scissors("a subject\n\n# On branch main\n") == ""
    assert below_scissors(CART) == ""


def test_the_prompt() -> None:
    """The subjects stand in the order of time in front of the gap; secrets are blotted out of all of it."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    diffs = [FileDiff(("a.py",), f"+token = '{secret}'\n")]
    subjects = (f"newest {secret}", "oldest")
    for state in (FILLS, INSTRUCT, CHAT):
        prompt = prompt_of("shop", diffs, subjects, "cart: co", 1000, state=state)
        log = prompt.chunks[0].text if prompt.turns else prompt.prefix
        assert log.startswith("oldest\nnewest ")
        assert bool(prompt.turns) is not bool(state.fills_only)
        assert secret[:12] not in repr(prompt)
        assert prompt.middle + prompt.forced == ("" if state is CHAT else "cart: co")
        typed = f"use {secret}"
        assert secret[:12] not in repr(prompt_of("shop", diffs, (), typed, 1000, state=state))


def test_a_large_file_leaves_room_for_others() -> None:
    """What is small is whole; what is cut ends with a line."""
    small, large = FileDiff(("a",), "+a\n" * 5), FileDiff(("b",), "+bbbbbbb\n" * 500)
    [chunk] = prompt_of("shop", [large, small], (), "", 300, state=FILLS).chunks
    assert len(chunk.text) <= 300
    assert chunk.text.endswith("+bbbbbbb\n" + small.text)


@pytest.mark.parametrize(
    ("state", "said", "typed", "line"),
    [
        ("FILLS", " fix it\nmore", "", "fix it"),
        ("FILLS", ": fix it", "cart:", " fix it"),
        ("FILLS", "cart: fix it", "cart: ", ""),
        ("INSTRUCT", "cou", "cart: cou", ""),
        ("INSTRUCT", " count twice", "cart: cou", "nt twice"),
        ("INSTRUCT", "else", "cart: cou", ""),
        ("INSTRUCT", "```\n", "", ""),
        ("CHAT", "```\n`cart: count`\n```", "cart: ", "count"),
        ("CHAT", "till: count", "cart: ", ""),
        ("CHAT", "cart:\u2028 count\x85 twice", "cart:", "\u2028 count twice"),
        ("CHAT", "\x1b]0;owned\x07cart\0\b", "", "]0;ownedcart"),
        ("INSTRUCT", "[Subject: Staged.diff: Add a cart]", "", "Add a cart"),
        ("CHAT", "**Subject:** Add a cart", "", "Add a cart"),
        ("INSTRUCT", "Commit message: [WIP] Add subjects.txt", "", "[WIP] Add subjects.txt"),
        ("INSTRUCT", "Subject lines: wrap them", "", "Subject lines: wrap them"),
        ("FILLS", " fix\x1b[31m it\x08\0\nmore", "", "fix[31m it"),
    ],
)
def test_the_line_that_follows(state: str, said: str, typed: str, line: str) -> None:
    """One line, which continues what is typed; a chat says all of it, maybe in quotes."""
    prompt = prompt_of("shop", [], (), typed, 1000, state=globals()[state])
    assert line_of(said, prompt, typed) == line


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("fix: count the items", True),
        ("chore(Cart): Count the items.", True),
        ("feat!: count the items (#12)", True),
        ("count the items", True),
        ("Move the till, count the items", True),
        ("fix: count the items; Wrap lines", True),
        ("fix: count the items twice", False),
        ("cart: count", False),
        ("count: the items", False),
        ("say so: count the items", False),
    ],
)
def test_a_subject_that_says_what_an_earlier_one_does(subject: str, *, expected: bool) -> None:
    """Another type, scope or number before or behind it makes no other subject."""
    assert repeats(subject, ["till: ring", "fix: count the items"]) is expected
    assert repeats(subject, ["count the items (#3)"]) is expected


OLD, NEW = (
    "".join(f"{sign}{f'{letter}9+k' * 16}\n" for _ in range(4)) for sign, letter in ("-x", "+y")
)


@pytest.mark.parametrize(
    ("hunk", "secrets"),
    [
        (f" -----BEGIN PRIVATE KEY-----\n{OLD}{NEW} -----END PRIVATE KEY-----\n", "x9+k y9+k"),
        (f'-k = """-----BEGIN RSA PRIVATE KEY-----\n{OLD}', "x9+k"),  # cut off
        (" password: |\n-  r3Vyww0xakpfPE*x\n+  IFsKixR57DJMt~8L\n", "r3Vy IFsK"),
        ("+password: >-\n+  r3Vyww0xakpfPE*x\n", "r3Vy"),
        ("-DB_PASSWORD = (\n+DB_PASSWORD=(\n     'r3Vyww0xakpfPE*x'\n", "r3Vy"),
        ("++++ password = 'r3Vyww0xakpfPE*x'\n\\ No newline at end of file\n", "r3Vy"),
    ],
)
def test_secrets_of_several_lines(hunk: str, secrets: str) -> None:
    """They are found on each side of a diff, whatever signs stand in front of their lines; the other lines stay."""
    head = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@ def f():\n"
    shown = scrub_diff(f"{head}{hunk}+plain = 1\n{CART}")
    assert shown.startswith(head)
    assert shown.endswith(f"+plain = 1\n{CART}")
    assert shown.count("\n") == f"{head}{hunk}+plain = 1\n{CART}".count("\n")
    assert not [each for each in secrets.split() if each in shown]


def test_a_secret_that_begins_above_its_hunk() -> None:
    """The line that a hunk names is looked at with it, also in the diff of a merge."""
    for marks, signs in (("@@", "+"), ("@@@", "++")):
        head = f"{marks} -4,3 +4,3 {marks} db_password: |"
        assert "r3Vy" not in scrub_diff(f"{head}\n{signs}  r3Vyww0xakpfPE*x\n")


def test_a_line_that_has_other_line_ends_is_one() -> None:
    """A form feed ends no line of a diff, so what follows it has a sign, and is no name of a file."""
    text = CART.replace("+total = 1", "+total = 1\f--- a/other\x85rename to key.pem")
    assert file_diffs(text)[0].text.count("\n") == CART.count("\n") - 1
    header = (
        "diff --git a/x\u2028y/z b/x\u2028y/z\n--- a/x\u2028y/z\n+++ b/x\u2028y/z\n@@ -1 +1 @@\n"
    )
    assert "x\u2028y/z" in file_diffs(header)[0].names
