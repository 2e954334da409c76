"""
Prompts for next-edit models and their answers, against the published formats.

sweep-next-edit: its model card and Zed's sweep_prompt.rs; zeta-2 and zeta-2.1: Zed's zeta_prompt
(seed_coder.rs, multi_region.rs). The models themselves were not run.
"""

from __future__ import annotations

import pytest

from fim_lsp.next_edit import window
from fim_lsp.next_edit.edits import EditedText, FinishedEdit
from fim_lsp.next_edit.formats import Format, format_of, prompt_of, proposal_of
from fim_lsp.next_edit.window import Ask, NamedEdit, ShownPart, ask, choose_shown

pytestmark = pytest.mark.promise("secrets-are-replaced")

URI = "file:///w/box.py"
NAMES = {URI: "box.py"}
BEFORE = (
    "import area", "", "def draw(colour):", "    print(colour)", "    check(colour)",
    "    return colour", "", "class Box:", "    colour = 1", "    width = 2",
)  # fmt: skip
FIRST = FinishedEdit(URI, 2, BEFORE[2:3], ("def draw(color):",), at=1.0)
NEWEST = FinishedEdit(URI, 3, BEFORE[3:4], ("    print(color)",), at=2.0)
NOW = (*BEFORE[:2], *FIRST.after, *NEWEST.after, *BEFORE[4:])
TEXT = EditedText(URI, "python", NOW)
# The file is shown as it was after the first edit.
SHOWN = ShownPart(URI, 0, (*BEFORE[:2], *FIRST.after, *BEFORE[3:]), 1.0)

SWEEP = """\
<|file_sep|>box.py
import area

def draw(color):
    print(colour)
    check(colour)
    return colour

class Box:
    colour = 1
    width = 2
<|file_sep|>box.py.diff
original:
def draw(colour):
updated:
def draw(color):
<|file_sep|>original/box.py:3:8
def draw(color):
    print(colour)
    check(colour)
    return colour

class Box:
<|file_sep|>current/box.py:3:8
def draw(color):
    print(colo<|cursor|>r)
    check(colour)
    return colour

class Box:
<|file_sep|>updated/box.py:3:8
def draw(color):
"""
ZETA = """\
<[fim-suffix]>
<[fim-prefix]><filename>box.py
import area

def draw(color):
    print(colour)
    check(colour)
    return colour

class Box:
    colour = 1
    width = 2

<filename>edit_history
--- a/box.py
+++ b/box.py
@@ -3,1 +3,1 @@
-def draw(colour):
+def draw(color):
--- a/box.py
+++ b/box.py
@@ -4,1 +4,1 @@
-    print(colour)
+    print(color)

<filename>box.py
import area

{}<[fim-middle]>"""
REGION = """\
def draw(color):
    print(colo<|user_cursor|>r)
    check(colour)
    return colour

class Box:
"""
REWRITTEN = REGION.replace("<|user_cursor|>", "").replace("colour", "color")
MARKS = {
    "zeta-2": ("<<<<<<< CURRENT\n", "=======\n"),
    "zeta-2.1": ("<|marker_1|>", "<|marker_2|>\n"),
}
RIGHT = {
    "zeta-2": f"{REWRITTEN}>>>>>>> UPDATED\n",
    "zeta-2.1": f"<|marker_1|>{REWRITTEN}<|marker_2|><[end▁of▁sentence]>",
    "sweep-next-edit-1.5B": REWRITTEN.partition("(color):\n")[2],
}


def asked(model: str) -> tuple[Format, Ask]:
    found = format_of(model)
    about = ask((FIRST, NEWEST), NOW, NAMES, SHOWN)
    assert found is not None
    assert about is not None
    return found, about


def test_sweeps_prompt() -> None:
    """The file, earlier edits, the window before and after the newest, the beginning of the answer."""
    assert prompt_of(*asked("sweepai/sweep-next-edit-1.5B")) == SWEEP


@pytest.mark.parametrize("model", ["zeta-2", "zeta-2.1"])
def test_zetas_prompts(model: str) -> None:
    """The file among the related ones, all edits as diffs, the region with the cursor."""
    begin, end = MARKS[model]
    assert prompt_of(*asked(f"zed-industries/{model}-Q8_0.gguf")) == ZETA.format(
        begin + REGION + end
    )


@pytest.mark.parametrize("model", RIGHT)
def test_an_answer_is_a_proposal(model: str) -> None:
    """Only the lines that differ; where a model says it, the cursor's mark is none of the text."""
    answer = RIGHT[model].replace(
        "check(color)", "check(color<|user_cursor|>)" if "zeta" in model else "check(color)"
    )
    found = proposal_of(*asked(model), answer, TEXT)
    assert found is not None
    assert found[:4] == (URI, 4, NOW[4:6], ("    check(color)", "    return color"))


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        ("zeta-2", "NO_EDITS\n>>>>>>> UPDATED\n"),
        ("zeta-2", "KEEP_PREVIOUS\n"),
        ("zeta-2", ""),
        ("zeta-2", REGION.replace("<|user_cursor|>", "")),  # as it is
        ("zeta-2", REGION.replace("print(colo<|user_cursor|>r)", "print(colour)")),  # as it was
        ("zeta-2", f"<<<<<<< CURRENT\n{REWRITTEN}"),
        ("zeta-2", REWRITTEN.replace("class Box:\n", "class Box:\n" + "    check(color)\n" * 3)),
        ("zeta-2", REWRITTEN.replace("check(color)", "check(color")),  # a syntax error
        ("zeta-2.1", "<|marker_1|><|marker_1|>"),
        ("zeta-2.1", f"<|marker_1|>{REWRITTEN}"),  # it was cut off
        ("zeta-2.1", f"<|marker_1|>{REWRITTEN}<|marker_3|>"),  # there is none
        ("zeta-2.1", REWRITTEN),
        ("sweep", ""),
        ("sweep", "x = 5\n\nclass Box:"),  # of another place
        ("sweep", "    print(color)\n    check(color)\n    ret"),  # it was cut off
        ("sweep", "    print(color)\n<|cursor|>\nclass Box:"),
    ],
)
def test_answers_that_are_none(model: str, answer: str) -> None:
    """No edit, marks out of place, a tail cut off, a loop, the newest edit taken back, a syntax error."""
    assert proposal_of(*asked(model), answer, TEXT) is None


@pytest.mark.parametrize("mark", ["<|file_sep|>", "<|endoftext|>"])
def test_marks_in_the_users_text_are_not_sent(mark: str) -> None:
    """The model would read them as its own."""
    found, about = asked("sweep")
    assert (
        prompt_of(found, about._replace(edits=(NamedEdit("b.py", 0, (f"'{mark}'",), ()),))) is None
    )


def prompts(about: Ask | None) -> list[str]:
    assert about is not None
    return [prompt_of(found, about) or "" for model in RIGHT if (found := format_of(model))]


SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def test_secrets_are_not_sent() -> None:
    """Elsewhere in the file and in earlier edits they are blotted out; a window that has one is not sent."""
    lines = (*NOW, *[""] * 9, f'TOKEN = "{SECRET}"')
    earlier = FinishedEdit(URI, 19, (f'KEY = "{SECRET}"',), lines[-1:], at=0.5)
    edits = (earlier, FIRST, NEWEST)
    begin = choose_shown(edits, lines, None)
    for prompt in prompts(ask(edits, lines, NAMES, begin)):
        assert "TOKEN" in prompt
        assert SECRET not in prompt
    for edit in (earlier, NEWEST._replace(line=18, before=(), after=lines[18:19], at=3.0)):
        assert ask((*edits, edit), lines, NAMES, begin) is None


def test_the_line_above_an_edit_may_tell_of_a_secret() -> None:
    """An edit is shown without it, also when the user works elsewhere by then."""
    value = "  r3Vyww0xakpfPE*x"
    other = "  IFsKixR57DJMt~8L"
    edits = [
        FinishedEdit(URI, 19, (value,), (other, "next: 1"), "password: |", at=0.5),
        FIRST,
        NEWEST,
    ]
    lines = (*NOW, *[""] * 9, "password: |", other)
    for prompt in prompts(ask(edits, lines, NAMES, choose_shown(edits, lines, None))):
        assert "next: 1" in prompt
        assert not [each for each in (value, other) if each.strip()[:6] in prompt]


def test_a_prompt_grows() -> None:
    """What it begins with stays; after twelve edits, or in another file, it begins again."""
    edits = [FIRST, NEWEST]
    begin = choose_shown(edits, NOW, None)
    for n in range(3, window.EDITS + 1):
        edits.append(NEWEST._replace(at=float(n)))
        assert choose_shown(edits, NOW, begin) is begin
    edits.append(NEWEST._replace(at=20.0))
    again = choose_shown(edits, NOW, begin)
    assert again.since == edits[-window.KEPT - 1].at
    elsewhere = [NEWEST._replace(uri="file:///w/other.py")]
    assert choose_shown(elsewhere, NOW, begin).uri == "file:///w/other.py"


def test_a_long_edit_is_not_asked_about() -> None:
    """Its window would have more lines than one block of zeta-2.1, or more than 350 tokens."""
    lines = tuple(f"line_{n} = {n}" for n in range(20))
    long = FinishedEdit(URI, 0, (), lines[:8], at=1.0)
    wide = FinishedEdit(URI, 0, (), ("x" * 2000,), at=1.0)
    assert ask((long,), lines, NAMES, choose_shown((long,), lines, None)) is None
    assert ask((wide,), ("x" * 2000,), NAMES, choose_shown((wide,), ("x" * 2000,), None)) is None
