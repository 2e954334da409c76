"""SECURITY.md and the tests agree on what is promised."""

from __future__ import annotations

from tests.promises import ROOT, list_marks, list_promises


def test_each_promise_has_tests_and_each_mark_a_promise() -> None:
    """A promise without a test, and a mark with a misspelled name, are both found."""
    promises = list_promises()
    assert {*promises} == {mark.promise for mark in list_marks()}
    assert len(promises) == len({*promises})


def test_the_promises_are_read_in_one_go() -> None:
    """The whole page, with how to report a problem, is at most sixty lines."""
    assert len((ROOT / "SECURITY.md").read_text("utf-8").splitlines()) <= 60
