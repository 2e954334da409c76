"""Copies are found, similar files are kept."""

from __future__ import annotations

import argparse
import inspect

from training.duplicates import Seen

CODE = inspect.getsource(argparse)


def test_a_copy_is_a_copy_whatever_its_spacing() -> None:
    """Only what is between spaces counts."""
    seen = Seen()
    assert seen.add(CODE) == ""
    assert seen.add(CODE) == "copy"
    assert seen.add(CODE.replace("\n    ", "\n\t")) == "copy"


def test_an_edited_copy_is_nearly_one() -> None:
    """A renamed class and a new header make no new file."""
    seen = Seen()
    seen.add(CODE)
    assert (
        seen.add("# Copyright 2026 Another Author\n" + CODE.replace("HelpFormatter", "Helper"))
        == "near copy"
    )


def test_half_a_file_is_new() -> None:
    """Jaccard of a text and its half is a half."""
    seen = Seen()
    seen.add(CODE)
    assert seen.add(CODE[: len(CODE) // 2]) == ""


def test_short_and_empty_texts_are_told_apart() -> None:
    """Texts of fewer words than a run have a signature, too."""
    seen = Seen()
    assert [seen.add(text) for text in ("", "a_b", "import os", "import os")] == [
        "",
        "",
        "",
        "copy",
    ]
