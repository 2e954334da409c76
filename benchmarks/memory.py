"""
The memory of the embedded engine, and the tokens that it evaluates for that, beside another checkout.

    git worktree add /tmp/before f7b65c4e
    python -m benchmarks.memory --beside /tmp/before                   # about an hour, on two cores
    python -m benchmarks.memory --beside /tmp/before --documents 40

*start*: the engine with the model, before the first prompt. *visits*: forty documents behind one ring, each asked about
once, and then each again. *story*: files of Python's library are opened, typed in and come back to, as a developer did,
with rests that are as long as the background needs. Memory is what smaps counts as the engine's own share (PSS) without
the model's file, which is page cache. Both checkouts work at the same time.

The story runs on models of the same vocabulary with a few narrow layers, whose keys and values are as long as those of
one of the model's, on a machine that counts as having as much less memory, and room for what is kept. So the tokens, and
which of them are kept, are the model's, in a hundredth of its time. The visits are made on both models: what the narrow
one takes after its first prompts is keys and values, so the model should take that as often as it has layers for one of
the narrow one. In the story a part of what it takes is the grammars' of half words, which a vocabulary makes, not a layer:
so it is played with two numbers of layers, and what each layer adds is the difference.
"""

# ruff: noqa: PLC0415 (which checkout the imports are of is known when it runs)

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parents[1]
SEED = 76
LINES = range(40, 401)  # of a document
NOT_READ = {"site-packages", "test", "tests", "idlelib", "lib2to3"}
N_KEYS = 6  # typed at a visit, of one line
# In the recorded session of `benchmarks.recorded` 25 of 37 visits come back to a file; how many others were edited since.
RETURNS = 25 / 37
FAR = {1: 17, 2: 2, 3: 3, 4: 1, 5: 2}
RESTS = 0.5  # of the visits
ELSEWHERE = 0.3  # of the returns are to another line
READY_S = 300.0
N_LAYERS = (2, 4)  # of the narrow models
N_CHARS = 600  # of a document that is visited
N_FIRST = 4  # visits after which an engine only takes more for keys and values
EVERY = 10  # documents between two lines that say how far it is
MIB = 1 << 20
MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+\s*(.*)")


class Visit(NamedTuple):
    """The user types *keys* at the end of a line of the document number *n*, and perhaps rests."""

    n: int
    line: int
    keys: str
    rests: bool


def documents(n: int) -> list[str]:
    """Return the texts of *n* files of Python's library, in an order that is drawn."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = [path for path in sorted(root.rglob("*.py")) if not NOT_READ & {*path.parts}]
    texts = [path.read_text("utf-8", "replace") for path in paths]
    fitting = [text for text in texts if text.count("\n") in LINES]
    return random.Random(SEED).sample(fitting, min(n, len(fitting)))


def story(texts: list[str]) -> Iterator[Visit]:
    """Yield the visits: each document, and between them returns as far back as in the recorded session."""
    rng = random.Random(SEED)
    lines_at = dict[int, int]()
    by_use = list[int]()
    while len(by_use) < len(texts):
        n = len(by_use)
        if n > max(FAR) and rng.random() < RETURNS:
            [far] = rng.choices([*FAR], [*FAR.values()])
            n = by_use.pop(-1 - far)
        by_use.append(n)
        lines = texts[n].splitlines()
        if n not in lines_at or rng.random() < ELSEWHERE:
            lines_at[n] = rng.randrange(len(lines))
        keys = "\n" + rng.choice([line for line in lines if line.strip()])[: N_KEYS - 1]
        yield Visit(n, lines_at[n], keys, rng.random() < RESTS)
        lines_at[n] += 1


def private_mib(pid: int, model: str) -> int:
    """Return the MiB of a process but for the pages of the file *model*."""
    kib = 0
    is_model = False
    for line in Path(f"/proc/{pid}/smaps").read_text("utf-8").splitlines():
        if mapping := MAPPING.match(line):
            is_model = mapping[1] == model
        elif line.startswith(("Pss:", "SwapPss:")) and not is_model:
            kib += int(line.split()[1])
    return kib >> 10


class Asked(NamedTuple):
    """
    The *work* of a process: a *model* whose layers are 1 of *scale*, on a machine of as much less memory, through *n*
    documents. Prompts set aside take *aside_mib* of a whole model's at most, unless that is 0.
    """

    work: str
    model: str
    n: int
    scale: int = 1
    aside_mib: int = 0


@asynccontextmanager
async def started(asked: Asked) -> Any:
    """The product's engine, until the block ends."""
    from server_bridge.process import sizing
    from server_bridge.process.embedded import Embedded
    from server_bridge.process.programs import EmbeddedSettings

    memory = sizing.physical() // asked.scale
    sizing.physical = lambda: memory
    if hasattr(sizing, "ROOM"):
        sizing.ROOM //= asked.scale
    if asked.aside_mib:
        sizing.set_aside = lambda *_: asked.aside_mib * MIB // asked.scale
    backend = Embedded(EmbeddedSettings(model=asked.model))
    try:
        yield backend
    finally:
        await backend.aclose()


async def start(asked: Asked) -> dict[str, int]:
    """Return the memory of an engine that has seen no prompt."""
    async with started(asked) as backend:
        await backend.connect()
        return {"MiB": private_mib(backend.pid, asked.model)}


async def play(asked: Asked) -> dict[str, int]:
    """Return the memory after the story, and the tokens that it took."""
    from fim_lsp.session.session import Session
    from fim_lsp.settings.merge import make_config

    config = make_config({"completion.maxTokens": 4, "completion.debounceMs": 0})
    async with started(asked) as backend:

        def tell(n: int) -> None:
            tokens = sum(session.stats()["tokens"][of] for of in ("evaluated", "background"))
            kept = private_mib(backend.pid, asked.model)
            print(f"{n} documents: {tokens} tokens, {kept} MiB", file=sys.stderr, flush=True)

        session: Any = Session(config, lambda _: backend)
        with TemporaryDirectory() as folder:
            await visit_all(session, Path(folder), documents(asked.n), tell)
        stats = session.stats()
        kept = private_mib(backend.pid, asked.model)
        await session.aclose()
    foreground = stats["tokens"]["evaluated"]
    tokens = foreground + stats["tokens"]["background"]
    return {"tokens": tokens, "foreground": foreground, "narrow MiB": kept, **stats["mirror"]}


async def visit_all(
    session: Any, folder: Path, texts: list[str], tell: Callable[[int], None] = lambda _: None
) -> None:
    """Open *texts* in *folder*, and type in them as the story says; *tell* now and then how many."""
    from fim_lsp import events
    from fim_lsp.documents import Edit, Position

    versions = dict[str, int]()
    n_new = 0
    for n, line, keys, rests in story(texts):
        path = folder / f"module_{n}.py"
        uri = path.as_uri()
        if uri not in versions:
            path.write_text(texts[n], "utf-8")
            session.handle(events.Opened(uri, "python", 0, texts[n]))
            versions[uri] = 0
            n_new += 1
            if n_new % EVERY == 0:
                tell(n_new)
        session.handle(events.Focused(uri))
        if not await session.connection.wait_ready(READY_S) and not session.connection.is_ready:
            raise SystemExit(f"the engine does not start: {session.connection.state.message}")
        at = Position(line, len(texts[n].splitlines()[line]) if versions[uri] == 0 else 0)
        for key in keys:
            versions[uri] += 1
            session.handle(events.Changed(uri, versions[uri], (Edit(at, at, key),)))
            at = Position(at.line + 1, 0) if key == "\n" else Position(at.line, at.column + 1)
            session.handle(events.CursorMoved(uri, at))
            await session.complete(uri, at, invoked=False)
        if rests:
            await session.wait_idle()


async def visit(asked: Asked) -> dict[str, int]:
    """
    Return the memory behind the first prompts and behind all, and the tokens that are evaluated at the second visit of
    each document.
    """
    from server_bridge.protocol import Chunk, Prompt, Request

    texts = documents(asked.n + 1)
    ring = (Chunk("ring.py", texts.pop()),)
    found = dict[str, int]()
    async with started(asked) as backend:
        server = await backend.connect()
        for _ in range(2):
            found["tokens"] = 0
            for n, text in enumerate(texts):
                prompt = Prompt("repo", ring, f"module_{n}.py", text[:N_CHARS], "\n")
                reply = await server.complete(Request(prompt, 1))
                found["tokens"] += reply.timings.prompt_n
                if n == N_FIRST:
                    found.setdefault("MiB at first", private_mib(backend.pid, asked.model))
        return {**found, "MiB": private_mib(backend.pid, asked.model)}


WORK = {"start": start, "story": play, "visits": visit}


class Narrow(NamedTuple):
    """The file of a model of *n_layers*, each as long in keys and values as one of *scale* layers of another model."""

    path: Path
    n_layers: int
    scale: int


def write_narrow(model: Path, folder: Path, n_layers: int) -> Narrow:
    """Write a model of *n_layers* with the vocabulary of *model*, and keys and values as long as in its layers."""
    import gguf

    from tests.models import Shape, Vocabulary, write_random

    known = {name: field.contents() for name, field in gguf.GGUFReader(model).fields.items()}
    n_heads = known["qwen2.attention.head_count"]
    n_kv = known["qwen2.attention.head_count_kv"]
    width = known["qwen2.embedding_length"] // n_heads * n_kv
    shape = Shape(n_layers, width, n_kv, n_kv, width)
    words = Vocabulary(
        known["tokenizer.ggml.tokens"], known["tokenizer.ggml.token_type"],
        known["tokenizer.ggml.bos_token_id"], known["tokenizer.ggml.eos_token_id"],
        merges=known["tokenizer.ggml.merges"],
    )  # fmt: skip
    n_ctx = known["qwen2.context_length"]
    rope = known["qwen2.rope.freq_base"]
    path = folder / f"narrow-{n_layers}.gguf"
    write_random(path, words, shape, n_ctx=n_ctx, seed=SEED, rope=rope)
    return Narrow(path, n_layers, known["qwen2.block_count"] // n_layers)


def run(root: Path, asked: Asked) -> dict[str, int]:
    """Return what the checkout at *root* comes to, in a process and with the packages of its own."""
    python = root / ".venv/bin/python"
    command = [
        str(python if python.exists() else sys.executable),
        "-P",
        __file__,
        "--one",
        str(root),
    ]
    done = subprocess.run(
        [*command, json.dumps(asked)], cwd=root, stdout=subprocess.PIPE, check=True, text=True
    )
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    limit = f", {asked.aside_mib} MiB aside" if asked.aside_mib else ""
    print(f"{root.name}, {asked.work}{limit}: {found}", flush=True)
    return found


def run_all(roots: Sequence[Path], asked: Asked) -> list[dict[str, int]]:
    """Return what each of the checkouts at *roots* comes to; *asked* limits what the first one sets aside."""
    each = [asked, *[asked._replace(aside_mib=0)] * (len(roots) - 1)]
    with ThreadPoolExecutor() as threads:
        return [*threads.map(run, roots, each)]


def scaled(narrow: int, first: int, whole_first: int, scale: int) -> int:
    """
    Return the MiB of the model where the narrow one has *narrow*, and they had *whole_first* and *first* behind the
    first prompts.
    """
    return whole_first + scale * (narrow - first)


def compare(work: str, each: Sequence[dict[str, int]]) -> None:
    """Print the figures of the first checkout as parts of the second one's."""
    if len(each) > 1:
        now, old = each
        shares = {
            name: round(now[name] / old[name], 3) for name in ("MiB", "tokens") if name in old
        }
        print(f"{work}: {shares}", flush=True)


def tell_visits(roots: Sequence[Path], asked: Asked, narrow: Narrow) -> None:
    """Print the memory of the visits on the model, and what it should be by the *narrow* one."""
    whole = run_all(roots, asked)
    compare("visits", whole)
    visits = run_all(roots, asked._replace(model=str(narrow.path), scale=narrow.scale))
    for here, at in zip(visits, whole, strict=True):
        here["MiB"] = scaled(here["MiB"], here["MiB at first"], at["MiB at first"], narrow.scale)
    print(f"visits, {narrow.scale} x what the narrow model takes: {visits}", flush=True)


def tell_story(roots: Sequence[Path], asked: Asked, models: Sequence[Narrow]) -> None:
    """
    Print the tokens of the story on two narrow *models*, and the memory of the model that *asked* names: what it has
    behind its first prompts, and what the narrow ones take from there on, layer by layer.
    """
    few = asked._replace(work="visits", n=N_FIRST + 1)
    whole = [each["MiB at first"] for each in run_all(roots, few)]
    grown = list[list[int]]()
    for path, n_layers, scale in models:
        first = run_all(roots, few._replace(model=str(path), scale=scale))
        told = run_all(roots, asked._replace(model=str(path), scale=scale))
        compare(f"story, {n_layers} layers", told)
        pairs = zip(told, first, strict=True)
        grown.append([then["narrow MiB"] - before["MiB at first"] for then, before in pairs])
    one, other = models
    n_times = (one.scale * one.n_layers - one.n_layers) / (other.n_layers - one.n_layers)
    story = [
        {"MiB": round(first + low + n_times * (high - low))}
        for first, low, high in zip(whole, *grown, strict=True)
    ]
    print(f"story, all layers: {story}", flush=True)
    compare("story", story)


def measure(root: str, asked: Asked) -> None:
    """Print what the checkout at *root* does."""
    sys.path.insert(0, root)
    print(json.dumps(asyncio.run(WORK[asked.work](asked))))


def main() -> None:
    """Print the memory and the tokens of both, or of this one by what may be set aside."""
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], Asked(*json.loads(sys.argv[3])))
        return
    from benchmarks import arguments

    parser = arguments.parser("benchmarks.memory", __doc__)
    add = parser.add_argument
    add("--beside", type=Path, help="the other checkout")
    add("--model", type=arguments.model_file, default="0.5b", help="0.5b, 1.5b or a file")
    add("--documents", type=int, default=200, help="in the story")
    add("--visited", type=int, default=40, help="documents that are visited twice")
    add("--work", type=arguments.names(WORK), default=[*WORK], help=", ".join(WORK))
    add("--aside", type=int, default=0, metavar="MIB", help="this one's limit of what is set aside")
    options = parser.parse_args()
    roots = [HERE, *[options.beside.resolve()] * bool(options.beside)]
    asked = Asked("start", str(options.model), options.visited, aside_mib=options.aside)
    if "start" in options.work:
        compare("start", run_all(roots, asked))
    with TemporaryDirectory() as folder:
        models = [write_narrow(options.model, Path(folder), n) for n in N_LAYERS]
        if "visits" in options.work:
            tell_visits(roots, asked._replace(work="visits"), models[0])
        if "story" in options.work:
            tell_story(roots, asked._replace(work="story", n=options.documents), models)


if __name__ == "__main__":
    main()
