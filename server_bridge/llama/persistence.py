"""
The contents of slots, saved by the server and restored into an empty slot after a restart.

Nothing here is needed for a completion: where the server cannot save, or what it saved is of no use
any more, the prompt is evaluated. A restored slot counts only if the model says of the next token
what it said when the state was saved (`agrees`).

The server writes a file, we write a note on its contents. The server checks the shape of what it
restores (layers, context, types of the cache, flash attention), but not the model: with another one
of the same shape it goes on, and answers nonsense (measured). So the note says which model, build
and flags a state belongs to, and what the model then said next. Only the same weights with the same
cache say the same.

A client has at most `N_FILES` files on a server, whose names are used again, because it cannot
delete what lies on another machine.
"""

from __future__ import annotations

import asyncio
import json
import logging
import stat
from array import array
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs
from xxhash import xxh3_64_hexdigest

from server_bridge.fim.layout import WIDTH, Ids, head, ids
from server_bridge.llama import completion
from server_bridge.llama.checkpoints import Checkpoint
from server_bridge.llama.link import Identity
from server_bridge.llama.mirror import count_shared, n_tokens
from server_bridge.llama.slot_client import Evaluated, SlotClient
from server_bridge.llama.slots import COPY
from server_bridge.machine import private_files

VERSION = 4
N_FILES = 8  # per server: two files in use in each of four workspaces
# Bytes of all states: 8,000 tokens are 235 MB for a 1.5B model.
BUDGET = 1 << 30
MOST_BYTES = 1 << 24  # of a note: a hundred times one of 32,000 tokens
N_NEXT = 10  # of the likeliest next tokens are compared
NEAR = 0.1  # nats; the order of floating-point sums makes 0.01, other weights make several


log = logging.getLogger(__name__)

Next = dict[int, float]  # the likeliest next tokens with their log-probabilities


class SavedSlot(Struct, frozen=True):
    """
    One saved state, of text of *files* (URIs); *held* are the packed ids in it, none while the
    server writes it, *next* what the model said after the first *n_asked* of them.

    *checkpoints* are the numbers of tokens after which the file has older states, too.
    """

    identity: str
    document: str
    file: str
    files: tuple[str, ...]
    held: bytes = b""
    n_asked: int = 0
    next: Next = {}
    n_bytes: int = 0
    checkpoints: list[int] = []
    version: int = VERSION

    def __post_init__(self) -> None:
        """Refuse what an older version wrote, or what is damaged."""
        is_whole = not len(self.held) % WIDTH and 0 <= self.n_asked <= len(self.held) // WIDTH
        if self.version != VERSION or not is_whole or Path(self.file).name != self.file:
            raise ValueError("it is of another version, or damaged")


def identify(server: Identity, engine: str) -> str:
    """
    Return what must be the same for a state to be good: the server, and its model's file.

    The file is looked at only if the server is our own *engine*: the path that another one names
    may be anything. `agrees` tells models apart, and what adapters make of them.
    """
    return json.dumps([*server, engine, _file(server.model_path) if engine else []])


def agrees(then: Next, now: Next) -> bool:
    """Return whether the model says of the next token what it said when the state was saved."""
    likeliest = sorted(then, key=lambda token: -then[token])[: N_NEXT // 2]
    return bool(likeliest) and all(
        abs(then[token] - now.get(token, -99.0)) < NEAR for token in likeliest
    )


def best(folder: Path, identity: str, prompt: bytes) -> SavedSlot | None:
    """Return the state of this server that shares most with *prompt*, if any shares anything."""
    states = [saved for saved in _all(folder) if saved.identity == identity]
    states = [saved for saved in states if count_shared(saved.held, prompt)]
    return max(states, key=lambda saved: count_shared(saved.held, prompt), default=None)


def begin(folder: Path, identity: str, document: str, files: tuple[str, ...]) -> SavedSlot:
    """
    Note what the server is to save *document* under now, and of which files; what we knew of that
    name is void. So no text is ever on disk without a note of whose it is.

    The document's own name, else a fresh one, else the one unused for longest.
    """
    stem = xxh3_64_hexdigest(identity.encode())
    ours = [saved for saved in _all(folder) if saved.identity == identity]
    own = [saved.file for saved in ours if saved.document == document]
    fresh = {f"fim-lsp-{stem}-{n}.bin" for n in range(N_FILES)} - {saved.file for saved in ours}
    saved = SavedSlot(
        identity, document, (own or sorted(fresh) or [saved.file for saved in ours])[0], files
    )
    (folder / saved.file).unlink(missing_ok=True)
    _write_note(folder, saved)
    return saved


def put(folder: Path, saved: SavedSlot) -> None:
    """Note what the server has saved, and make room for it."""
    _write_note(folder, saved)
    room = BUDGET
    for other in reversed(list(_all(folder))):
        room -= other.n_bytes
        if room < 0:
            drop(folder, other)


def touch(folder: Path, saved: SavedSlot) -> None:
    """Note that a state was of use: others are dropped first."""
    _note(folder, saved.file).touch()


def drop(folder: Path, saved: SavedSlot) -> None:
    """Delete a state, if its file lies here, and then the note on it."""
    (folder / saved.file).unlink(missing_ok=True)
    _note(folder, saved.file).unlink(missing_ok=True)


def _all(folder: Path) -> Iterable[SavedSlot]:
    """Yield every state we know of, the one used last at the end."""
    for path in sorted(folder.glob("*.json"), key=_read_last_use):
        try:
            yield msgspec.json.decode(private_files.read(path, MOST_BYTES), type=SavedSlot)
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be used any more: %s", path, error)
            with suppress(OSError):
                path.with_suffix("").unlink(missing_ok=True)
                path.unlink(missing_ok=True)


def _write_note(folder: Path, saved: SavedSlot) -> None:
    private_files.write(_note(folder, saved.file), msgspec.json.encode(saved))


def _note(folder: Path, file: str) -> Path:
    return folder / f"{file}.json"


def _read_last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _file(model_path: str) -> list[object]:
    """Return size and time of a model's file; empty if it is none."""
    with suppress(OSError, ValueError):
        status = Path(model_path).stat()
        if stat.S_ISREG(status.st_mode):
            return [status.st_size, status.st_mtime_ns]
    return []


# The second token has the first one evaluated: so what is saved goes on behind what is asked again
# after a restore. Builds before llama.cpp's #24110 end when a hybrid model is sent the very prompt
# that it holds.
NEXT = {"n_predict": 2, **completion.GREEDY, "n_probs": N_NEXT}
# tokens that are evaluated again where a state must be gone back to: its last checkpoint, or a
# window's
BACK = 8


class SlotPersistence:
    """
    The saved states of one server.

    Notes on them lie in *folder*; None: nothing is saved. *engine* is the build of a server of our
    own, "" for any other.
    """

    def __init__(self, client: SlotClient, folder: Path | None, engine: str = "") -> None:
        self._client = client
        self.folder = folder
        self._engine = engine

    async def save(
        self, document: str, whole: Ids, evaluated: Evaluated, files: tuple[str, ...]
    ) -> int:
        """
        Have the server write down what was just *evaluated*, of *files*; returns its tokens, 0 if
        it cannot.
        """
        if (folder := self.folder) is None:
            return 0
        slot = evaluated.answer.id_slot
        content = self._client.mirror.held[slot]
        identity = await self._identity()
        state = await asyncio.to_thread(begin, folder, identity, document, files)
        done = await self._client.act(slot, "save", state.file)
        # It cannot save, holds less than it says, or another client took the slot.
        if not whole.n <= done.n_saved == n_tokens(content.tokens):
            await asyncio.to_thread(drop, folder, state)
            return 0
        whole_state = structs.replace(
            state,
            held=content.tokens,
            n_asked=whole.n,
            next=completion.next_tokens(evaluated.answer),
            n_bytes=done.n_written,
            checkpoints=[point.n_tokens for point in content.points],
        )
        await asyncio.to_thread(put, folder, whole_state)
        return whole.n

    async def restore(self, document: str, whole: Ids, slot: int) -> int:
        """
        Load the saved state that serves a prompt best into *slot*; returns how many tokens that
        spares.
        """
        if (folder := self.folder) is None:
            return 0
        identity = await self._identity()
        state = await asyncio.to_thread(best, folder, identity, whole.packed)
        held_already = self._client.slots.reusable(document, whole.packed)
        spared = count_shared(state.held, whole.packed) - held_already if state else 0
        if state is None or spared <= COPY:
            return 0
        if await self._is_loaded(document, state, slot):
            await asyncio.to_thread(touch, folder, state)
            return spared
        log.warning("a state saved for %s does not belong to it any more", self._client.link.url)
        await asyncio.to_thread(drop, folder, state)
        return 0

    async def _is_loaded(self, document: str, state: SavedSlot, slot: int) -> bool:
        """Load *state* into *slot*; where it is not what was saved the slot is empty again."""
        done = await self._client.act(slot, "restore", state.file)
        if done.n_restored == n_tokens(state.held) and await self._agrees(document, state, slot):
            return True
        if done.n_restored:
            await self._client.act(slot, "erase")
        self._client.mirror.note_contents(slot, b"")
        return False

    async def _agrees(self, document: str, state: SavedSlot, slot: int) -> bool:
        """
        Return whether *slot* holds what was saved, and the model says of it what it said then.
        """
        points = tuple(Checkpoint(n_tokens, 0) for n_tokens in state.checkpoints)
        self._client.mirror.note_contents(slot, state.held, points)
        beginning = head(ids(array("i", state.held)), state.n_asked)
        answer, _ = await self._client.run(document, beginning, NEXT, slot)
        is_whole = beginning.n - answer.timings.cache_n <= BACK
        return is_whole and agrees(state.next, completion.next_tokens(answer))

    async def _identity(self) -> str:
        return await asyncio.to_thread(identify, self._client.server, self._engine)
