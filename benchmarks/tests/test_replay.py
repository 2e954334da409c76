"""The benchmark itself: commits replayed, proposals judged, a user who refuses what is wrong."""

from __future__ import annotations

from collections import Counter

from benchmarks.next_edit.commits import Commit, Hunk, hunks_of
from benchmarks.next_edit.renames import count_uses
from benchmarks.next_edit.replay import asks
from benchmarks.next_edit.scores import JudgedAsk, Where, score
from fim_lsp.documents import apply_edits, difference, open_document, split
from fim_lsp.next_edit.log import EditLog

BEFORE = ["old(1)", "x = 1", "old(2)", "y = 2", "old(3)", "old(4)", ""]
COMMIT = Commit(
    "c",
    [
        Hunk("a.py", 0, ("old(1)",), ("new(1)",)),
        Hunk("a.py", 1, ("x = 1",), ("x = 1", "z = 1")),
        Hunk("a.py", 2, ("old(2)",), ("new(2)",)),
        Hunk("a.py", 4, ("old(3)", "old(4)"), ("new(3)", "new(4)")),
    ],
)
FILES = {"a.py": tuple(BEFORE), "b.py": ("x = old(9)",)}
DIFF = r"""commit 1234
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -2 +2,2 @@ def f():
--- x
+++ y
+b
@@ -5,0 +7 @@
+c
\ No newline at end of file
diff --git a/note.txt b/note.txt
--- a/note.txt
+++ b/note.txt
@@ -1 +1 @@
-a
+b
"""


def test_the_truth_is_where_the_text_is_now() -> None:
    """After each hunk what is left stands where it says."""
    for ask in asks(COMMIT, FILES):
        for (path, line, before), after in ask.todo.items():
            text = next(text for text in ask.texts if text.uri == path)
            assert text.lines[line : line + len(before)] == before
            assert ask.is_right(path, line, before, after)


def test_an_ask_per_hunk_with_what_was_done_and_what_is_left() -> None:
    """Parts of hunks count, too: single lines that became others."""
    found = [*asks(COMMIT, FILES)]

    assert [len(ask.edits) for ask in found] == [1, 2, 3, 4]
    assert found[2].todo == {
        ("a.py", 5, ("old(3)",)): ("new(3)",),
        ("a.py", 6, ("old(4)",)): ("new(4)",),
        ("a.py", 5, ("old(3)", "old(4)")): ("new(3)", "new(4)"),
    }
    assert found[0].recurs
    assert [text.uri for text in found[0].texts] == ["a.py", "b.py"]


def test_the_log_makes_the_same_edits_of_the_same_hunks() -> None:
    """Keystrokes or hunks: the engine reads the same."""
    log = EditLog()
    lines = "\n".join(BEFORE)
    document = open_document("a.py", "python", 1, lines)
    for ask in asks(COMMIT, FILES):
        text = "\n".join(ask.texts[0].lines)
        edit = difference(document.lines, split(text))
        after = apply_edits(document, [edit], document.version + 1)
        log.note_change(document, after, [edit], ask.edits[-1].at)
        document = after
        assert log.list_finished(1e9)[-1][:2] == ask.edits[-1][:2] or ask.edits[-1].line == 1


def test_hunks_are_those_of_git() -> None:
    """Lines that look like heads are lines; files that are no code are left out."""
    (commit,) = hunks_of(DIFF)

    assert commit.id == "1234"
    assert commit.hunks == [Hunk("a.py", 1, ("-- x",), ("++ y", "b")), Hunk("a.py", 5, (), ("c",))]


def test_a_rename_is_true_where_the_commit_made_it() -> None:
    """In the function around; what it left is wrong, what it rewrote counts neither way."""
    lines = (
        "def f(a):", "    return a", "", "def g(a):", "    # a", "    return a + 1", "", "f(1)", "x = f(2)",
    )  # fmt: skip
    made = {0: "def h(b):", 1: "    return b", 3: "def g(c):", 4: "    # c", 5: "    return c + 1"}
    hunks = [Hunk("m.py", row, (lines[row],), (after,)) for row, after in made.items()]
    counts = Counter[str]()
    count_uses(hunks, "m.py", lines, counts)
    assert +counts == {"definitions": 1, "uses": 1, "right": 1}
    counts.clear()
    count_uses(
        [hunks[0]._replace(after=("def h(a):",)), Hunk("m.py", 7, ("f(1)",), ("h(1)",))],
        "m.py",
        lines,
        counts,
    )
    assert counts == {"definitions": 1, "uses": 1, "right": 1, "wrong": 1}


def test_what_was_refused_is_not_shown_again() -> None:
    """The pattern is quiet for the rest of the commit, and for no other."""
    wrong = (0.9, {"p", "x"}, Where.OPEN, False)
    right = (0.8, {"q"}, Where.OPEN, True)
    first = JudgedAsk("one", recurs=False, more=True, ranked=(wrong, right))
    again = JudgedAsk("one", recurs=False, more=True, ranked=(wrong, right))
    last = JudgedAsk("two", recurs=False, more=False, ranked=(wrong,))
    calm = JudgedAsk("three", recurs=False, more=False, ranked=(wrong,))
    total = score([first, again, last, calm._replace(ranked=())], {Where.OPEN: 0.5})

    assert (total.asks, total.shown, total.right, total.covered) == (2, 3, 1, 2)
    assert (total.calm, total.quiet) == (3, 1)


def test_a_file_that_is_not_open_has_a_level_of_its_own() -> None:
    """And is counted for itself, too."""
    away = (0.6, {"p"}, Where.UNOPENED, True)
    wrong = (0.7, {"q"}, Where.UNOPENED, False)
    asks = [JudgedAsk("one", recurs=True, more=True, ranked=(each,)) for each in (away, wrong)]

    assert [score(asks, {Where.UNOPENED: at}).shown for at in (0.5, 0.65, 0.9)] == [2, 1, 0]
    assert score(asks, {Where.UNOPENED: 0.5}).unopened_precision == 0.5


def test_the_server_would_find_them_by_their_words() -> None:
    """Files that are not open are looked for by what was done twice, and no others are read."""
    lines = ("print(hight)", "check(hight)", "area = hight")
    commit = Commit(
        "1", [Hunk("a.py", n, (lines[n],), (lines[n].replace("hi", "hei"),)) for n in (0, 1)]
    )
    files = {"a.py": lines, "b.py": lines[1:2], "c.py": ("width",)}
    once, twice = asks(commit, files)

    assert once.unopened == []
    assert [text.uri for text in twice.unopened] == ["b.py"]
    assert twice.n_open == 1
