"""States over a restart of a real llama.cpp: restored, verified, refused where anything else is at work."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from server_bridge.llama import persistence
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.identity import Identity
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import Backend, Request, Timings
from tests.llama_server import PROGRAM, llama_server
from tests.models import BUNDLED, write_model
from tests.server_bridge.prompts import prompt

pytestmark = pytest.mark.promise("readable-by-you-only")

MIDDLE = "    def __init__(self, option"
FEW = 8


async def cost(backend: Backend, at: int = 500, middle: str = MIDDLE) -> Timings:
    """Return what a completion costs."""
    place = replace(prompt(middle, at=at), path=f"app/{at}.py")
    return (await (await backend.connect()).complete(Request(place, n_predict=4))).timings


async def save(backend: Backend, at: int = 500) -> int:
    return await (await backend.connect()).save(replace(prompt(MIDDLE, at=at), path=f"app/{at}.py"))


@pytest.mark.promise("what-is-kept")
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("name", ["pipe", "/dev/zero", "/dev/stdin", ".", "nowhere", "a\0b"])
def test_a_path_that_a_server_names_is_not_waited_for(name: str, tmp_path: Path) -> None:
    """Of our own model only a file is read; what the server of another names is not looked at."""
    os.mkfifo(tmp_path / "pipe")
    about = BUNDLED.stat()
    assert file_of(BUNDLED, "xllamacpp") == [about.st_size, about.st_mtime_ns]
    assert file_of(tmp_path / name, "xllamacpp") == []
    assert file_of(BUNDLED, "") == []


def file_of(model: Path, engine: str) -> list[int]:
    *_, file = json.loads(persistence.identify(Identity("", str(model), 1, 1), engine))
    return file


def states(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.bin"))


async def test_after_a_restart_the_first_completion_costs_nothing(tmp_path: Path) -> None:
    """What was saved of two documents is there again, in a new process, and nothing is foretold wrongly."""
    settings = EmbeddedSettings(slots_dir=str(tmp_path / "slots"))
    before = Embedded(settings)
    cold = [await cost(before, at) for at in (500, 900)]
    assert min(timings.prompt_n for timings in cold) > 300
    assert [await save(before, at) for at in (500, 900)] == [
        timings.prompt_n + timings.cache_n for timings in cold
    ]
    await before.aclose()
    after = Embedded(settings)
    for at in (900, 500):
        warm = await cost(after, at, MIDDLE + "s")
        assert warm.prompt_n <= FEW
        assert warm.cache_n == warm.expected_n
    await after.aclose()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of the same shape and vocabulary, with other weights."""
    folder = tmp_path_factory.mktemp("models")
    for seed in (1, 2):
        write_model(folder / f"{seed}.gguf", seed=seed)
    return folder


@pytest.mark.parametrize("hidden", [False, True], ids=["its file is seen", "its file is elsewhere"])
async def test_a_swapped_model_is_refused(models, tmp_path, hidden: bool, monkeypatch) -> None:
    """A file replaced by another model of the same shape gets its own evaluation, not the old one's."""
    if hidden:
        monkeypatch.setattr(persistence, "_file", lambda _: [])
    model = tmp_path / "model.gguf"
    settings = EmbeddedSettings(model=str(model), slots_dir=str(tmp_path / "slots"))
    for seed in (1, 2):
        shutil.copy(models / f"{seed}.gguf", model)
        backend = Embedded(settings)
        first = await cost(backend)
        assert first.cache_n == 0
        assert await save(backend)
        await backend.aclose()
    backend = Embedded(settings)
    assert (await cost(backend)).prompt_n <= FEW
    await backend.aclose()


async def test_a_damaged_file_costs_nothing_but_the_time(tmp_path, caplog) -> None:
    """Truncated, exchanged or missing states and unreadable notes are dropped with a line in the log."""
    settings = EmbeddedSettings(slots_dir=str(tmp_path))
    backend = Embedded(settings)
    await cost(backend)
    for damage in ("truncated", "missing", "note"):
        await save(backend)
        [state] = states(tmp_path)
        note = state.with_name(state.name + ".json")
        if damage == "truncated":
            state.write_bytes(state.read_bytes()[:5000])
        elif damage == "missing":
            state.unlink()
        else:
            note.write_text('{"version": 1, "held": 7}')
        await backend.aclose()
        caplog.clear()
        backend = Embedded(settings)
        assert (await cost(backend)).cache_n == 0
        assert len(caplog.records) == 1
        assert not note.exists()
    await backend.aclose()


@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="run by scripts/test-server")
async def test_a_server_of_the_users_saves_in_its_own_folder(tmp_path: Path) -> None:
    """With --slot-save-path a restarted llama-server goes on where it was; without, nothing happens."""
    folder = tmp_path / "server"
    folder.mkdir()
    for flags, n_saved in (({}, 0), ({"slot_save_path": f"{folder}/"}, 1)):
        for again in (False, True)[: 1 + n_saved]:
            with llama_server(BUNDLED, endpoint_slots=True, **flags) as url:
                backend = LlamaServer(url, state_dir=str(tmp_path / "notes"))
                first = await cost(backend)
                assert (first.prompt_n <= FEW) == bool(again and n_saved)
                assert bool(await save(backend)) == bool(n_saved)
                assert backend.state.health.value == "ready"
                await backend.aclose()
        assert len(states(folder)) == n_saved


@pytest.mark.parametrize(
    ("flags", "is_of_use"),
    [
        ({"n_batch": 256, "n_ubatch": 64}, True),
        ({"n_parallel": 4}, False),
        ({"kv_unified": True}, False),
        ({"n_ctx": 4096}, False),  # llama.cpp would load it: another length may be another model
    ],
)
async def test_a_state_of_other_flags_is_loaded_or_evaluated(
    flags: dict[str, Any], tmp_path: Path, *, is_of_use: bool
) -> None:
    """A server that is started otherwise may refuse the file of an earlier one: then the prompt is evaluated."""
    settings = {"endpoint_slots": True, "slot_save_path": f"{tmp_path}/"}
    for more in ({}, flags):
        with llama_server(BUNDLED, **settings, **more) as url:
            backend = LlamaServer(url, state_dir=str(tmp_path / "notes"))
            first = await cost(backend)
            assert (first.prompt_n <= FEW) == (bool(more) and is_of_use)
            assert first.expected_n in (None, first.cache_n)
            assert await save(backend)
            assert (await cost(backend)).prompt_n <= FEW
            await backend.aclose()


def state(document: str, n_bytes: int = 1) -> persistence.SavedSlot:
    return persistence.SavedSlot(
        "me", document, f"{document}.bin", ("file:///a",), b"\1\0\0\0", 1, {1: -0.5}, n_bytes, []
    )


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    """The budget in bytes holds, and a document's newer state replaces its older one."""
    for n in range(4):
        (tmp_path / f"d{n}.bin").write_text("state")
        persistence.put(tmp_path, state(f"d{n}", persistence.BUDGET // 3))
        os.utime(tmp_path / f"d{n}.bin.json", (n, n))
    assert [path.name for path in states(tmp_path)] == ["d1.bin", "d2.bin", "d3.bin"]
    assert persistence.begin(tmp_path, "me", "d2", ("file:///a",)).file == "d2.bin"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a huge file", "deep", "of others"])
def test_an_odd_note_costs_no_other(tmp_path: Path, kind: str) -> None:
    """It is none, is not waited for, and what can be deleted of it is."""
    persistence.put(tmp_path, state("good", 10))
    odd = tmp_path / "odd.bin.json"
    if kind == "a folder":
        odd.mkdir()
    elif kind == "a pipe":
        os.mkfifo(odd)
    else:
        text = {"a huge file": "1" * (1 << 25), "deep": "[" * (1 << 20), "of others": "{}"}[kind]
        odd.write_text(text)
        odd.chmod(0o644 if kind == "of others" else 0o600)
    assert [one.document for one in persistence._all(tmp_path)] == ["good"]
    assert odd.exists() == (kind == "a folder")


def test_a_server_gets_so_many_files_and_no_more(tmp_path: Path) -> None:
    """Names are used again, because files on another machine cannot be deleted."""
    names = []
    for n in range(persistence.N_FILES + 3):
        names.append(persistence.begin(tmp_path, "me", f"d{n}", ()).file)
        persistence.put(tmp_path, structs.replace(state(f"d{n}"), file=names[-1]))
        os.utime(tmp_path / f"{names[-1]}.json", (n, n))
    assert len(set(names)) == persistence.N_FILES
    assert names[-3:] == names[:3]


@pytest.mark.promise("what-is-kept")
@pytest.mark.parametrize(
    ("now", "same"),
    [
        ({1: -0.1, 2: -3.0, 3: -4.0}, True),
        ({1: -0.15, 2: -3.0, 3: -4.05}, True),
        ({1: -0.1, 2: -3.5, 3: -4.0}, False),
        ({1: -0.1, 2: -3.0}, False),
        ({}, False),
    ],
)
def test_a_model_is_known_by_what_it_says_next(now: persistence.Next, same: bool) -> None:
    """Rounding is forgiven, anything else is not."""
    assert persistence.agrees({1: -0.1, 2: -3.0, 3: -4.0}, now) == same
