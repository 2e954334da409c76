"""
The contract between the editor side and the model side: the one module both packages share.

A `Prompt` is an ordered list of parts from stable to volatile. The order *is* the design: a
backend keeps what it evaluated up to the first token that differs from last time, so what
changes rarely stands first and what changes with every key stands last.

    repo, chunks…, path, prefix, suffix  frozen while the user types
    middle                               grows by what is typed; its `tape` is a word being made
    forced                               half a word: not sent, the output must begin with it

With `turns`, an instruction stands behind the frozen parts, and the middle is the answer to it. A
backend turns a prompt into token ids or text and knows nothing else of editors.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol


class Token(NamedTuple):
    """One token as the backend counts it. `text` is bytes: a token may end inside a character."""

    id: int
    text: bytes
    logprob: float | None = None


NO_ID = -1  # of a token of which only the text is known


class Chunk(NamedTuple):
    """A piece of another place in the workspace: `name` is a workspace-relative path."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """
    The text for a model, stable parts first. Text uses `\\n` line ends only.

    *tape* are tokens that the model made and that spell the end of *middle*: they are sent as they
    are, where all else is spelled as the tokenizer would. *forced* continues *middle*: the output
    must begin with it (token healing). *turns* are an instruction, the answer to it, a further
    instruction and so on: where there are any, the model answers the last one instead of filling
    the gap, and *middle* is the beginning of its answer. *dropped*: the model's text at the
    beginning of *middle* was dropped, because the context is full; a server may move up the rest
    that it holds instead of evaluating it again (StreamingLLM). *aside*: it is evaluated for later,
    and not in the place of what the server holds of the document.
    """

    repo: str
    chunks: tuple[Chunk, ...]
    path: str
    prefix: str
    suffix: str
    middle: str = ""
    tape: tuple[Token, ...] = ()
    forced: str = ""
    turns: tuple[str, ...] = ()
    dropped: bool = False
    aside: bool = False


class Stop(enum.Enum):
    """The reason why decoding ended."""

    END = "end"  # the model ended the middle by itself
    WORD = "word"  # a stop string came; it is not part of the text
    LIMIT = "limit"  # n_predict tokens were made: ask again to go on
    FULL = "full"  # the context is full


@dataclass(frozen=True, slots=True)
class Request:
    """At most *n_predict* tokens after *prompt*, 1 or more; *sample* 0 is greedy, n > 0 another."""

    prompt: Prompt
    n_predict: int
    stop: tuple[str, ...] = ()
    sample: int = 0

    def __post_init__(self) -> None:
        if self.n_predict < 1:  # to llama.cpp -1 means without end
            raise ValueError(f"a request for {self.n_predict} tokens")


TEMPERATURE = 0.8  # of alternatives, which should differ; llama.cpp's default

COUNTED = (
    "prompt_n", "cache_n", "predicted_n", "prompt_ms", "predicted_ms",
    "draft_n", "draft_accepted_n",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Timings:
    """The cost of a request, in tokens and milliseconds; *expected_n* predicts `cache_n`."""

    prompt_n: int = 0  # evaluated
    cache_n: int = 0  # reused
    predicted_n: int = 0  # generated
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    expected_n: int | None = None
    draft_n: int = 0
    draft_accepted_n: int = 0

    def plus(self, piece: Timings) -> Timings:
        """Add a piece of a stream; tokens that steps evaluated are no find in the cache."""
        sums = {name: getattr(self, name) + getattr(piece, name) for name in COUNTED}
        sums["cache_n"] = self.cache_n or max(0, piece.cache_n - self.prompt_n)
        return dataclasses.replace(self, **sums)

    def since(self, before: Timings) -> Timings:
        """Return the cost of what came after *before*, a part of this."""
        news = {name: getattr(self, name) - getattr(before, name) for name in COUNTED}
        return Timings(**{name: max(0, cost) for name, cost in news.items()})


@dataclass(frozen=True, slots=True)
class Reply:
    """
    The answer to one `Request`, or the next piece of it.

    *text* begins with the prompt's `forced`, as far as it got. *tokens* spell *text* and *middle*
    spells the prompt's middle; where a backend deals in text only, their ids are `NO_ID`. Each
    piece continues the prompt plus all earlier pieces (`append_text`); the first has the count of
    evaluated tokens, and all but the last say `Stop.LIMIT`. At a piece without text the reader may
    leave.
    """

    text: str
    tokens: tuple[Token, ...]
    middle: tuple[Token, ...]
    stop: Stop
    timings: Timings

    @property
    def n_tokens(self) -> int:
        """The tokens that were made for it, one at least where it has text."""
        return self.timings.predicted_n or int(bool(self.text))


def append_text(prompt: Prompt, text: str, tokens: tuple[Token, ...]) -> Prompt:
    """Return the prompt with *text* behind it, spelled by *tokens* if they are all of it."""
    is_spelled = b"".join(token.text for token in tokens) == text.encode()
    return dataclasses.replace(
        prompt,
        middle=prompt.middle + text,
        tape=prompt.tape + tokens if is_spelled else (),
        forced=prompt.forced[len(text) :],
    )


def behind(prompt: Prompt, *replies: Reply) -> Prompt:
    """Return the prompt that goes on behind *replies*, joined once."""
    text = "".join(reply.text for reply in replies)
    return append_text(prompt, text, tuple(token for reply in replies for token in reply.tokens))


def rest(request: Request, *replies: Reply) -> Request | None:
    """Return the part of *request* that is left after *replies*; None for none."""
    n_left = request.n_predict - sum(reply.n_tokens for reply in replies)
    if n_left < 1:
        return None
    return dataclasses.replace(request, prompt=behind(request.prompt, *replies), n_predict=n_left)


@dataclass(frozen=True, slots=True)
class Measure:
    """A prompt in tokens: all, how many the backend should hold already, and by part."""

    total: int
    cached: int
    repo: int
    chunks: tuple[int, ...]
    path: int
    prefix: int
    suffix: int
    middle: int

    @classmethod
    def of(cls, parts: Sequence[tuple[str, int]], cached: int) -> Measure:
        """Measure a prompt of these *parts*: what each is, and its tokens."""
        total = sum(n for _, n in parts)
        by_kind = dict(parts)
        names = ("repo", "path", "prefix", "suffix", "middle")
        return cls(
            total=total,
            cached=min(cached, total),
            chunks=tuple(n for kind, n in parts if kind == "chunk"),
            **{name: by_kind.get(name, 0) for name in names},
        )


class Warmed(NamedTuple):
    """The outcome of one warm step, in tokens: evaluated now, and left to evaluate in steps."""

    evaluated: int
    left: int


class Health(enum.Enum):
    """The health of a backend."""

    UNKNOWN = "unknown"  # not asked yet
    LOADING = "loading"  # it is there, its model is not yet
    READY = "ready"
    BUSY = "busy"  # it can be asked, and answers late
    ASLEEP = "asleep"  # its model is out of memory; a request loads it
    DOWN = "down"  # it does not answer; it is asked again from time to time
    UNUSABLE = "unusable"  # it answers, and the user must change something: see `State.message`


class Engine(NamedTuple):
    """The program that serves a model; *guessed*: what it does not tell."""

    name: str = ""  # where that is known
    guessed: frozenset[str] = frozenset()  # of "context", "slots", "cached" and "confidence"
    pid: int = 0  # of an engine of ours
    most_kept: int = 0  # bytes that evaluated prompts take at most, in an engine of ours


UNKNOWN_ENGINE = Engine()


@dataclass(frozen=True, slots=True)
class State:
    """
    Last known state of a backend; `message` is a sentence for the user, "" for no problem.

    *n_ctx* is the tokens of one slot. *chars_per_token*, *prefill_per_s* (tokens per second) and
    *decode_ms* (per token) are measured on the user's own text, guessed until then. *cache_problem*
    is the likely cause where it evaluates more than it should, "" while it does not. *memory* is
    "plain", "recurrent" (or hybrid) or "sliding window": what of an evaluated prompt can be cut
    off; "" while that is not known. *drafters* are the kinds of speculation it was started with, as
    its answers tell; *drafts*: it speculates. *second_best* says why its model is not the right one
    for filling in, "" where it was trained for that; *fills_only* why it cannot follow an
    instruction, "" where it may. *cause* is that of the error behind `message`, with the server
    that it is about; one that is ready has it until it has completed something.
    """

    health: Health
    kind: str
    url: str = ""
    model: str = ""
    n_ctx: int = 0
    slots: int = 1
    chars_per_token: float = 3.0
    prefill_per_s: float = 200.0
    decode_ms: float = 6.0
    message: str = ""
    cache_problem: str = ""
    memory: str = ""
    drafters: str = ""
    drafts: bool = False
    second_best: str = ""
    fills_only: str = ""
    engine: Engine = UNKNOWN_ENGINE
    cause: str = ""

    @property
    def is_ready(self) -> bool:
        """Return whether its model can be asked."""
        return self.health in (Health.READY, Health.BUSY, Health.ASLEEP)

    @property
    def is_bundled(self) -> bool:
        """Return whether its model is the one inside the package, which is for trying out."""
        return self.model.startswith("fim-tiny")  # see server_bridge/models


class Model(Protocol):
    """
    A model that is ready. Every call may raise `BackendError` and nothing else; the scheduler makes
    no two calls at once for the same slot.
    """

    @property
    def state(self) -> State:
        """The last known state, without waiting."""

    async def measure(self, prompt: Prompt) -> Measure:
        """Count the prompt; evaluates nothing."""

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """
        Evaluate about *step* more tokens of the prompt, never more than three times as many.

        `left` is 0 where no further step is needed, and where none is possible: the server keeps
        nothing between requests, or takes the prompt only as a whole. Then the caller decodes,
        whatever `measure` says. Each step ends further on than the one before, so that a loop over
        `left` ends; and one that evaluates nothing leaves nothing.
        """

    async def complete(self, request: Request) -> Reply:
        """Decode all of a request that is short; the reply says what the server told at its end."""

    def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """
        Decode piece by piece, at least one; closing the generator ends the work on the server, too.
        """

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        """
        Keep *prompt*, which has text of *files* (URIs), over a restart; returns its tokens, 0 where
        it is not evaluated or cannot be kept. The note on disk says of which files it is.
        """

    async def restore(self, prompt: Prompt) -> int:
        """Load what serves *prompt* best; returns how many of its tokens that spares, maybe 0."""


class Backend(Protocol):
    """A model server, or a choice of them, and the way to it."""

    on_change: Callable[[], None]  # the state has changed

    @property
    def state(self) -> State:
        """The last known state, without waiting."""

    async def connect(self) -> Model:
        """
        Find or start the server and ask what it can do; cheap when already ready. Raises
        `BackendError`.

        The model is good for the calls of one piece of work: where its server has ended, they fail
        and the next `connect` finds or starts another.
        """

    async def aclose(self) -> None:
        """Close connections and end every process this backend started."""


class TextModel(Protocol):
    """A model that continues a text as it is, for next edits. Raises only `BackendError`."""

    async def continue_text(self, text: str, n_predict: int, stops: tuple[str, ...]) -> str | None:
        """Return what follows *text* until one of *stops*, None where it has more tokens."""

    async def models(self) -> list[str]:
        """Return the models that the server lists, by name."""

    async def aclose(self) -> None:
        """Close connections."""


class BackendError(Exception):
    """
    Something went wrong on the model's side. The subclasses say what the caller should do.

    *server_text* are the server's own words, for a reader that knows them. They may repeat the
    user's code, so no message has them, and no log but a developer's.
    *cause* tells whether two errors say the same in other words; "" where the words tell.
    """

    server_text: str = ""
    cause: ClassVar[str] = ""


class BackendUnavailable(BackendError):
    """Not there, or loading: wait for it and answer nothing meanwhile."""

    cause = "unavailable"


class BackendTimeout(BackendError):
    """Too slow: drop this completion."""

    cause = "too slow"


class BackendRejected(BackendError):
    """It refused our request, with a *status*: a prompt too long, or what it does not know."""

    cause = "rejected"
    status = 0


class PromptTooLong(BackendRejected):
    """The prompt has *n_prompt* tokens where *n_ctx* fit."""

    def __init__(self, n_prompt: int, n_ctx: int) -> None:
        super().__init__(f"the prompt has {n_prompt} tokens, the context {n_ctx}")
        self.n_prompt = n_prompt
        self.n_ctx = n_ctx


class BackendUnusable(BackendError):
    """The user has to change something (no FIM model, wrong key); the text names the fix."""
