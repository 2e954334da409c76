"""Small contexts: the ring gives way first, then the window; a completion comes in any case."""

from __future__ import annotations

import dataclasses
from contextlib import aclosing

import pytest

from fim_lsp.documents import Position, TextPlace, open_document
from fim_lsp.events import Opened
from fim_lsp.prompt.frame import NOWHERE, Frame, Header
from fim_lsp.prompt.window import Window
from fim_lsp.session.answering import completion as completion_module
from fim_lsp.session.answering.completion import Completion
from fim_lsp.session.answering.generation import Generation
from fim_lsp.session.answering.life import StreamState
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.session import Session
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import Config
from fim_lsp.suggest.reasons import Outcome
from fim_lsp.suggest.request import request_at
from fim_lsp.tasks import Newest
from server_bridge.protocol import Chunk, Prompt
from tests.asked import model_of
from tests.fake_backend import FakeBackend
from tests.real_code import LONG, read_lines
from tests.session.conftest import OpenSession
from tests.typist import BRIEF, ROOT, Typist, wait_judged

PYTHON = read_lines(LONG, 0, 400)
# A token a character, where text is estimated to have a third of one.
CHINESE = "".join(
    f"# 第{n}行：计算订单的总价，包括运费和税。\n价格{n} = 数量{n} * 单价{n}\n" for n in range(150)
)
EMOJI = "labels = {\n" + "".join(f"    '{n}': '🎉🦀🐍👩‍💻',\n" for n in range(300)) + "}\n"
TEXTS = {"python": PYTHON, "chinese": CHINESE, "emoji": EMOJI}


@pytest.mark.parametrize("n_ctx", [512, 1024])
@pytest.mark.parametrize("text", TEXTS)
async def test_a_small_context_is_never_too_small(n_ctx: int, text: str, caplog, short_rests: None):
    """Whatever the text weighs, typing into it gets answers, and no prompt is longer than the context."""
    async with aclosing(Session(BRIEF, lambda _: FakeBackend(n_ctx=n_ctx))) as session:
        Typist(session, CHINESE, f"{ROOT}/app/other.py")
        typist = Typist(session, TEXTS[text] + "\n")
        for key in "def total(items):\n    return su":
            typist.type(key)
            await typist.ask()
        await session.wait_idle()
        await typist.ask(invoked=True)
        await session.wait_idle()
        doc = session._open.by_uri[typist.uri]
        prompt = session._framing.next_prompt(doc, TextPlace(typist.document, typist.cursor))
        assert "def total(items)" in prompt.prefix + prompt.middle
        measure = await model_of(session).measure(prompt)
        assert measure.total <= n_ctx
        assert not [record for record in caplog.records if record.levelname == "ERROR"]
        outcomes = {answer.outcome for answer in session.answers}
        assert Outcome.BACKEND in outcomes
        assert not outcomes & {Outcome.NO_MODEL, Outcome.FAILED, Outcome.TOO_LATE}


async def test_a_completion_that_fills_the_context_is_kept(open_session: OpenSession, monkeypatch):
    """Where the context ends in the middle of a suggestion, its text so far is the suggestion."""
    backend = FakeBackend(lambda *_: "x\n" * 200, n_ctx=512)
    empty = Prompt("shop", (), "a.py", "", "", "")
    room = 512 - (await backend.measure(empty)).total - 20
    prompt = dataclasses.replace(empty, middle="x\n" * (room // 2))
    document = open_document("file:///a.py", "python", 1, prompt.middle)
    session = open_session(Config(), backend)
    session.handle(Opened(document.uri, "python", 1, prompt.middle))
    await wait_judged(session)
    place = Position(len(document.lines) - 1, 0)
    request = request_at(document, place, "a.py", session.config, backend.state)
    completion = Completion(request, Window(0, 0, "", ""), prompt.middle, prompt, 128)
    generation = Generation(completion, session._open.by_uri[document.uri])
    monkeypatch.setattr(completion_module, "enough", lambda *_args, **_names: False)
    generation.join(Newest[str]().claim(""))
    await session._dispatcher._decoding._generate(generation)
    assert completion.state is StreamState.SHORT
    assert 8 <= len(completion.tokens) <= 24


WIDE = Frame(Header("shop", tuple(Chunk(f"{n}.py", "x\n") for n in range(5)), "a.py"), NOWHERE)
BARE = Frame(Header("shop", (), "a.py"), NOWHERE)


def test_the_ring_gives_way_first() -> None:
    """Half of the chunks go, and half of the rest; only then the window is made smaller."""
    documents = OpenDocuments(Workspaces(), Stats(), Quietness(lambda: 0.0))
    ladder = documents.open("file:///a.py", "python", 1, "").view.ladder
    ladder.install(BARE)
    for n_chunks in (5, 2, 1):
        chunks = WIDE.header.chunks[:n_chunks]
        long = dataclasses.replace(WIDE, header=Header("shop", chunks, "a.py"))
        ladder.prefer(long)
        assert ladder.shrink(long)
        assert (ladder.max_chunks, ladder.scale) == (n_chunks // 2, 1.0)
        assert ladder.current == BARE
        assert ladder.next is None
    assert [ladder.shrink(BARE) for _ in range(4)] == [True, True, True, False]
    assert ladder.current is None
