"""No reader of text that others wrote takes more than linear time and memory, whatever it is given."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from struct import pack

import pytest

from fim_lsp.context import ignore_rules
from fim_lsp.context.grammars import find_borders
from fim_lsp.documents import Document, Position
from fim_lsp.instruct import answer as answered
from fim_lsp.instruct import blocks, dialogue
from fim_lsp.next_edit import formats
from fim_lsp.next_edit.window import Ask, NamedEdit
from fim_lsp.regular_files import Wrong
from fim_lsp.settings.config import PrivacyConfig
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.order import polish
from fim_lsp.workspace import git_config, git_files, ignore_files
from server_bridge.fim import chat, layout, reading
from server_bridge.fim.tokens import FAMILIES
from server_bridge.http import api_key, events, responses
from server_bridge.llama import answers, completion, identity, mirror
from server_bridge.openai import completion as openai_completion
from server_bridge.openai import lengths, models, stream
from server_bridge.process import sizing
from server_bridge.protocol import BackendError, Prompt, Request, Token
from tests.fuzz import FUZZ

pytestmark = pytest.mark.promise("bounded-work")

SIZES = (1_000, 10_000, 100_000, *([1_000_000] if FUZZ > 1 else []))  # scripts/test-security
PEAK = 100_000 if FUZZ > 1 else 20_000  # characters whose memory is measured: that takes longest
MOST_TIMES = 30.0  # more than ten times the text may cost; a square of it costs a hundred times
EVERY = 1 if FUZZ > 1 else 2  # of the texts of each reader
LITTLE_S = 0.001  # less is noise
BYTES = 100  # of memory for one of text: a list of one-character lines has 60
SOME_BYTES = 1 << 20
ANSWER_CHARS = 17_408  # the longest answer of 128 tokens that is taken

Reader = Callable[[str], object]

MANY = 1 << 40
GGUF = pack("<4sIQQ", b"GGUF", 3, MANY, MANY)


def latin(data: bytes) -> str:
    return data.decode("latin-1")


HEADER = latin(GGUF)
FIELD = latin(pack("<QcII", 1, b"a", 4, 1))
NESTED = latin(pack("<IQ", 9, 1))
BEGINS = {
    "model's fields": GGUF,
    "model's arrays": GGUF + pack("<QcI", 1, b"a", 9),
}


class Response:
    """An answer of a server that comes in pieces of *width* bytes."""

    status_code = 200

    def __init__(self, body: bytes, width: int, kind: str) -> None:
        self.headers = {"content-type": kind}
        self._pieces = [body[at : at + width] for at in range(0, len(body), width)]

    async def aiter_raw(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            await asyncio.sleep(0)  # what comes over a wire is waited for
            yield piece


def streamed(text: str, width: int = 16) -> None:
    async def read() -> None:
        response = Response(text.encode(), width, "text/event-stream")
        async for _ in events.events_in("http://x", response, 60.0):
            pass

    asyncio.run(read())


def body(text: str) -> None:
    asyncio.run(responses.body_of("http://x", Response(text.encode(), 16, "application/json")))
    responses.object_in("http://x", 200, text.encode())


def props(text: str) -> None:
    identity.identity({"build_info": text, "model_path": text, "total_slots": 1}, "http://x")


def model_list(text: str) -> None:
    listed = [models._read_entry({"id": text})] * 8
    models._choose_entry(listed, "", "x")
    models._family(text, "")
    models.short_name(text)


def growing(text: str) -> None:
    """Read an answer that comes in many pieces, as those who ask for one do."""
    request = Request(Prompt("", (), "", "", ""), 100, stop=("\n\n\n", "stop"))
    pieces = openai_completion.GrowingReplies(request, "", 1000)

    async def events() -> AsyncIterator[responses.Object]:
        for at in range(0, len(text), 16):
            await asyncio.sleep(0)
            yield {"choices": [{"text": text[at : at + 16]}]}

    async def read() -> None:
        async for answer in stream.read_answer(events(), "x", request.n_predict):
            openai_completion.agrees(answer, "stop")
            pieces.reply(answer)

    asyncio.run(read())


def refusal(text: str) -> None:
    lengths.is_length(text)
    lengths.find_limit(text, 1, 1)


def spelled(text: str) -> None:
    n = len(text) // 8  # JSON takes as many bytes for one
    layout.find_spelling(range(n), dict.fromkeys(range(n), b"a"), text)
    tokens = tuple(Token(number % 7, b"a") for number in range(n))
    completion.rate_tokens(tokens, [answers.Entry(number % 5) for number in range(n)])


def ids(text: str) -> None:
    packed = text.encode()[: len(text) // 4 * 4]
    mirror.count_moved(packed, packed[4:])
    mirror.count_moved(b"\0" + packed, b"\1" * 128 + packed)


def ask() -> Ask:
    lines = ("def f():", "    return 1")
    return Ask(
        path="a.py", shown=lines, line=0, row=0, column=0, then=lines, now=lines,
        above=(), edits=(), newest=NamedEdit("a.py", 0, ("x",), ("y",)),
    )  # fmt: skip


def chosen() -> dialogue.Selection:
    document = Document("file:///a.py", "python", 1, ("f()\n",))
    return dialogue.select_lines(document, Position(0, 0), Position(0, 3))


def placed(text: str) -> None:
    document = Document("file:///a.py", "python", 1, ("f()\n",))
    asked = dialogue.Dialogue(Prompt("", (), "", "", ""), range(1), chosen(), ("",))
    answered.read(f"```\n{text}", asked, document, chosen())


def read_answer(text: str) -> None:
    for shown in (("f()",), ("```", "a", "```")):
        blocks.find_block(text, shown, "markdown", ended=True)


def ignored(text: str) -> None:
    [*ignore_rules.patterns(text.encode(), fold=True)]


def fixed(text: str) -> None:
    dialogue.fix([text])


def suggested(text: str) -> None:
    polish(Candidate(text[:ANSWER_CHARS], whole=False), Cursor("go", before="f("))


READERS: dict[str, tuple[Reader, tuple[str, ...]]] = {
    "events of a stream": (
        streamed,
        ("a", "\n", "\r", "id\n", "data: {}\n", "data: [", "data: {\n", "data: x\n", "data: {\n\n"),
    ),
    "a body": (body, ("[", '{"a":', " ", '"\\u0000', "1")),
    "props": (props, ("/", "\\", "a")),
    "models of a server": (model_list, ("qwen", "-", "/")),
    "an answer in pieces": (growing, ("a", "\n", "\ufffd", "sto")),
    "a refusal": (refusal, ("context length ", "1", "1 tokens ", "limit", "exceed")),
    "a chat's answer": (
        lambda text: openai_completion.behind(f"```\n{text}", "  x"), ("`", " ", "\n  x", "\n`"),
    ),
    "a chat's block": (lambda text: openai_completion.behind(text, "x"), ("```\n", "`", " ", "\n")),
    "tokens": (spelled, ("a",)),
    "ids": (ids, ("a", "ab", "abcdefgh")),
    "a template": (
        lambda text: chat.parse_turn(text, text),
        (chat.QUESTION, chat.ANSWER, "<think>"),
    ),
    "what looks special": (
        lambda text: [layout.neutral(text, family) for family in (FAMILIES[0], *FAMILIES[-2:])],
        ("<", "<|a|>", "[", "<[/INST]>", "<|", ">>", "<fim_", "[[/INST]", "<<PRE>"),
    ),
    "a prompt of another program": (
        reading.read,
        ("<|fim_prefix|><|fim_suffix|><|fim_middle|>", "<|file_sep|>a\n", "<fim_prefix>", " <PRE>"),
    ),
    "ignore rules": (ignored, ("*", "**/", "[", "[a-", "\\", "a \\ ", "!a/\n", "[[:alpha:]")),
    "git's configuration": (
        lambda text: [*git_config.parse(text.encode())],
        ("[a]\nb=c\n", '"', "[", "a=\\\n", '[a "', 'a="b" ', ";\n", "=", " "),
    ),
    "an instructed edit": (placed, ("```\n", "\n", "```a\n\n", "a\n", "` ", " ")),
    "an answer with blocks": (
        read_answer,
        ("```\n", "`", " ", "\n", "```a\n", "<think>", "a\n<think></think>", "</think>\n", "~~~\n"),
    ),
    "an answer of sweep": (lambda text: formats.sweep_answer(ask(), text),
                           ("a", "\n", "d e", "<|")),
    "an answer of zeta": (lambda text: formats.zeta_answer(ask(), text), ("a", "\n", "<")),
    "an answer with markers": (
        lambda text: formats.answer_with_markers(ask(), text), ("<|marker_1|>", "1", "<|marker_"),
    ),
    "a suggestion": (suggested, ("\n    ", "\n", "\\\n", "(")),
    "what stands right of a suggestion": (
        lambda text: polish(Candidate("a)"), Cursor("go", before="f(", after=text[:100])), (")",),
    ),
    "definitions on one line": (partial(find_borders, "python"), ("def f(): pass;",)),
    "diagnostics": (fixed, ("'a' ", "'", "abc ", "a\n", "def ", "]([")),
}  # fmt: skip


def cost(reader: Reader, text: str, clock: Callable[[], float], *, runs: int = 1) -> float:
    """Return the processor seconds that *text* takes, without those for garbage of other tests."""
    times = []
    gc.disable()
    try:
        for _ in range(runs):
            start = clock()
            run(reader, text)
            times.append(clock() - start)
    finally:
        gc.enable()
    return min(times)


def run(reader: Reader, text: str) -> None:
    with contextlib.suppress(BackendError, ValueError, AssertionError):
        reader(text)


@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "unit"),
    [(name, unit) for name, (_, units) in READERS.items() for unit in units[::EVERY]],
)
def test_time_and_memory_are_linear(name: str, unit: str) -> None:
    """Ten times the text costs about ten times as much, or next to nothing."""
    check(READERS[name][0], unit)


FILES: dict[str, tuple[Callable[[Path], object], tuple[str, ...]]] = {
    "a model's fields": (sizing.read_facts, (HEADER, FIELD)),
    "a model's arrays": (sizing.read_facts, (NESTED,)),
    "a key": (lambda path: asyncio.run(api_key.Key(file=str(path))()), ("a", "\n")),
    "a key of a command": (
        lambda path: asyncio.run(api_key.Key(command=f"cat {path}")()), ("a", "\n"),
    ),
    "a branch": (lambda path: git_files._head(path.parent), ("a", "\n")),
    "a folder's rules": (
        lambda path: ignore_files.read_folder(path.parent, PrivacyConfig()), ("a", "*\n"),
    ),
}  # fmt: skip


@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "unit"), [(name, unit) for name, (_, units) in FILES.items() for unit in units]
)
def test_files_are_read_in_linear_time(name: str, unit: str, tmp_path: Path) -> None:
    """So are files that were downloaded, or came with a repository."""
    path = tmp_path / {"a branch": "HEAD", "a folder's rules": ".gitignore"}.get(name, "file")

    def read(text: str) -> None:
        begin = next((BEGINS[key] for key in BEGINS if key in name), b"")
        path.write_bytes(begin + text.encode("latin-1"))
        with contextlib.suppress(Wrong):  # of more than rules may have, and read no further
            FILES[name][0](path)

    check(read, unit, time.process_time)  # some are read in a thread


def check(reader: Reader, unit: str, clock: Callable[[], float] = time.thread_time) -> None:
    before = LITTLE_S
    for size in SIZES:
        text = unit * (size // len(unit))
        seconds = cost(reader, text, clock)
        if seconds > MOST_TIMES * before:  # caches and clocks of a busy machine are slower, too
            seconds = cost(reader, text, clock, runs=3 if size > SIZES[0] else 10)
        assert seconds <= MOST_TIMES * before, (size, seconds, before)
        before = max(LITTLE_S, seconds)
    assert peak(reader, unit * (PEAK // len(unit))) <= BYTES * PEAK + SOME_BYTES


def peak(reader: Reader, text: str) -> int:
    """Return the most bytes of memory that are in use at a time."""
    tracemalloc.start()
    try:
        run(reader, text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
