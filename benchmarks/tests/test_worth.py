"""What a prompt is worth: places from a history, likelihoods from the engine, differences with intervals."""

from __future__ import annotations

import math
from pathlib import Path

import httpx
import pytest

from benchmarks.serve import BUNDLED, serving
from benchmarks.tests.test_real_sessions import commit
from benchmarks.worth.__main__ import ARMS, budget, compose_arm
from benchmarks.worth.driven import rings
from benchmarks.worth.history import History
from benchmarks.worth.likelihood import LanguageModel
from benchmarks.worth.places import HISTORY, LEAST, Place, find_places
from benchmarks.worth.report import KINDS, compare, pair

MODEL = "qwen2.5-coder-0.5b"
CODE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


def function(name: str) -> str:
    return f"def {name}(value, factor):\n    {name}_sum = value * factor\n    return {name}_sum\n"


def history(folder: Path) -> History:
    """Five commits, each of which adds a function to two files."""
    names = ["first", "second", "third", "fourth", "fifth"]
    filler = "".join(f"line_{n} = {n}\n" for n in range(200))
    for n in range(len(names) + 1):
        text = "\n\n".join(map(function, names[:n]))
        commit(
            folder,
            f"2026-01-0{n + 1}T12:00:00+00:00",
            other=f"import os\n{text}",
            shop=f"{text}\n{filler}",
        )
    return History(folder, len(names))


def places(folder: Path) -> list[Place]:
    played = history(folder)
    return [*find_places(played, rings(ARMS), budget(MODEL))]


def test_a_place_for_each_commit_and_what_was_written_there(tmp_path: Path) -> None:
    """The text before the place is as it was, and the lines behind it are the commit's."""
    found = places(tmp_path)
    assert len(found) == 5 - HISTORY
    for place in found:
        written = "".join(place.written)
        assert len(place.written) >= LEAST
        assert place.document.lines[place.line] == "\n"
        assert written.splitlines()[1] not in place.document.text
        assert place.window.prefix + place.window.suffix


def test_arms_show_what_they_are_named_after(tmp_path: Path) -> None:
    """Nothing, or a ring in front; the window is the same."""
    place = places(tmp_path)[-1]
    prompts = {arm: compose_arm(arm, place, "repo") for arm in ARMS}
    alone = prompts["window"]
    assert not alone.chunks
    assert prompts["ring500"].chunks
    for prompt in prompts.values():
        assert prompt.middle == alone.middle
        assert prompt.prefix == alone.prefix


@pytest.mark.slow
def test_likelihoods_are_those_of_a_server() -> None:
    """Each true token has the probability that a llama.cpp server names; what is held changes nothing."""
    model = LanguageModel(BUNDLED)
    prompt = model.tokenize(CODE[:40])
    text = model.tokenize(CODE[40:])
    model.score(model.tokenize("def add(x):\n    return x\n"), text)
    scores = model.score(prompt, text)
    with serving(BUNDLED) as url:
        for n, token in enumerate(text):
            question = {
                "prompt": prompt + text[:n],
                "n_predict": 1,
                "n_probs": 50,
                "temperature": 0,
            }
            answer = httpx.post(f"{url}/completion", json=question, timeout=60).json()
            top = answer["completion_probabilities"][0]["top_logprobs"]
            logprobs = {row["id"]: row["logprob"] for row in top}
            if token in logprobs:
                assert math.isclose(-logprobs[token], scores[n], rel_tol=0.02, abs_tol=0.02)


def record(commit: str, arm: str, nats: float) -> dict[str, object]:
    return {"repo": "r", "commit": commit, "arm": arm, "lines": [{"start": [nats, 10]}] * 3}


def test_a_difference_is_of_the_same_places_and_has_an_interval() -> None:
    """Places that lack an arm do not count; equal gains have no spread, unequal ones do."""
    records = [record(str(n), "window", 5.0) for n in range(9)]
    records += [record(str(n), "ring500", 4.0) for n in range(8)]
    pairs = pair(records, "window", "ring500")
    assert len(pairs) == 8
    assert tuple(compare(pairs, KINDS[0])) == pytest.approx((-0.1, -0.1, -0.1))
    mixed = pair([*records, record("8", "ring500", 9.0)], "window", "ring500")
    difference = compare(mixed, KINDS[0])
    assert difference.low < difference.mean < difference.high
