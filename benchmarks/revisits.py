"""
What prompts that are set aside are worth: the tokens that are evaluated, by how many MiB they may take.

    python -m benchmarks.revisits --documents 200        # the story of benchmarks.memory, and a recorded session

A session plays each history in virtual time, on a backend without a model that keeps what the product's own policy of
slots and its mirror (`server_bridge.llama`) say, once for each limit: the session takes what is kept into account. The
figures are the same on every machine. 12 KiB a token, as Qwen2.5-Coder 0.5B has.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import arguments
from benchmarks.memory import documents, visit_all
from benchmarks.progress import tell
from benchmarks.recorded import log
from benchmarks.tokens_per_key import SPEED, Skipping
from fim_lsp import events
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Edit, Position, after
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from server_bridge.llama.checkpoints import Kind, ModelMemory
from server_bridge.llama.mirror import Mirror
from server_bridge.llama.slots import ASIDE, ExclusiveSlots
from server_bridge.protocol import Measure, Prompt, Reply, Request, Warmed
from tests.fake_backend import FakeBackend, Ids

TOKEN_BYTES = 12 << 10  # of keys and values in Qwen2.5-Coder 0.5B
LIMITS = (0, 128, 256, 512, 1024, 3072)  # MiB
N_CTX = 16384
N_SLOTS = 2
FOREIGN = array("i", [-2]).tobytes()
PAUSE_MS = 1000.0


class Kept:
    """The slots of a server, and what it sets aside in *mib*; counts the tokens that it evaluates."""

    def __init__(self, mib: int) -> None:
        memory = ModelMemory(
            Kind.PLAIN, token_bytes=TOKEN_BYTES, aside_bytes=mib << 20, is_told=True
        )
        self.mirror = Mirror(N_SLOTS, memory=memory)
        self.slots = ExclusiveSlots(self.mirror, N_SLOTS)
        self.n_evaluated = 0

    def evaluate(self, document: str, prompt: bytes) -> None:
        """Evaluate *prompt* as `Cache.prepare` and `SlotClient.decode` have it done."""
        slot, clear = self.slots.choose(document, prompt)
        if clear:
            self._run(FOREIGN, slot)
            slot, _ = self.slots.choose(document, prompt)
        self._run(prompt, slot)
        assert slot is not None
        self.slots.note_use(document, slot)

    @property
    def n_tokens(self) -> int:
        """The tokens in slots and set aside."""
        mirror = self.mirror
        return sum(content.n for content in (*mirror.held.values(), *mirror._saved))  # noqa: SLF001

    def _run(self, prompt: bytes, slot: int | None) -> None:
        assert slot is not None
        n_reused = self.mirror.expect_reused(prompt, slot)
        self.n_evaluated += len(prompt) // 4 - n_reused
        self.mirror.settle(slot, prompt, prompt, named=True, n_reused=n_reused)


class Counting(FakeBackend):
    """A backend that keeps what a server does that sets *mib* aside."""

    def __init__(self, mib: int) -> None:
        super().__init__(n_ctx=N_CTX)
        self.state = replace(self.state, **SPEED)
        self.kept = Kept(mib)
        self._document = ""

    async def measure(self, prompt: Prompt) -> Measure:
        self._look_at(prompt)
        return await super().measure(prompt)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        self._look_at(prompt)
        return await super().warm(prompt, step)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        self._look_at(request.prompt)
        async with aclosing(super().stream(request)) as replies:
            async for reply in replies:
                yield reply

    def _look_at(self, prompt: Prompt) -> None:
        """Note whose prompt is counted next, as `LlamaServer` names documents."""
        self._document = f"{prompt.path}{chr(10) * bool(prompt.turns)}{ASIDE * prompt.aside}"

    def _held_of(self, ids: Ids) -> int:
        return self.kept.slots.reusable(self._document, packed(ids), ahead=True)

    def _evaluate(self, ids: Ids, slots: list[Ids]) -> int:
        held = min(self._held_of(ids), len(ids) - 1)
        self.kept.evaluate(self._document, packed(ids))
        slots.append(ids)
        return held


def packed(ids: Ids) -> bytes:
    """Return ids as the mirror has them."""
    return array("i", [n & 0x7FFFFFFF for n in ids]).tobytes()


async def story(session: Session, folder: Path, n: int) -> None:
    """Play the story of `benchmarks.memory`."""
    await visit_all(session, folder, documents(n))


async def recorded(session: Session, folder: Path, _n: int) -> None:
    """Play a developer's recorded session; each change asks, and a pause leaves time to work ahead."""
    texts = dict[str, str]()
    versions = dict[str, int]()
    entries = [*log.entries(log.read(log.SESSION))]
    pairs = zip(entries, [*entries[1:], entries[-1]], strict=True)
    for entry, coming in tell(pairs, len(entries), lambda _: "of what was recorded"):
        uri = (folder / entry.path).as_uri()
        match entry:
            case log.Opened(_, path, text):
                if path in texts:
                    session.handle(events.Closed(uri))
                texts[path] = text
                versions[path] = 1
                file = folder / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
                session.handle(events.Opened(uri, language_of(path) or "plaintext", 1, text))
            case log.Focused():
                session.handle(events.Focused(uri))
            case log.Moved(_, path, offset):
                session.handle(events.CursorMoved(uri, place(texts[path], offset)))
            case log.Changed(_, path, edits):
                for start, end, new in edits:  # the last one stands first
                    text = texts[path]
                    versions[path] += 1
                    edit = Edit(place(text, start), place(text, end), new)
                    session.handle(events.Changed(uri, versions[path], (edit,)))
                    texts[path] = text[:start] + new + text[end:]
                start, _, new = edits[-1]
                at = place(texts[path], start + len(new))
                await session.complete(uri, at, invoked=False)
        if coming.ms - entry.ms > PAUSE_MS:
            await session.wait_idle()


def place(text: str, offset: int) -> Position:
    """Return where *offset* is in *text*."""
    return after(Position(0, 0), text[:offset])


HISTORIES = {"story": story, "recorded": recorded}


async def count(name: str, n: int, mib: int) -> tuple[int, int]:
    """Return the tokens that are evaluated in a history where *mib* are set aside, and the MiB that are kept."""
    backend = Counting(mib)
    config = make_config({"completion.maxTokens": 4, "completion.debounceMs": 0})
    session = Session(config, lambda _: backend)
    with TemporaryDirectory() as folder:
        await HISTORIES[name](session, Path(folder), n)
    await session.aclose()
    return backend.kept.n_evaluated, backend.kept.n_tokens * TOKEN_BYTES >> 20


def main() -> None:
    """Print a table for each history."""
    parser = arguments.parser("benchmarks.revisits", __doc__)
    add = parser.add_argument
    add("--documents", type=int, default=200, help="in the story")
    add("--histories", type=arguments.names(HISTORIES), default=[*HISTORIES])
    add("--limits", type=lambda text: [*map(int, text.split(","))], default=LIMITS, metavar="MIB,…")
    options = parser.parse_args()
    for name in options.histories:
        for mib in options.limits:
            with asyncio.Runner(loop_factory=Skipping) as runner:
                n_evaluated, kept = runner.run(count(name, options.documents, mib))
            print(f"{name}, {mib} MiB aside: {n_evaluated} tokens, {kept} MiB kept", flush=True)


if __name__ == "__main__":
    main()
