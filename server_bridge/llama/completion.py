"""
A `Request` into the options of llama.cpp's `/completion`, its answer into a `Reply`. Pure.

`n_probs` gives log-probabilities and, with them, the tokens' bytes; it costs about 1 ms per token
with a vocabulary of 150,000, however many are told.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Iterable

from server_bridge.http.responses import Object, label, log_probability
from server_bridge.llama.answers import DRAFTERS, Entry, Event, SlotCost
from server_bridge.llama.mirror import RUN, Outlook
from server_bridge.llama.tokenizer import Tokenizer
from server_bridge.protocol import TEMPERATURE, Reply, Request, Stop, Timings, Token

GREEDY = {"temperature": 0, "samplers": ["top_k"], "top_k": 1}
FIELDS = (
    "content tokens completion_probabilities stop_type truncated id_slot tokens_cached timings "
    f"stop tokens_predicted {DRAFTERS}"
)
ALWAYS: Object = {
    "cache_prompt": True, "return_tokens": True, "response_fields": FIELDS.split(),
    "stream": True, "timings_per_token": True,
}  # fmt: skip
# Tokens further on in the slot move up, so that they are not evaluated again (a K-shift).
MOVING: Object = {"n_cache_reuse": RUN}
STOPS = {"eos": Stop.END, "word": Stop.WORD, "limit": Stop.LIMIT}
MAX_MS = 1e8  # a day; a longer time is no duration of ours
# Candidates that are told of each token. At the end of a line a model says `;`, `;\n` or `;\n\n`,
# and may be certain that one of them comes while none is likely.
N_ALIKE = 3


def options(request: Request, stop: str = "") -> Object:
    """Return the options of decoding; *stop* is the family's."""
    fields: Object = {"n_predict": request.n_predict, "n_probs": N_ALIKE}
    if request.sample:
        fields |= {"temperature": TEMPERATURE, "seed": request.sample}
    else:
        fields |= GREEDY
    if stops := [*request.stop, *filter(None, (stop,))]:
        fields["stop"] = stops
    if request.prompt.forced:
        fields["grammar"] = grammar(request.prompt.forced)
    return {**fields, **MOVING} if request.prompt.dropped else fields


def drafters(told: object) -> str:
    """Return the kinds of speculation that the server was started with, "" for none."""
    names = label(told).split(",") if isinstance(told, str) else []
    return ",".join(name for name in names if name not in {"", "none"})


def next_tokens(entries: list[Entry]) -> dict[int, float]:
    """Return the likeliest first tokens with their log-probabilities."""
    likeliest = entries[0].top_logprobs if entries else []
    return {best.id: best.logprob for best in likeliest if best.logprob is not None}


def rate_tokens(
    tokens: tuple[Token, ...], entries: Iterable[Entry], *, drafted: bool = False
) -> tuple[Token, ...]:
    """
    Return the tokens with their log-probabilities, where known.

    There is one entry per token, or per character where that takes several; none for a cut last
    one. Where tokens are *drafted* an accepted one is reported as certain, and a 0 means that
    nothing is known.
    """
    left = iter(entries)
    entry = next(left, None)
    rated = []
    for token in tokens:
        if entry is not None and entry.id == token.id:
            logprob = None if drafted and not entry.logprob else _say_alike(token, entry)
            rated.append(token._replace(logprob=log_probability(logprob)))
            entry = next(left, None)
        else:
            rated.append(token)
    return tuple(rated)


def _say_alike(token: Token, entry: Entry) -> float | None:
    """
    Return the log-probability of all tokens that say what *token* does but for the line ends behind
    it.
    """
    said = token.text.rstrip(b"\r\n")
    if not said or entry.logprob is None:
        return entry.logprob
    others = (
        other.logprob
        for other in entry.top_logprobs
        if other.logprob is not None and other.id != token.id
        if bytes(other.bytes).rstrip(b"\r\n") == said
    )
    alike = [entry.logprob, *others]
    most = max(alike)
    return most + math.log(sum(math.exp(p - most) for p in alike))


def timings(cost: SlotCost, outlook: Outlook | None) -> Timings:
    """Return the cost, beside what we had expected to be cached."""
    return Timings(
        prompt_n=cost.prompt_n,
        cache_n=cost.cache_n,
        predicted_n=cost.predicted_n,
        prompt_ms=milliseconds(cost.prompt_ms),
        predicted_ms=milliseconds(cost.predicted_ms),
        expected_n=outlook.reused if outlook and outlook.sure else None,
        draft_n=cost.draft_n,
        draft_accepted_n=cost.draft_n_accepted,
    )


def milliseconds(told: float | None) -> float:
    """Return a duration as the server tells it; 0 where it cannot be one."""
    return told if told and 0 <= told <= MAX_MS else 0.0


async def replies(
    events: AsyncGenerator[tuple[Event, Outlook | None], None],
    tokenizer: Tokenizer,
    middle: tuple[Token, ...],
    n_room: int,
    *,
    drafted: bool,
) -> AsyncGenerator[Reply, None]:
    """
    Yield the events of a streamed `/completion` as replies.

    An event's text may wait for a later one (see `answers.Event`); so its tokens do, and a reply
    has both, or neither. *middle* are the tokens of the prompt's middle; the context has room for
    *n_room* tokens more. *drafted*: the server speculates.
    """
    numbers: list[int] = []  # of which the text has not come
    entries: list[Entry] = []
    n_replied = 0
    before = None
    async for event, outlook in events:
        numbers += event.tokens
        entries += event.completion_probabilities
        if not event.content and not event.stop:
            yield Reply("", (), middle, Stop.LIMIT, Timings())
            continue
        stop = _stop(event, n_room)
        # The last character may be cut in half by a limit (sent as U+FFFD).
        is_limit = event.stop_type == "limit"
        text = event.content.removesuffix("\ufffd") if is_limit else event.content
        if n_replied + len(numbers) < event.tokens_predicted:
            tokens = await tokenizer.run(text)  # some ids were not told
        else:
            ends = stop is Stop.END  # with a token that is not part of the text
            spelled = await tokenizer.find_spelling(
                numbers[:-1] if ends else numbers, entries, text
            )
            tokens = rate_tokens(spelled, entries, drafted=drafted)
        cost = timings(event.timings, outlook) if event.timings else before
        news = cost.since(before) if cost and before else cost or Timings()
        yield Reply(text, tokens, middle, stop, news)
        middle = middle + tokens
        before = cost
        n_replied = event.tokens_predicted
        numbers = []
        entries = []


def _stop(event: Event, n_room: int) -> Stop:
    """Return why decoding ended, if it did; a server tells of a full context as of a limit."""
    reason = STOPS.get(event.stop_type, Stop.LIMIT) if event.stop else Stop.LIMIT
    is_full = event.truncated or event.tokens_predicted >= n_room
    return Stop.FULL if event.stop and is_full and reason is Stop.LIMIT else reason


def grammar(forced: str) -> str:
    """
    Return a GBNF grammar of all texts that begin with *forced* (llama.cpp, grammars/README.md).
    """
    return f'root ::= "{"".join(map(_escape, forced))}" .*'


def _escape(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    return character if character.isprintable() else f"\\U{ord(character):08X}"
