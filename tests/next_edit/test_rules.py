"""One or two changed lines into rules, and what they make of other lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.next_edit.edits import changes
from fim_lsp.next_edit.rule import Hole, Rule, TokenKind, fill, find, token_changes, tokens
from fim_lsp.next_edit.rules import pair_rule, rules


def of_kind(kind: TokenKind, before: str, after: str) -> list[Rule]:
    return [rule for rule in rules(before, after) if rule.kind is kind]


@pytest.mark.parametrize(
    ("kind", "before", "after", "line", "result"),
    [
        (TokenKind.RENAME, "x = old + 1", "x = new + 1", "old(old, older)", "new(new, older)"),
        (TokenKind.RENAME, "x = old", "x = new", "  gold = 1", "  gold = 1"),
        (TokenKind.REPLACE, "a = foo.bar(1)", "a = baz(1)", "return foo.bar(x)", "return baz(x)"),
        (TokenKind.DELETE, "x: Final = 1", "x = 1", "yy: Final = 2", "yy = 2"),
        (TokenKind.INSERT, "get(url)", "await get(url)", "x = get(other)", "x = await get(other)"),
        (TokenKind.ARGUMENT, "get(url, a)", "get(url, a, ok=1)", "get(f(x), [b])",
         "get(f(x), [b], ok=1)"),
        (TokenKind.ARGUMENT, "get(url)", "get(url, 5)", "get()", "get()"),
    ],
)  # fmt: skip
def test_a_rule(kind: TokenKind, before: str, after: str, line: str, result: str) -> None:
    """One of the rules of its kind makes this of the other line; indentation stays."""
    assert result in [rule.apply(line) for rule in of_kind(kind, before, after)]


@pytest.mark.parametrize(
    ("one", "other", "line", "result"),
    [
        (("f('a.txt')", "f(str(a))"), ("f('bc.txt')", "f(str(bc))"), "f('x.txt')", "f(str(x))"),
        (
            ("my.x: int = 1", "my.x = 1"), ("my.y: str = a.b", "my.y = a.b"), "  my.z: T = f()",
            "  my.z = f()",
        ),
    ],
)  # fmt: skip
def test_a_rule_of_two_examples(
    one: tuple[str, str], other: tuple[str, str], line: str, result: str
) -> None:
    """What differs is a hole, and what a hole held comes back."""
    rule = pair_rule(*one, *other)
    assert rule is not None
    assert rule.apply(line) == result


def test_two_changes_with_nothing_in_common_have_no_rule() -> None:
    """What the new lines differ in must come from the old ones."""
    assert pair_rule("f(a)", "f(1)", "f(b)", "f(2)") is None


def test_a_hole_holds_what_it_may() -> None:
    """A name, the inside of brackets, or anything up to the next literal."""
    word = find(("f(", Hole.WORD, ")"), "f(a.b) f(cd)")
    inside = find(("f(", Hole.INSIDE, ")"), "f(a(b)) f()")
    anything = find(("f ", Hole.ANY, " in ", Hole.ANY), "if f x in y in z", whole=False)
    assert [found.held for found in word] == [("cd",)]
    assert [found.held for found in inside] == [("a(b)",)]
    assert [found.held for found in anything] == [("x", "y in z")]


LINE = st.lists(st.sampled_from(["foo", "ba", "(", ")", " ", ", ", "=", "1"]), max_size=9).map(
    "".join
)


@given(LINE, LINE)
def test_token_changes_lead_from_one_line_to_the_other(before: str, after: str) -> None:
    """Each says where it was, and what was there."""
    made = list[str]()
    end = 0
    found = token_changes(before, after)
    old = tokens(before)
    for change in found:
        assert old[change.start : change.end] == change.old
        made += [*old[end : change.start], *change.new]
        end = change.end
    assert "".join((*made, *old[end:])) == after.strip()


@given(LINE, LINE, LINE)
def test_rules_are_exact(before: str, after: str, line: str) -> None:
    """A rule that leaves a line as it is has no place in it, and its needle is in every other."""
    for rule in rules(before, after):
        if rule.apply(line) != line:
            assert rule.needle in line
            assert rule.find_places(line.strip())


BLOCK = st.lists(LINE, max_size=5).map(tuple)


@given(BLOCK, BLOCK)
def test_the_changes_of_an_edit_add_up_to_it(before: tuple[str, ...], after: tuple[str, ...]):
    """Made one after the other, they lead from the lines before to those after."""
    lines = list(before)
    shift = 0
    for change in changes(before, after):
        start = change.offset + shift
        assert tuple(lines[start : start + len(change.before)]) == change.before
        lines[start : start + len(change.before)] = change.after
        shift += len(change.after) - len(change.before)
    assert tuple(lines) == after


def test_a_template_is_filled_with_what_was_held() -> None:
    """Numbers count the holes."""
    assert fill(("a", 1, "b", 0), ("x", "y")) == "aybx"
