"""
What a model said along the block of a session: formats, files, and what it says at a place. Pure but for the files.

No text of the block is kept: a session is named by repository, commit, path and lines, and proved by the checksum of
what is typed. A stream is what the model said, as token ids with their log-probabilities; the vocabulary beside has the
bytes of those ids. It was decoded at a place of the block, greedily, as far as a session would ask (`record`).
"""

from __future__ import annotations

import base64
import json
import lzma
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from xxhash import xxh3_64_hexdigest

from benchmarks.real_sessions.choice import Written
from fim_lsp.documents import n_common
from server_bridge.protocol import Stop, Token

DIGITS = 3  # of a log-probability

Said = tuple[tuple[Token, ...], Stop]


class Stream(NamedTuple):
    """
    What the model said where the first *at* characters of the block stand, *tokens* behind the first *kept* of them:
    what is between is forced. *stop*: `Stop.LIMIT` where it would have gone on.
    """

    at: int
    kept: int
    tokens: tuple[Token, ...]
    stop: Stop

    @property
    def text(self) -> str:
        """All that was said, from *kept* on."""
        return spell(self.tokens)


class Recording(NamedTuple):
    """
    A session's streams. *block* is the checksum of its text, *prompts* that of the prompts of the frame in which they
    were recorded, by `simulated.digest_prompts`.
    """

    repo: str
    commit: str
    path: str
    start: int
    n_lines: int
    block: str
    prompts: str
    others: tuple[str, ...]
    streams: tuple[Stream, ...]

    @property
    def name(self) -> str:
        """Return where it is, in words."""
        return f"{self.repo.rpartition('+')[2]}/{self.path}:{self.start + 1}"


def recording_of(session: Written, prompts: str, streams: Iterable[Stream]) -> Recording:
    """Return the recording of *session*; its repository is named as its folder is."""
    return Recording(
        session.repo.name, session.commit, session.path, session.start, len(session.block), checksum(session.block),
        prompts, session.others, tuple(streams),
    )  # fmt: skip


def checksum(block: Sequence[str]) -> str:
    """Return the checksum of a block's lines."""
    return xxh3_64_hexdigest("\n".join(block).encode())


class Spoken:
    """
    What a recorded model says along *block*, which stands behind *head* in its document. State: what was looked up.

    A stream serves each later place of the block with which it agrees, if a token begins there: greedy decoding goes on
    alike. The nearest one serves.
    """

    def __init__(self, streams: Sequence[Stream], head: str, block: str) -> None:
        self._whole = head + block
        self._n_head = len(head)
        self._block = block
        self._starts = [0, *(n + 1 for n, char in enumerate(self._whole) if char == "\n")]
        self._streams = sorted(streams, key=lambda stream: -stream.at)
        self.behind = lru_cache(None)(self._behind)

    def at(self, kept: int, forced: str) -> Said | None:
        """Return what is said behind *kept* characters of the block; it begins with *forced*."""
        at = kept + len(forced)
        for stream in self._streams:
            if stream.at > at or stream.kept > kept:
                continue
            tokens = _tokens_behind(stream, self._block[stream.kept : kept])
            if tokens is not None and (stream.at == at or _begins(tokens, forced)):
                return tokens, stream.stop
        return None

    def _behind(self, middle: str, forced: str) -> Said | None:
        """
        Return what is said behind *middle*, which begins with a line of the document and ends with a part of the block,
        or with what was said there; None where that is not known.
        """
        start, n_same = self.place(middle)
        kept = start + n_same - self._n_head
        said = middle[n_same:]
        if kept < 0:
            return None
        if forced or not said:
            return None if said else self.at(kept, forced)
        for stream in self._streams:
            if stream.at <= kept:
                tokens = _tokens_behind(stream, self._block[stream.kept : kept] + said)
                if tokens is not None:
                    return tokens, stream.stop
        return None

    def place(self, middle: str) -> tuple[int, int]:
        """Return the line of the document from which on most of *middle* stands there, and how much of it does."""
        first = middle[: middle.find("\n") + 1] or middle
        likely = [n for n in self._starts if self._whole.startswith(first, n)] or self._starts
        most = max(likely, key=lambda n: n_common(middle, self._whole[n : n + len(middle)]))
        return most, n_common(middle, self._whole[most : most + len(middle)])


def _begins(tokens: Iterable[Token], forced: str) -> bool:
    """Return whether *tokens* begin with *forced*, and go on."""
    text = spell(tokens)
    return text.startswith(forced) and len(text) > len(forced)


def spell(tokens: Iterable[Token]) -> str:
    """Return the text of *tokens*."""
    return b"".join(token.text for token in tokens).decode("utf-8", "replace")


def _tokens_behind(stream: Stream, said: str) -> tuple[Token, ...] | None:
    """Return the tokens of *stream* behind *said*, its beginning; None where it is none, or ends inside a token."""
    left = said.encode()
    for n, token in enumerate(stream.tokens):
        if not left:
            return stream.tokens[n:]
        if not left.startswith(token.text):
            return None
        left = left[len(token.text) :]
    return () if not left else None


def save(file: Path, model: str, recordings: Iterable[Recording]) -> None:
    """Write *recordings* of a *model*, which is named by the checksum of its file, with their vocabulary."""
    pieces: dict[int, bytes] = {}
    rows = []
    for recording in recordings:
        streams = [_pack(stream, pieces) for stream in recording.streams]
        rows.append({**recording._asdict(), "streams": streams})
    vocabulary = {
        number: base64.b85encode(text).decode() for number, text in sorted(pieces.items())
    }
    whole = {"model": model, "vocabulary": vocabulary, "sessions": rows}
    data = json.dumps(whole, separators=(",", ":"))
    file.write_bytes(lzma.compress(data.encode(), preset=9))


def load(file: Path) -> tuple[str, list[Recording]]:
    """Return the model of a file and its recordings; none where there is no file."""
    if not file.exists():
        return "", []
    data = json.loads(lzma.decompress(file.read_bytes()))
    pieces = {int(number): base64.b85decode(text) for number, text in data["vocabulary"].items()}
    return data["model"], [_unpack(row, pieces) for row in data["sessions"]]


def _pack(stream: Stream, pieces: dict[int, bytes]) -> list[Any]:
    pieces.update((token.id, token.text) for token in stream.tokens)
    odds = [
        None if token.logprob is None else round(token.logprob, DIGITS) for token in stream.tokens
    ]
    return [stream.at, stream.kept, [token.id for token in stream.tokens], odds, stream.stop.value]


def _unpack(row: Mapping[str, Any], pieces: Mapping[int, bytes]) -> Recording:
    streams = []
    for at, kept, ids, odds, stop in row["streams"]:
        tokens = (
            Token(number, pieces[number], logprob)
            for number, logprob in zip(ids, odds, strict=True)
        )
        streams.append(Stream(at, kept, tuple(tokens), Stop(stop)))
    return Recording(**{**row, "others": tuple(row["others"]), "streams": tuple(streams)})
