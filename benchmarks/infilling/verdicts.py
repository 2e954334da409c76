"""
Whether an answer is right, by the measure of its place; else whether it is the beginning of a right one.

That is the published text, or another one that passes: another arm's answer, or this one with the published lines behind
as many as it has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from benchmarks.infilling.execution import passes
from benchmarks.infilling.places import Measure, Place

RIGHT = "right"
BEGINNING = "beginning"
OTHER = "other beginning"
WRONG = "wrong"
NOTHING = "nothing"


def fill(place: Place, text: str, *, is_opened: bool) -> str:
    """
    Return what stands in the hole with an answer: of one line where one is missing.

    What *is_opened* stands in the line that an editor has opened and indented.
    """
    if place.measure is Measure.CALL:
        return text
    if place.is_line:
        text = next((line for line in text.split("\n") if line.strip()), "")
    if is_opened:
        text = place.shown[0].removeprefix(place.above) + text
    ends = is_opened and place.shown[1] != place.below
    return text + "\n" * (place.measure is Measure.TESTS and (ends or place.is_line))


def judge(place: Place, text: str, *, is_opened: bool, right: Iterable[str] = ()) -> str:
    """Return what an answer is; *right* are others that fill the hole."""
    if not text.strip():
        return NOTHING
    answer = fill(place, text, is_opened=is_opened)
    match place.measure:
        case Measure.TESTS:
            is_right = answer == place.missing or passes(
                place.above + answer + place.below + place.test
            )
        case Measure.CALL:
            is_right = is_same_call(answer, place.missing, place.language)
        case Measure.LINE:
            is_right = answer.strip() == place.missing.strip()
    if is_right:
        return RIGHT
    begun = _begun(answer, place)
    if _begun(place.missing, place).startswith(begun):
        return BEGINNING
    is_begun = any(_begun(one, place).startswith(begun) for one in right) or _goes_on(place, begun)
    return OTHER if is_begun else WRONG


def _begun(text: str, place: Place) -> str:
    return _dense(text) if place.measure is Measure.CALL else text.rstrip()


def _goes_on(place: Place, begun: str) -> bool:
    """Return whether the tests pass with the published lines behind as many as were begun."""
    if place.measure is not Measure.TESTS:
        return False
    lines = place.missing.splitlines(keepends=True)[begun.count("\n") + 1 :]
    program = f"{place.above}{begun}\n{''.join(lines)}{place.below}{place.test}"
    return bool(lines) and passes(program)


def is_same_call(answer: str, missing: str, language: str) -> bool:
    """
    Return whether an answer is the call that is missing: all of it, or as far as its first closed bracket, as SAFIM
    cuts answers; in Python named arguments may stand in another order.
    """
    return any(
        _dense(text) == _dense(missing)
        or (language == "python" and _parsed(text) == _parsed(missing) != "")
        for text in (answer, cut_behind_call(answer))
    )


def cut_behind_call(text: str) -> str:
    """Return *text* up to the first bracket that closes the first one."""
    depth = 0
    for at, sign in enumerate(text, 1):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and depth <= 0:
            return text[:at]
    return text


def _parsed(text: str) -> str:
    """Return the syntax tree of an expression, with named arguments by their names; "" if it is none."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda each: each.arg or "")
    return ast.dump(tree)


def _dense(text: str) -> str:
    return re.sub(r"\s+", "", text)
