"""What the idle processor could add: bounds are no lower than what they bound, and a variant is paired with today's."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.real_sessions import variants
from benchmarks.real_sessions.choice import Written
from benchmarks.real_sessions.recordings import Said, Spoken, Stream
from benchmarks.real_sessions.replayed import ReplayedModel, Speed
from benchmarks.real_sessions.simulated import Outcome
from benchmarks.real_sessions.texts import Text
from server_bridge.protocol import Prompt, Request, Stop, Token
from tests.clock import on_clock

PACE = Speed(prompt_per_s=1000, decode_per_s=10)
PROMPT = Prompt("shop", (), "shop.py", "x = 1\n" * 40, "", "a")
SAID = tuple(Token(n, text.encode(), -0.01) for n, text in enumerate(" bcd"))


def says(middle: str, _forced: str) -> Said | None:
    """Return what is left of one text, as a recording does."""
    n_typed = len(middle) - len(PROMPT.middle)
    return SAID[n_typed:], Stop.LIMIT


async def times(model: ReplayedModel, middle: str, n: int) -> list[float]:
    """Return after how many seconds each of *n* tokens comes."""
    time = asyncio.get_running_loop().time
    began = time()
    request = Request(replace(PROMPT, middle=middle), n)
    return [round(time() - began, 3) async for _ in model.stream(request)]


@on_clock
async def test_a_text_that_was_left_goes_on() -> None:
    """Its tokens come when they would have come, and its time is counted once."""
    model = variants.Kept(says, PACE)
    [first] = await times(model, "a", 1)
    busy_s = model.busy_s
    assert busy_s == pytest.approx(first + 0.1 * len(SAID))
    await asyncio.sleep(0.05)  # behind the token that was under way
    assert await times(model, "a ", 3) == [0.0, 0.05, 0.15]
    assert model.busy_s == busy_s


@pytest.mark.parametrize(
    ("kind", "typed", "is_ready"),
    [
        (variants.NextLine, ("a\n    ",), True),
        (variants.NextLine, ("a\n    b",), False),
        (variants.Contradicted, ("a",), False),
        (variants.Contradicted, ("a", "a b"), False),  # it is in the text
        (variants.Contradicted, ("a", "a x"), True),
        (variants.AtOnce, ("a",), True),
    ],
)
@on_clock
async def test_what_is_ready_takes_no_time(
    kind: type[ReplayedModel], typed: tuple[str, ...], *, is_ready: bool
) -> None:
    """And nothing else: the token that a stream left behind is over by then."""
    model = kind(lambda *_: (SAID, Stop.LIMIT), PACE)
    for middle in typed[:-1]:
        await times(model, middle, 1)
        await asyncio.sleep(1)
    [*took] = await times(model, typed[-1], 2)
    assert (took == [0.0, 0.0]) == is_ready
    assert is_ready or took[1] - took[0] == pytest.approx(0.1)


def test_a_judge_knows_what_is_right() -> None:
    """All of a text is certain until the first token that is not typed, and never shown from there on."""
    session = Written(Path("me+shop"), "c0ffee", "shop.py", 1, ("ab cd",), ())
    text = Text(session, (), "x = 1\n", "\n")
    tokens = tuple(Token(n, said, -1.0) for n, said in enumerate((b"ab", b" ", b"x", b"d")))
    spoken = Spoken([Stream(0, 0, tokens, Stop.END)], text.head, text.block)
    said = variants.judge(spoken, text)("x = 1\n", "")
    assert said is not None
    assert [token.logprob for token in said[0]] == [0.0, 0.0, variants.NEVER, variants.NEVER]


def test_a_variant_is_paired_with_todays() -> None:
    """Where each session saves a tenth more, the ratio is sure, however the sessions differ."""

    def outcomes(times: float) -> variants.Outcomes:
        by = {
            f"{n}": Outcome(100, 100 - n * times, 100, n, 1, 1, 2, 1.0, times)  # type: ignore[arg-type]
            for n in (10, 20, 50)
        }
        return dict.fromkeys(variants.CELLS, by)

    name, *cells, wrong, time = variants.row("more", outcomes(1.1), outcomes(1.0))
    assert name == "more"
    assert cells == ["1.10 [1.10, 1.10]"] * len(variants.CELLS)
    assert wrong == f"{3 * 2 / 80:.2f}"
    assert time == "1.10"


def test_each_variant_has_one_beside_it() -> None:
    """It comes before, and is of a name of its own."""
    names = [way.name for way in variants.WAYS]
    assert len({*names}) == len(names)
    for n, way in enumerate(variants.WAYS):
        assert way.beside in names[: n + 1]
