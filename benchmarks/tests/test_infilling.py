"""Places that others chose: their files, what is right, and a model's programs on their own."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
from pathlib import Path

import pytest

from benchmarks.infilling import arms, execution
from benchmarks.infilling.__main__ import main, read_known, table
from benchmarks.infilling.places import Measure, Place, UnknownFormatError, choose, read
from benchmarks.infilling.verdicts import judge
from benchmarks.serve import BUNDLED
from fim_lsp.prompt import window
from server_bridge.protocol import BackendUnavailable
from tests.models import SPECIALS, write_model

TESTED = {
    "task_id": "L1", "entry_point": "f", "prompt": "def f():\n", "canonical_solution": "    return 1\n",
    "suffix": "\n", "test": "def check(f):\n    assert f() == 1\n",
}  # fmt: skip
CALL = {
    "task_id": "c1", "lang": "python", "prompt": "Complete:\n\nx = # TODO: Your code here\n",
    "eval_prompt": "x = {{completion}}\n", "ground_truth": "f(a, b=1, c=2)",
}  # fmt: skip
runs_programs = pytest.mark.skipif(bool(execution.why_impossible()), reason="needs unshare")


def write(file: Path, *rows: object) -> Path:
    """Return *file* with rows of JSON, packed."""
    file.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return file


def row(whole: dict[str, str], **other: object) -> bytes:
    return json.dumps(whole | other).encode()


@runs_programs
def test_a_span_inside_a_line_is_filled_as_it_is(tmp_path: Path) -> None:
    """No line is opened for it."""
    span = TESTED | {"prompt": "def f():\n    ret", "canonical_solution": "urn 1", "suffix": "\n"}
    [place] = read(write(tmp_path / "places", span))
    assert place.shown == (place.above, place.below)
    assert judge(place, "urn 2 - 1", is_opened=True) == "right"


def test_a_place_has_its_text_as_published_and_as_an_editor_shows_it(tmp_path: Path) -> None:
    """There the line is opened and indented; an instruction to a model is in no file."""
    tested, call = read(write(tmp_path / "places", TESTED, CALL))
    assert (tested.above, tested.below) == ("def f():\n", "\n")
    assert tested.shown == ("def f():\n    ", "\n\n")
    assert (call.above, call.below) == ("Complete:\n\nx = ", "\n")
    assert call.shown == ("x = ", "\n")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(b"{}" * 99)[:-9], "is cut"),
        (gzip.compress(b"")[:10] + b"\xff" * 9, "is cut"),
        (b'{"task_id": "L1", "test"', "is cut, or no JSON lines"),
        (b"GGUF\x03\0\xff", "no JSON lines"),
        (b'{"task_id": "L1", "test": ""}\n', "a row is not of HumanEval-Infilling"),
        (b"[]", "a row is not"), (row(CALL, prompt="Complete"), "a row is not"),
        (row(CALL, lang="cobol"), "a row is not"), (row(CALL, ground_truth=None), "a row is not"),
        (row(TESTED, test=None), "a row is not"), (row(TESTED, task_id=1), "a row is not"),
        (b"", "has no places"),
    ],
)  # fmt: skip
def test_another_file_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    """With what is wrong with it, in one sentence."""
    file = tmp_path / "places.jsonl"
    file.write_bytes(data)
    with pytest.raises(UnknownFormatError, match=words) as error:
        read(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("wanted", ["is the file whole?", "was not trained to fill in a gap"])
def test_another_model_is_named(tmp_path: Path, wanted: str) -> None:
    """One that is cut, and one that fills no holes; no place is asked. What this process shows first stays as it was."""
    before = window.FIRST_TOKENS, window.BY_HAND_TOKENS
    model = tmp_path / "model.gguf"
    answers = tmp_path / "answers.jsonl"
    if wanted.startswith("is"):
        model.write_bytes(BUNDLED.read_bytes()[:100_000])
    else:
        write_model(model, specials=[""] * len(SPECIALS))
    places = write(tmp_path / "places.gz", CALL)
    with pytest.raises(SystemExit, match=re.escape(wanted)) as error:
        main([str(places), str(model), "--json", str(answers)])
    assert "model" in str(error.value)
    assert not answers.exists()
    assert before == (window.FIRST_TOKENS, window.BY_HAND_TOKENS)


def test_fewer_places_are_the_first_of_more() -> None:
    """Of any number; brackets are between them."""
    named = ((str(n), ")" if n % 3 else "x = 1") for n in range(30))
    places = [Place(name, "python", Measure.LINE, "", x, "", ("", "")) for name, x in named]
    some = choose(places, [], 4)
    assert some + choose(places, [], 9, skip=4) == choose(places, [], 9)
    assert sum(not place.is_short for place in some) == 4
    assert choose(places, ["java"], 4) == []


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("f(a, b=1, c=2)", "right"), ("f(a, c=2, b=1)\ny = 2", "right"),
        ("f( a,\n b=1, c=2 )", "right"), ("g(a, b=1, c=2)", "wrong"), ("f(a, b", "beginning"),
        (" ", "nothing"),
    ],
)  # fmt: skip
def test_a_call_is_the_same_by_its_syntax(tmp_path: Path, text: str, verdict: str) -> None:
    """Up to its end, with named arguments in any order."""
    [place] = read(write(tmp_path / "places", CALL))
    assert judge(place, text, is_opened=True) == verdict


@runs_programs
@pytest.mark.parametrize(
    ("text", "is_opened", "verdict"),
    [
        ("return 1", True, "right"), ("return 2 - 1\n    return 2", True, "right"),
        ("return", True, "beginning"), ("return 2", True, "wrong"),
        ("\n    return 2 - 1\nmore", False, "right"), ("return 2 - 1", False, "wrong"),
        ("import sys; sys.exit()", True, "wrong"), ("while True: pass", True, "wrong"),
        ("return len(bytes(1 << 31)) and 1", True, "wrong"),
        ("import socket; socket.create_connection(('127.0.0.1', PORT)); return 1", True, "wrong"),
        ("open('x', 'w').write('a' * (1 << 22)); return 1", True, "wrong"),
    ],
)  # fmt: skip
def test_a_program_passes_its_tests_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_opened: bool, verdict: str
) -> None:
    """Within time, memory and files, and without a network, this machine's own, too."""
    monkeypatch.setattr(execution, "SECONDS", 3.0)
    [place] = read(write(tmp_path / "places", TESTED))
    with socket.create_server(("127.0.0.1", 0)) as server:
        text = text.replace("PORT", str(server.getsockname()[1]))
        assert judge(place, text, is_opened=is_opened) == verdict


@runs_programs
@pytest.mark.parametrize(
    ("text", "right", "verdict"),
    [
        ("two = 2", [], "beginning"), ("two = 1 + 1", [], "other beginning"),
        ("two = 3", [], "wrong"), ("one", ["    one = 1\n    return one\n"], "other beginning"),
        ("one", ["    two = 2\n"], "wrong"),
    ],
)  # fmt: skip
def test_a_right_text_is_begun(tmp_path: Path, text: str, right: list[str], verdict: str) -> None:
    """The published one, what the published lines end, or another answer."""
    lines = "    two = 2\n    return two - 1\n"
    [place] = read(write(tmp_path / "places", TESTED | {"canonical_solution": lines}))
    assert judge(place, text, is_opened=True, right=right) == verdict


def test_answers_of_earlier_runs_are_known(tmp_path: Path) -> None:
    """Of the same model, but for a line that a stopped run left half."""
    file = tmp_path / "answers.jsonl"
    assert read_known(file) == {}
    one = {"model": "m", "place": "a", "arm": "raw", "verdict": "wrong", "text": "x"}
    for n_left in (3, 20):
        file.write_text(json.dumps(one) + "\n" + json.dumps(one)[:n_left], "utf-8")
        assert read_known(file) == {("m", "a", "raw"): ("wrong", "x")}
    with file.open("a", encoding="utf-8") as rows:
        rows.write(json.dumps(one | {"arm": "auto"}) + "\n")
    both = [("m", "a", "raw"), ("m", "a", "auto")]
    assert read_known(file) == dict.fromkeys(both, ("wrong", "x"))


def test_a_file_with_something_else_stays_as_it_is(tmp_path: Path) -> None:
    """Nothing is added to the places; the file is named, and so is one without a place that is left."""
    places = write(tmp_path / "places.gz", CALL)
    before = places.read_bytes()
    for more, words in ((["--json", str(places)], "are no answers"), (["--skip", "1"], "is left")):
        with pytest.raises(SystemExit, match=words) as error:
            main([str(places), str(BUNDLED), *more])
        assert str(places) in str(error.value)
    assert places.read_bytes() == before


def test_a_server_that_ended_has_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty one would stand in the file as the model's."""
    monkeypatch.setattr(arms, "START_S", 0.1)
    [place] = read(write(tmp_path / "places", TESTED))
    with pytest.raises(BackendUnavailable, match="cannot connect"):
        asyncio.run(arms.ours("http://127.0.0.1:9", place, 0, invoked=False))


def test_arms_are_compared_place_by_place() -> None:
    """With the first; short places apart; what is shown is good if it is right, or begins so."""
    one, two, short = (
        Place(name, "python", Measure.LINE, "", missing, "", ("", ""))
        for name, missing in [("a", "x = 1"), ("b", "y = 2"), ("c", ")")]
    )
    verdicts = {
        "raw": {one: "right", two: "wrong", short: "wrong"},
        "auto": {one: "nothing", two: "beginning", short: "right"},
    }
    of_long = table(verdicts, short=False)
    assert "| raw | 2 | 1 | 0 | 0 | 1 | 0 | 50% | 0, 0 |" in of_long
    assert "| auto | 2 | 0 | 1 | 0 | 0 | 1 | 100% | 0, 1 |" in of_long
    assert "| auto | 1 | 1 | 0 | 0 | 0 | 0 | 100% | 1, 0 |" in table(verdicts, short=True)
