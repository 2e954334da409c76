"""Edits by instruction: what is asked, what comes of it, and what it costs."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Edited, Instruction
from fim_lsp.session.edits.instructed_edits import TOO_LONG
from server_bridge.protocol import Health, Prompt, State
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.typist import ROOT, Typist

CODE = (
    "import os\n\n\ndef area(w, h):\n    return w * h\n\n\ndef volume(w, h, d):\n"
    "    return w * h * d\n"
)
AREA = Instruction(Position(3, 0), Position(5, 0), "add a comment")
NEW = ("def area(w, h):  # of a rectangle", "    return w * h")
ANSWER = "\n".join((*NEW, "```"))


def says(answer: str) -> FakeBackend:
    """Return a model that answers every instruction alike, and goes on where it was interrupted."""
    begun = len("```python\n")
    return FakeBackend(
        lambda prompt, _: answer[len(prompt.middle) - begun :] if prompt.turns else "x"
    )


async def edit(
    user: Typist, asked: Instruction = AREA, heard: list[Sequence[str]] | None = None
) -> Edited:
    def hear(lines: Sequence[str]) -> bool:
        if heard is not None:
            heard.append(lines)
        return True

    return await user.session._edits.edit(user.uri, asked, hear)


Write = Callable[[FakeBackend], Typist]


@pytest.fixture
def typist(open_session: OpenSession) -> Write:
    """Returns a user in a file with `CODE`."""
    return lambda backend: Typist(open_session(backend=backend), CODE)


@pytest.mark.parametrize("problems", [(), ("the name is unknown",)])
async def test_an_edit_is_the_lines_that_take_the_place_of_the_selection(
    typist: Write, problems: tuple[str, ...]
) -> None:
    """They are told as they are written; behind the file stand the selection and what the user asked."""
    backend = says(ANSWER)
    heard = list[Sequence[str]]()
    answer = await edit(typist(backend), AREA._replace(problems=problems), heard)
    assert (answer.first, answer.last, answer.lines, answer.note) == (3, 5, NEW, "")
    assert NEW[:1] in heard
    prompt = backend.seen[-1].prompt
    assert "def volume" in prompt.prefix + prompt.suffix
    assert prompt.turns[0].endswith("Instruction:\nadd a comment")


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("```", "the model's answer is empty, and the instruction asks for no deletion"),
        ("def area(w, h):\n    return w * h\n```", "the model changed nothing"),
        ("x = 1\n" * 400, "the answer was too long and broke off: select fewer lines"),
    ],
)
async def test_an_answer_that_is_none_changes_nothing(typist: Write, answer: str, note: str):
    """And the note says why."""
    edited = await edit(typist(says(answer)))
    assert (edited.lines, edited.note) == (None, note)


PLACEHOLDER = "def area(w, h, d):\n    # ... existing code ...\n```"
ASKED_AGAIN = "That is not all of the lines"


def says_first(first: str, then: str) -> FakeBackend:
    """Return a model that answers an instruction, and otherwise where it is asked once more."""
    begun = len("```python\n")

    def say(prompt: Prompt, _: int) -> str:
        if not prompt.turns:
            return "x"
        answer = then if prompt.turns[-1].startswith(ASKED_AGAIN) else first
        return answer[len(prompt.middle) - begun :]

    return FakeBackend(say)


async def test_an_answer_that_leaves_lines_out_is_asked_for_once_more(typist: Write) -> None:
    """Behind the first one, so that only the question is evaluated; the second one is applied."""
    backend = says_first(PLACEHOLDER, ANSWER)
    answer = await edit(typist(backend))
    assert (answer.lines, answer.note) == (NEW, "")
    first, second = (request.prompt.turns for request in backend.seen)
    assert second[:1] == first
    assert second[1].endswith(PLACEHOLDER)
    assert "each of them written out" in second[2]


async def test_it_is_asked_for_once_more_only(typist: Write) -> None:
    """Then the user is told what the model wrote in place of the lines."""
    backend = says_first(PLACEHOLDER, PLACEHOLDER)
    answer = await edit(typist(backend))
    assert answer.lines is None
    assert answer.note == "the model left lines out, and wrote: # ... existing code ..."
    assert len(backend.seen) == 2


async def test_a_change_of_the_text_ends_the_second_question(typist: Write) -> None:
    """As it ends the first one."""
    backend = says_first(PLACEHOLDER, ANSWER)
    user = typist(backend)

    def hear(_: Sequence[str]) -> bool:
        if backend.seen and backend.seen[-1].prompt.turns[-1].startswith(ASKED_AGAIN):
            user.replace(Position(0, 0), Position(0, 0), "#")
        return True

    answer = await user.session._edits.edit(user.uri, AREA, hear)
    assert (answer.lines, answer.note) == (None, "the text was changed meanwhile")


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ("x = '\x1b[2J'\n```", "the model's answer has control characters"),
        ("def area(w, h:\n    return w\n```", "the model's answer would add a syntax error"),
        (
            'def area(w, h):\n    """Area.\n```',
            "the model's answer ends inside a string or a comment",
        ),
    ],
)
async def test_an_answer_that_is_no_code_changes_nothing(
    typist: Write, answer: str, note: str
) -> None:
    """And the note says why."""
    edited = await edit(typist(says(answer)))
    assert (edited.lines, edited.note) == (None, note)


async def test_what_is_far_too_long_is_not_looked_at(typist: Write) -> None:
    """Not by the model, and not for secrets either."""
    user = typist(backend := says(ANSWER))
    user.session.handle(events.Opened(user.uri, "python", 9, "password: (foo, 'ab1cd' " * 40_000))
    answer = await edit(user, Instruction(Position(0, 0), Position(0, 5), "shorten it"))
    assert answer.note == TOO_LONG
    assert not backend.seen


@pytest.mark.parametrize(
    ("state", "note"),
    [
        (dataclasses.replace(FakeBackend().state, fills_only="it fills in"), "it fills in"),
        (State(Health.UNUSABLE, "fake", message="set a key"), "set a key"),
    ],
)
async def test_a_model_that_cannot_says_so(typist: Write, state: State, note: str) -> None:
    """In one sentence, what is known of it; it is not asked."""
    backend = says(ANSWER)
    backend.state = state
    answer = await edit(typist(backend))
    assert (answer.lines, answer.note, backend.seen) == (None, note, [])


async def test_a_change_of_the_text_ends_an_edit(typist: Write) -> None:
    """What the answer was to replace is not there any more."""
    user = typist(says(ANSWER))

    def hear(lines: Sequence[str]) -> bool:
        if lines:
            user.replace(Position(0, 0), Position(0, 0), "#")
        return True

    answer = await user.session._edits.edit(user.uri, AREA, hear)
    assert (answer.lines, answer.note) == (None, "the text was changed meanwhile")


async def test_the_newest_edit_ends_the_one_before(typist: Write) -> None:
    """And a user who cancels gets none."""
    user = typist(says(ANSWER))
    first, second = await asyncio.gather(edit(user), edit(user))
    assert (first.note, second.lines) == ("another edit was asked for", NEW)
    cancelled = await user.session._edits.edit(user.uri, AREA, lambda _: False)
    assert cancelled.note == "it was cancelled"


@pytest.mark.parametrize("call", ["measure", "warm", "stream"])
async def test_a_cancelled_edit_stops_before_its_next_step(typist: Write, call: str) -> None:
    """No text is asked for behind a prompt, and no more while it is written."""
    backend = says(ANSWER)
    backend.state = dataclasses.replace(backend.state, prefill_per_s=100)  # a step is 25 tokens
    user = typist(backend)
    goes_on = True
    backend.hold(call)
    work = asyncio.create_task(user.session._edits.edit(user.uri, AREA, lambda _: goes_on))
    await backend.until_held()
    goes_on = False
    n_steps = len(backend.warmed)
    backend.release()
    answer = await work
    assert (answer.lines, answer.note) == (None, "it was cancelled")
    assert len(backend.warmed) == n_steps
    assert len(backend.seen) == (call == "stream")
    assert answer.cost.predicted_n == 0


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("begun", ["edit", "prepare"])
async def test_what_else_begins_ends_no_edit(typist: Write, begun: str, elsewhere: bool) -> None:
    """The prompt for an instruction that opens, and an edit of another document."""
    backend = says(ANSWER)
    user = typist(backend)
    there = Typist(user.session, CODE, uri=f"{ROOT}/app/other.py") if elsewhere else user
    backend.hold("stream")
    first = asyncio.create_task(edit(user))
    await backend.until_held()
    begin: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
        "edit": lambda: edit(there),
        "prepare": lambda: user.session._edits.prepare(there.uri, AREA.start, AREA.end),
    }
    second = asyncio.create_task(begin[begun]())
    await asyncio.sleep(0)
    backend.release()
    ended = begun == "edit" and not elsewhere
    assert (await first).note == ("another edit was asked for" if ended else "")
    await second


async def test_a_further_instruction_goes_on_with_the_last_answer(typist: Write) -> None:
    """The turns before stay as they were, so only the new one is evaluated; again is another sample."""
    backend = says(ANSWER)
    user = typist(backend)
    await edit(user)
    await edit(user, AREA._replace(again=True))
    await edit(user, AREA._replace(instruction="shorter", more=True))
    first, again, more = (request.prompt for request in backend.seen)
    assert (first.turns, [request.sample for request in backend.seen]) == (again.turns, [0, 1, 0])
    assert more.turns[0] == first.turns[0]
    assert more.turns[1].endswith(ANSWER)
    assert more.turns[2].endswith("shorter")


async def test_a_suggestion_comes_while_an_answer_is_written(typist: Write) -> None:
    """It waits for one token of the answer, not for all of it."""
    backend = says("\n".join(["y = 1"] * 20 + ["```"]))
    user = typist(backend)
    order = list[str]()

    async def suggest() -> None:
        await user.session.complete(user.uri, Position(8, 20), invoked=True)
        order.append("suggestion")

    tasks: list[asyncio.Task[None]] = []

    def hear(lines: Sequence[str]) -> bool:
        if lines and not tasks:
            tasks.append(asyncio.create_task(suggest()))
        return True

    answer = await user.session._edits.edit(user.uri, AREA, hear)
    order.append("edit")
    await asyncio.gather(*tasks)
    assert order == ["suggestion", "edit"]
    assert answer.lines == ("y = 1",) * 20


# -- what it costs -------------------------------------------------------------------------------


FILE = "\n\n".join(f"def area_{n}(w, h):\n    return w * h * {n}" for n in range(40)) + "\n"


async def test_an_instruction_costs_its_own_turn_and_the_next_key_what_was_typed(
    open_session: OpenSession,
) -> None:
    """The file is evaluated once for suggestions and instructions, and both find theirs as they left it."""
    user = Typist(open_session(backend=says(ANSWER)), FILE)
    user.type("\n\ndef total(w, h):\n    return ")
    await user.ask(invoked=True)
    await user.session.wait_idle()
    size = await _tokens(user)
    assert size > 600, "the file must be worth keeping"
    last = len(user.document.lines) - 1
    asked = Instruction(Position(last - 1, 0), Position(last, 99), "add a comment")
    above = asked._replace(start=Position(last - 5, 0), end=Position(last - 3, 0))
    assert (await edit(user, asked)).cost.prompt_n < 150
    more = await edit(user, asked._replace(instruction="shorter", more=True))
    assert more.cost.prompt_n < 70
    assert (await edit(user, above)).cost.prompt_n < 100
    await user.session._edits.prepare(user.uri, asked.start, asked.end)
    assert (await edit(user, asked)).cost.prompt_n < 24
    assert await user.cost("w", invoked=True) <= 8


async def _tokens(user: Typist) -> int:
    """Return how long the prompt for a suggestion is."""
    return sum(part.tokens or 0 for part in (await user.session.report(user.uri)).segments)


async def test_an_instruction_that_was_begun_and_left_changes_nothing_of_the_last_one(
    typist: Write,
) -> None:
    """Another try is one at what was asked."""
    backend = says(ANSWER)
    user = typist(backend)
    await edit(user)
    await user.session._edits.prepare(user.uri, AREA.start, AREA.end)
    await edit(user, AREA._replace(again=True))
    request = backend.seen[-1]
    assert request.prompt.turns[0].endswith("Instruction:\nadd a comment")
    assert request.sample == 1
