"""The expectation of keys saved: what a recording says at a place, how long that takes, and what readers make of it."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.real_sessions import chart, expected, recordings
from benchmarks.real_sessions.choice import Written
from benchmarks.real_sessions.intervals import Interval, bootstrap
from benchmarks.real_sessions.readers import GLANCE, PEOPLE, QUICK, READERS, Reader
from benchmarks.real_sessions.record import MANNERS, is_of_no_use
from benchmarks.real_sessions.recordings import Recording, Spoken, Stream, recording_of, spell
from benchmarks.real_sessions.replayed import FILLER, ReplayedModel, Speed, speed
from benchmarks.real_sessions.simulated import (
    Outcome,
    play,
    virtual_time,
)
from benchmarks.real_sessions.texts import Text, find_session, read_text
from server_bridge.protocol import Prompt, Request, Stop, Token
from tests.clock import on_clock

HEAD = "import shop\n\n\ndef total(prices):\n    count = 0\n"
BLOCK = (
    "    rest = sum(prices) - count",
    "    if rest > 100 and not shop.closed:",
    "        shop.send(rest, prices)",
    "        rest = rest - shop.discount",
    "    return rest + shop.delivery",
)
WHOLE = "\n".join(BLOCK)


def tokens(*texts: str, logprob: float = -0.01) -> tuple[Token, ...]:
    return tuple(Token(n, text.encode(), logprob) for n, text in enumerate(texts))


def stream(at: int, kept: int, *texts: str, stop: Stop = Stop.LIMIT) -> Stream:
    return Stream(at, kept, tokens(*texts), stop)


def says(streams: Sequence[Stream], middle: str, forced: str = "") -> str | None:
    said = Spoken(streams, HEAD, WHOLE).behind(middle, forced)
    return None if said is None else spell(said[0])


COUNT = "    count = 0\n    rest ="  # the middle begins a line above the block


@pytest.mark.parametrize(
    ("middle", "forced", "text"),
    [
        (COUNT, "", " sum(prices)\n"),  # where it was recorded
        (COUNT, " su", " sum(prices)\n"),  # while it is typed along
        (COUNT, " so", None),  # nothing is known of another word
        (COUNT + " sum(", "", "prices)\n"),  # where a token begins
        (COUNT + " su", "", None),  # inside one
        (COUNT + " sum(prices)\n", "", ""),  # all was said
        (COUNT + " max(", "", None),  # what was never said
        ("x = 1\n", "", None),  # elsewhere
    ],
)
def test_a_stream_serves_the_places_that_agree_with_it(
    middle: str, forced: str, text: str | None
) -> None:
    """As greedy decoding goes on alike; nothing is made up elsewhere."""
    assert says([stream(10, 10, " sum", "(", "prices", ")\n")], middle, forced) == text


def test_a_stream_goes_on_behind_what_it_said_beside_the_block() -> None:
    """A session that rests and goes on asks behind what it has, though another text will be typed."""
    streams = [stream(10, 10, " min", "(", "prices", ")")]
    assert says(streams, COUNT + " min(") == "prices)"


def test_the_nearest_stream_serves() -> None:
    """It is the one that was recorded behind that half word."""
    streams = [stream(10, 10, " max", "("), stream(13, 10, " su", "b", "(")]
    assert says(streams, COUNT, " s") is None
    assert says(streams, COUNT, " su") == " sub("


@pytest.mark.parametrize(
    ("texts", "odds", "is_over"),
    [
        ((" sum", "("), (-0.1, -0.1), False),
        ((" max", "("), (-0.1, -0.1), False),  # it may be shown
        ((" max", "(", "a"), (-0.7, -0.7, -0.7), True),
        ((" sum", "[", "0"), (-3.0, -0.1, -3.0), True),  # by what is behind the typed part alone
        ((" sum", "("), (-3.0, -3.0), False),  # typed is certain
    ],
)
def test_it_is_recorded_until_no_more_can_be_shown(
    texts: tuple[str, ...], odds: tuple[float, ...], is_over: bool
) -> None:
    """As far as a session asks, whose user may type along."""
    said = tuple(
        Token(n, text.encode(), p) for n, (text, p) in enumerate(zip(texts, odds, strict=True))
    )
    assert is_of_no_use(said, WHOLE[10:]) == is_over


@pytest.mark.parametrize(
    ("texts", "logprob", "is_over"),
    [
        ((" max", "(", "a"), -0.7, False),  # less likely than is shown today
        ((" max", "(", "a"), -3.0, False),  # its line is not over
        ((" max", "(", "a", "\n"), -0.1, False),  # it is likely
        ((" max", "(", "a", "\n"), -3.0, True),
        ((" sum", "(", "prices", ") - count\n"), -3.0, False),  # typed
    ],
)
def test_a_text_is_recorded_further(
    texts: tuple[str, ...], logprob: float, *, is_over: bool
) -> None:
    """As far as a lower threshold, or none, would show of it."""
    said = tokens(*texts, logprob=logprob)
    assert is_of_no_use(said, WHOLE[10:], MANNERS["far"]) == is_over


def test_recordings_come_back(tmp_path: Path) -> None:
    """With the bytes of each token; a text that is no UTF-8 by itself, too."""
    streams = [stream(10, 10, " sum", "("), Stream(0, 0, (Token(7, b"\xe2\x82", None),), Stop.END)]
    session = Written(tmp_path / "me+shop", "c0ffee", "a/shop.py", 5, BLOCK, ("b.py",))
    recorded = recording_of(session, "p", streams)
    recordings.save(tmp_path / "held.json.xz", "m", [recorded])
    assert recordings.load(tmp_path / "held.json.xz") == ("m", [recorded])
    assert "delivery" not in repr(recorded), "the text of a block is in its recording"


PROMPT = Prompt("shop", (), "shop.py", HEAD * 40, "", "")


@on_clock
async def test_tokens_come_at_their_time() -> None:
    """A prompt is evaluated once; a stream that is closed is waited for, for a token."""
    loop = asyncio.get_running_loop()
    said = tokens("a", "b"), Stop.LIMIT
    model = ReplayedModel(lambda *_: said, Speed(prompt_per_s=1000, decode_per_s=10))
    at: list[float] = []
    texts: list[str] = []
    async for reply in model.stream(Request(PROMPT, 3)):
        at.append(round(loop.time(), 3))
        texts.append(reply.text)
    n_prompt = model.n_evaluated
    assert texts == ["a", "b", FILLER.text.decode()]
    assert at == [round(n_prompt / 1000, 3) + 0.1 * n for n in range(3)]
    began = loop.time()
    pieces = model.stream(Request(PROMPT, 3))
    await anext(pieces)
    await pieces.aclose()
    await anext(model.stream(Request(PROMPT, 3)))
    assert loop.time() - began == pytest.approx(0.1 + 0.1 + 0.1)  # a token, one too many, a token
    assert model.n_evaluated == n_prompt + 2


@pytest.mark.parametrize(
    ("stop", "end", "texts", "last"),
    [("\n", Stop.LIMIT, ["a", ""], Stop.WORD), ("", Stop.END, ["a", "\nb", ""], Stop.END)],
)
@on_clock
async def test_it_ends_as_a_server_does(stop: str, end: Stop, texts: list[str], last: Stop) -> None:
    """A stop word is no part of the text; neither is a model's end."""
    model = ReplayedModel(lambda *_: (tokens("a", "\nb"), end), speed(40))
    request = Request(PROMPT, 9, (stop,) if stop else ())
    replies = [reply async for reply in model.stream(request)]
    assert [reply.text for reply in replies] == texts
    assert replies[-1].stop is last


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a history with a file that has the block."""
    repo = tmp_path_factory.mktemp("histories") / "me+shop"
    repo.mkdir()
    (repo / "shop.py").write_text(f"{HEAD}{WHOLE}\n\n\nprint(total([1]))\n")
    (repo / "other.py").write_text("closed = False\n" * 50)
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b.c commit -qm a"):
        subprocess.run(["git", "-C", str(repo), *command.split()], check=True)
    return repo


@pytest.fixture(scope="module")
def recorded(history: Path) -> Recording:
    """Return what a model that knows each line, and never the next one, would have said."""
    streams = []
    at = 0
    for line in BLOCK:
        width = len(line) - len(line.lstrip())
        words = line[width:].replace(" ", "\0 ").split("\0")
        streams.append(stream(at + width, at + width, *filter(None, words), "\n", stop=Stop.END))
        at += len(line) + 1
    git = ["git", "-C", str(history), "rev-parse", "HEAD"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    session = Written(history, commit, "shop.py", 5, BLOCK, ("other.py",))
    return recording_of(session, "", streams)


def outcome(recorded: Recording, text: Text, who: Reader, per_s: float, number: int = 0) -> Outcome:
    spoken = Spoken(recorded.streams, text.head, text.block)
    model = ReplayedModel(spoken.behind, speed(per_s))
    with virtual_time() as run:
        played: Outcome = run(play(model, text, who, number))
    return played


@pytest.mark.parametrize("who", [QUICK, PEOPLE, GLANCE], ids=lambda who: who.name)
def test_a_reader_takes_what_the_model_knows(
    recorded: Recording, history: Path, who: Reader
) -> None:
    """The real session shows it; a model that says nothing saves nothing, and the same number is the same reader."""
    text = read_text(find_session(recorded, history))
    assert text.block == WHOLE
    fast = outcome(recorded, text, who, 160)
    assert fast.n_pressed < fast.n_alone * 0.9
    assert fast.n_taken > 0
    assert fast == outcome(recorded, text, who, 160)
    assert fast != outcome(recorded, text, who, 160, number=1)
    silent = outcome(recorded._replace(streams=()), text, who, 160)
    assert (silent.n_pressed, silent.n_taken, silent.n_read) == (silent.n_alone, 0, 0)


def test_a_slow_machine_saves_less(recorded: Recording, history: Path) -> None:
    """Where a text comes later than the next key."""
    text = read_text(find_session(recorded, history))
    saved = [
        sum(outcome(recorded, text, QUICK, per_s, number).n_pressed for number in range(3))
        for per_s in (2, 160)
    ]
    assert saved[0] > saved[1]


def test_what_was_played_goes_on(
    recorded: Recording, history: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Readers are added to those before; the table needs no history."""
    monkeypatch.setattr(expected, "DATA", tmp_path)
    monkeypatch.setattr(expected, "SPEEDS", (40,))
    recordings.save(tmp_path / "tune.json.xz", "m", [recorded])
    command = ["expected", "--set", "tune", "--kinds", "quick,people,glance"]
    for readers in ("1", "2"):
        monkeypatch.setattr("sys.argv", [*command, "--readers", readers, str(history)])
        expected.main()
    before = expected._load("tune")[1]
    assert {cell.n for cell in before.values()} == {2}
    monkeypatch.setattr("sys.argv", command)
    capsys.readouterr()
    expected.main()
    said = capsys.readouterr().out
    assert "1 of 1 recorded sessions, of 1 repositories (python), at least 2 readers" in said
    assert said.count("\n| ") >= 3
    assert expected._load("tune")[1] == before


def test_another_code_begins_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Outcomes of two versions of the product are never added up."""
    monkeypatch.setattr(expected, "DATA", tmp_path)
    cells = {("a", "quick", 40): expected.EMPTY._replace(n=1)}
    expected._save("tune", cells)
    monkeypatch.setattr(expected, "code", lambda: "other")
    assert expected._load("tune")[1] == cells
    assert expected._playable("tune") == {}


def test_the_chart_has_a_bar_for_each_speed() -> None:
    """With its interval, in words and as a line."""
    svg = chart.draw({"people": [(20, Interval(0.1, 0.2, 0.3)), (40, Interval(0.2, 0.25, 0.4))]})
    assert svg.count("<path") == 2
    assert "20% (10% to 30%)" in svg
    assert {*chart.READERS} == {*READERS}


def test_an_interval_is_over_sessions() -> None:
    """None where all are alike; wider where they differ."""
    assert bootstrap([(1, 4)] * 5) == (0.25, 0.25, 0.25)
    low, middle, high = bootstrap([(0, 10), (10, 10), (5, 10), (0, 10), (10, 10)])
    assert low < middle == 0.5 < high
