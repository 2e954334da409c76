"""The trial of threads: once for a model, kept, and no start fails because of it."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.process import programs, thread_trial
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings, Program
from server_bridge.process.thread_trial import FILE, Trial, read_trials
from server_bridge.protocol import Health
from tests.models import BUNDLED

CORES = 4
REAL = "real.gguf"


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[Program]:
    """Return the trials that are started, on a machine of four cores."""
    started: list[Program] = []
    usual = programs.embedded

    def embedded(settings: EmbeddedSettings, key: str, *args: Any, **more: Any) -> Program:
        program = usual(settings, key, *args, **more)
        if more.get("candidates"):
            started.append(program)
        return program

    monkeypatch.setattr(programs, "embedded", embedded)
    monkeypatch.setattr(programs, "usable_cores", lambda: CORES)
    return started


@pytest.fixture
def settings(tmp_path: Path) -> EmbeddedSettings:
    """Return those of a model that counts as a real one."""
    model = tmp_path / REAL
    model.write_bytes(BUNDLED.read_bytes())
    return EmbeddedSettings(model=str(model), n_threads=2, threads_dir=str(tmp_path / "kept"))


def kept(settings: EmbeddedSettings) -> dict[str, Trial]:
    return read_trials(Path(settings.threads_dir))


async def start(settings: EmbeddedSettings) -> Embedded:
    """Start it, and end it."""
    backend = Embedded(settings)
    state = (await backend.connect()).state
    assert (state.health, state.model) == (Health.READY, Path(settings.model).name)
    await backend.aclose()
    return backend


@pytest.mark.engine
async def test_a_model_is_measured_once(
    children: list[Program], settings: EmbeddedSettings
) -> None:
    """At its first start, on the real engine; again where the file, the cores or llama.cpp are others."""
    assert (await start(settings))._settings.n_batch_threads in range(2, CORES + 1)
    assert len(children) == 1
    trial = kept(settings)[REAL]
    assert trial.day
    for changed in ({}, {"cores": 8}, {"n_bytes": 1}, {"engine": "0"}):
        thread_trial.keep(Path(settings.threads_dir), REAL, trial._replace(write=3, **changed))
        assert thread_trial.is_wanted(settings) == bool(changed)
        n_threads = thread_trial.apply(settings).n_threads
        assert n_threads == (2 if changed else 3)
    thread_trial.keep(Path(settings.threads_dir), REAL, trial._replace(write=3))
    assert (await start(settings))._settings.n_threads == 3
    assert len(children) == 1


async def test_the_user_is_told(
    children: list[Program], settings: EmbeddedSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is measured, the state says so."""
    seen = []

    async def measure(_: EmbeddedSettings) -> None:
        seen.append(backend.state)

    monkeypatch.setattr(thread_trial, "measure", measure)
    backend = Embedded(settings)
    assert (await backend.connect()).state.message == ""
    await backend.aclose()
    assert [(state.health, state.message) for state in seen] == [
        (Health.LOADING, thread_trial.SAYS)
    ]
    assert children == []


@pytest.mark.parametrize(
    "child",
    ["raise SystemExit(3)", "import time; time.sleep(60)", "print('[[2, 1]]')", "print('{')"],
)
async def test_a_start_goes_on_where_the_trial_fails(
    child: str, settings: EmbeddedSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies, takes too long, or says odd things: the usual number counts, and there is no other trial."""
    usual = programs.embedded

    def embedded(given: EmbeddedSettings, key: str, port: int = 0, candidates: Any = ()) -> Program:
        program = usual(given, key, port, candidates)
        return replace(program, argv=(sys.executable, "-c", child)) if candidates else program

    monkeypatch.setattr(programs, "usable_cores", lambda: CORES)
    monkeypatch.setattr(programs, "embedded", embedded)
    monkeypatch.setattr(thread_trial, "FIRST_S", 0.5)
    backend = await start(settings)
    assert (backend._settings.n_threads, backend._settings.n_batch_threads) == (2, 2)
    assert kept(settings)[REAL].day == ""
    assert not thread_trial.is_wanted(settings)
    assert "not measured" in thread_trial.in_words(Path(settings.threads_dir), REAL)


async def test_a_trial_that_is_cancelled_is_made_again(
    children: list[Program], settings: EmbeddedSettings
) -> None:
    """An editor that is closed meanwhile leaves no process, and no usual number that nothing measured."""
    before = psutil.Process().children()  # of other tests
    backend = Embedded(settings)
    connecting = asyncio.create_task(backend.connect())
    while not (children and {*psutil.Process().children()} - {*before}):
        await asyncio.sleep(0.01)
    assert REAL in kept(settings)
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    assert not {*psutil.Process().children()} - {*before}
    assert kept(settings) == {}
    await backend.aclose()


async def test_where_nothing_can_be_kept_nothing_is_measured(
    children: list[Program], settings: EmbeddedSettings, tmp_path: Path
) -> None:
    """Otherwise every start would take longer."""
    (tmp_path / "file").write_text("")
    await start(replace(settings, threads_dir=str(tmp_path / "file" / "kept")))
    assert children == []


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"real.gguf": 1}', '{"real.gguf": [1, 2]}', '{"real.gguf": [9, 2, "", 1, 4, ""]}',
     '{"real.gguf": [0, 2, "", 1, 4, ""]}', '{"real.gguf": ["x", 2, "", 1, 4, ""]}', "\xff"],
)  # fmt: skip
def test_a_broken_file_is_as_good_as_none(
    children: list[Program], settings: EmbeddedSettings, text: str
) -> None:
    """Whatever wrote it."""
    path = Path(settings.threads_dir) / FILE
    path.parent.mkdir()
    path.write_text(text, "latin-1")
    path.chmod(0o600)
    assert kept(settings) == {}
    assert thread_trial.is_wanted(settings)
    assert thread_trial.apply(settings) == settings
    thread_trial.keep(path.parent, REAL, None)
    assert path.read_bytes() == b"{}"
    assert children == []


@pytest.mark.parametrize(
    ("cores", "changed", "is_wanted"),
    [(4, {}, True), (2, {}, False), (4, {"n_threads": 3}, False), (4, {"model": ""}, False)],
)
def test_only_a_real_model_with_a_choice_is_measured(
    settings: EmbeddedSettings, monkeypatch: pytest.MonkeyPatch,
    cores: int, changed: dict[str, Any], *, is_wanted: bool,
) -> None:  # fmt: skip
    """Not the bundled one, not where the number is given, not on two cores."""
    monkeypatch.setattr(programs, "usable_cores", lambda: cores)
    given = BackendSettings("embedded", model=settings.model, threads_dir=settings.threads_dir)
    engine = open_backend(replace(given, **changed))._endpoints[0].backend
    assert isinstance(engine, Embedded)
    assert thread_trial.is_wanted(engine._settings) == is_wanted


@pytest.mark.parametrize(
    ("text", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("1000 100000", 1), ("900000 100000", 8), ("x", 8), (None, 8)],
)  # fmt: skip
def test_a_container_has_as_many_cores_as_it_has_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, cores: int
) -> None:
    """By its control group; otherwise all that the process may run on."""
    monkeypatch.setattr(programs, "CPU_TIME", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    if text is not None:
        (tmp_path / "cpu.max").write_text(text + "\n")
    assert programs.usable_cores() == cores
