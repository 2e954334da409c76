"""
The answers of llama.cpp's endpoints, as far as we use them: one type per answer, converted by
`responses.read`.

The fields are those of llama.cpp's tools/server (README.md, and server-task.cpp for `/completion`).
A field without a default must be there; a field with a default is missing in some builds or some
answers.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from server_bridge.http.responses import Count, Octet, Positive

LONGEST_PIECE = 1024  # bytes of a token; the longest in use are 128 characters
Piece = Annotated[list[Octet], Meta(max_length=LONGEST_PIECE)]
MAX_SLOTS = 1024  # llama.cpp's own limit is 256 sequences (LLAMA_MAX_SEQ)
DRAFTERS = "generation_settings/speculative.types"  # `response_fields` joins the path with a slash

StopType = Literal["eos", "word", "limit"]


class Defaults(Struct):
    """`default_generation_settings`: the context of one slot, in tokens."""

    n_ctx: Positive


class Props(Struct):
    """`GET /props` of a server with one model."""

    build_info: str
    model_path: str
    total_slots: Annotated[int, Meta(ge=1, le=MAX_SLOTS)]
    default_generation_settings: Defaults


class Status(Struct):
    """Whether a router has a model in memory."""

    value: str


class RouterModel(Struct):
    """One model of a router."""

    id: str
    status: Status


class RouterModels(Struct):
    """`GET /models` of a router."""

    data: list[RouterModel]


class TokenIds(Struct):
    """`POST /tokenize`."""

    tokens: list[Count]


class SpelledToken(Struct):
    """A token with its text: a string, or bytes where it is not valid UTF-8 by itself."""

    id: Count
    piece: Annotated[str, Meta(max_length=LONGEST_PIECE)] | Piece


class Pieces(Struct):
    """`POST /tokenize` with `with_pieces`."""

    tokens: list[SpelledToken]


class TemplateAnswer(Struct):
    """`POST /apply-template`."""

    prompt: str


class Slot(Struct):
    """
    One of `GET /slots`; what it holds (`n_prompt_tokens`), and whether it drafts, in builds that
    tell.
    """

    id: Count
    n_prompt_tokens: Count = 0
    is_processing: bool = False
    speculative: bool = False


class SaveAnswer(Struct):
    """`POST /slots/{id}?action=…`: tokens written or read, and bytes of the file."""

    n_saved: Count = 0
    n_written: int = 0
    n_restored: Count = 0


class CandidateToken(Struct):
    """A token that might have come next. A log-probability of minus infinity is sent as null."""

    id: Count
    bytes: Piece
    logprob: float | None = None


class Entry(Struct):
    """The data of one generated token."""

    id: Count
    logprob: float | None = None
    top_logprobs: list[CandidateToken] = []


class SlotCost(Struct):
    """`timings`: tokens and milliseconds."""

    prompt_n: Count
    cache_n: Count
    predicted_n: Count
    prompt_ms: float | None = None  # without it nothing is learned of the speed
    predicted_ms: float | None = None
    draft_n: Count = 0
    draft_n_accepted: Count = 0


class Event(Struct):
    """
    One event of a streamed `/completion`: a token, as a rule; the slot is -1 until the last.

    Its text waits while a character or a stop string may still go on, so *content* spells several
    tokens then, or none; half a character takes its token's event along. *timings* come with
    `timings_per_token` only.
    """

    content: str = ""
    tokens: list[Count] = []
    id_slot: int = -1
    stop: bool = False
    stop_type: StopType | Literal["none", ""] = ""
    truncated: bool = False
    tokens_predicted: Count = 0
    tokens_cached: Count | None = None  # what the slot holds, with the last event
    timings: SlotCost | None = None
    completion_probabilities: list[Entry] = []
    drafters: object = field(name=DRAFTERS, default="")  # comma-separated; a detail of the build
