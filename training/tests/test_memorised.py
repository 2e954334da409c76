"""What counts as quoted from the training set."""

from __future__ import annotations

import string

from training import memorised
from training.shards import Entry

WORDS = [f"{a}{b}{c}" for a in string.ascii_lowercase for b in "xyz" for c in "uvw"]
TEXT = " ".join(WORDS)


def entries(*texts: str) -> list[Entry]:
    return [Entry(f"p{n}", "python", "a.py", text, []) for n, text in enumerate(texts)]


def quoted(answer: str, *texts: str, prompt: str = "") -> memorised.Run:
    (run,) = memorised.longest([(prompt, answer)], entries(*texts))
    return run


def test_the_longest_run_is_found_whatever_is_around_it() -> None:
    """Between other words, with other punctuation, before a shorter run."""
    answer = "first (" + ", ".join(WORDS[10:30]) + ") then other " + " ".join(WORDS[50:60])
    run = quoted(answer, "unrelated words here", TEXT)
    assert (run.n_words, run.n_packages, run.text) == (20, 1, " ".join(WORDS[10:30]))


def test_a_run_is_not_put_together_of_two() -> None:
    """Two quotations side by side are no longer quotation."""
    answer = " ".join([*WORDS[10:22], *WORDS[40:50]])
    assert quoted(answer, TEXT).n_words == 12


def test_a_few_words_are_no_quotation() -> None:
    """Nor is a run that is in no file."""
    assert quoted(" ".join(WORDS[:7]), TEXT).n_words == 0
    assert quoted(" ".join(WORDS[::2]), TEXT).n_words == 0


def test_text_of_the_prompt_was_not_memorised() -> None:
    """Copying from the prompt is a model's purpose."""
    answer = " ".join(WORDS[10:40])
    assert quoted(answer, TEXT, prompt=TEXT).n_words == 0
    assert quoted(answer, TEXT, prompt=" ".join(WORDS[:25])).n_words == 22


def test_idioms_are_known_by_the_number_of_packages() -> None:
    """The table tells them from quotations."""
    answer = " ".join(WORDS[10:40])
    runs = [quoted(answer, *[TEXT] * n) for n in (1, 9)]
    assert [run.n_packages for run in runs] == [1, 9]
    assert "| 20 | 2 | 1 |" in memorised.table(runs)
