"""The child process: quick to start, hard to lose, impossible to leave behind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from server_bridge.failover.endpoint import Endpoint
from server_bridge.machine import processes
from server_bridge.process import command_line, programs
from server_bridge.process.embedded import Embedded
from server_bridge.process.embedded_child import has_gpu, list_gpus
from server_bridge.process.programs import BUNDLED, EmbeddedSettings
from server_bridge.protocol import BackendTimeout, BackendUnusable, Health, Request
from tests.server_bridge.prompts import prompt

pytestmark = [pytest.mark.engine, pytest.mark.promise("readable-by-you-only")]

REQUEST = Request(prompt("    def "), n_predict=4)
ORPHAN = """
import asyncio
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
async def main():
    backend = Embedded(EmbeddedSettings())
    await backend.connect()
    print(backend.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


async def test_is_ready_and_gone_at_once(tmp_path: Path) -> None:
    """Ready, on this machine only, its log in a file; closing leaves nothing."""
    log = tmp_path / "llama.log"
    backend = Embedded(EmbeddedSettings(slots_dir=str(tmp_path), log=str(log)))
    assert backend.pid is None
    state = (await backend.connect()).state
    assert state.url.startswith("http://127.0.0.1:")
    assert state.engine.pid == backend.pid
    assert state.engine.most_kept == 2 * 4096 * 2560 + (6 * 16384 * 2560 >> 20 << 20)
    child = psutil.Process(backend.pid)
    assert (await (await backend.connect()).complete(REQUEST)).text
    await backend.aclose()
    assert not child.is_running()
    assert log.stat().st_size > 0
    assert backend.state.health is Health.UNKNOWN


@pytest.mark.skipif(sys.platform != "linux", reason="pages are given back there")
async def test_a_context_takes_no_memory_before_it_is_used() -> None:
    """Sixteen slots of 10 MiB cost little more than one; and what is given back serves all the same."""
    taken = []
    for n_slots in (1, 16):
        backend = Embedded(EmbeddedSettings(n_slots=n_slots))
        model = await backend.connect()
        assert backend.pid is not None
        taken.append(processes.memory(backend.pid) >> 20)
        assert (await model.complete(REQUEST)).text
        await backend.aclose()
    assert taken[1] - taken[0] < 60


@pytest.mark.parametrize(
    ("kinds", "has_one"), [("CPU", False), ("CPU ACCEL", False), ("CPU GPU", True), ("IGPU", True)]
)
def test_a_gpu_is_found_among_the_devices(kinds: str, has_one: bool) -> None:
    """By the names of llama.cpp's `ggml_backend_dev_type`."""
    assert has_gpu([{"type": device_type(kind)} for kind in kinds.split()]) is has_one


def device_type(kind: str) -> SimpleNamespace:
    return SimpleNamespace(name=f"GGML_BACKEND_DEVICE_TYPE_{kind}")


CPU = ("CPU", "Apple M4 Max", 0, "CPU")
ACCELERATE = ("BLAS", "Accelerate", 0, "ACCEL")
IN_PROCESSOR = ("Vulkan0", "Intel(R) Iris(R) Xe Graphics (ADL GT2)", 11773, "IGPU")


@pytest.mark.parametrize(
    ("devices", "size", "chip"),
    [
        ([("MTL0", "Apple M4 Max", 98303, "GPU"), ACCELERATE, CPU], 98303, "Apple M4 Max"),
        ([("Metal", "Apple M1", 5461, "GPU"), ACCELERATE, CPU], 5461, "Apple M1"),
        ([("CUDA0", "NVIDIA GeForce RTX 4090", 23028, "GPU"), CPU], 23028, ""),
        ([IN_PROCESSOR, ("Vulkan1", "AMD Radeon RX 7600", 8176, "GPU"), CPU], 8176, ""),
        ([IN_PROCESSOR, CPU], 0, ""),
        ([CPU], 0, ""),
        ([("CUDA0", "NVIDIA GeForce RTX 4090", -5120, "GPU"), CPU], 0, ""),
        ([("Vulkan0", "显卡", (1 << 44) - 1, "GPU"), CPU], 0, ""),
        ([("CUDA0", "RTX (9 MiB, 9000 MiB free)", 1000, "GPU")], 1000, ""),
    ],
)
def test_a_gpu_is_told_as_llama_server_tells_it(
    devices: list[tuple[str, str, int, str]], size: int, chip: str
) -> None:
    """Of Metal, CUDA and Vulkan: one with a memory of its own counts, or Apple's, and none that cannot be."""
    fields = "name", "description", "memory_free", "memory_total", "type"
    printed = list_gpus(
        [
            dict(zip(fields, (*name, free << 20, free << 20, device_type(kind)), strict=True))
            for *name, free, kind in devices
        ]
    )
    assert (command_line.gpu(printed), command_line.apple_chip(printed)) == (size << 20, chip)


def test_the_engine_says_which_gpu_it_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked in a process of its own; one that cannot be loaded has none."""
    (tmp_path / "xllamacpp.py").write_text(ENGINE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert programs.machine(None)[2:] == (10922 << 20, "Apple M2")
    (tmp_path / "xllamacpp.py").write_text("raise ImportError")
    assert programs.machine(None)[2:] == (0, "")


ENGINE = """
from types import SimpleNamespace
def get_device_info():
    kind = SimpleNamespace(name="GGML_BACKEND_DEVICE_TYPE_GPU")
    size = 10922 << 20
    device = dict(name="MTL0", description="Apple M2", memory_free=size, memory_total=size)
    return [{**device, "type": kind}]
"""


async def test_a_library_that_the_system_lacks_is_named(tmp_path, monkeypatch) -> None:
    """The wheel of llama.cpp leaves OpenMP to the system; small containers have none."""
    said = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({said!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(BackendUnusable, match=r"needs .*libgomp\.so\.1.* install it"):
        await Embedded(EmbeddedSettings()).connect()


async def test_a_time_out_never_ends_it() -> None:
    """Only its connection is closed; one that was killed, since it hung, is replaced."""
    backend = Embedded(EmbeddedSettings())
    endpoint = Endpoint(backend)
    await endpoint.connect()
    child = psutil.Process(backend.pid)
    endpoint.note_failure(BackendTimeout("late"), at_work=True)
    text = (await endpoint.ask(lambda model: model.complete(REQUEST))).text
    assert (child.is_running(), backend.pid) == (True, child.pid)
    await backend.kill()
    child.wait(5)
    endpoint.note_failure(BackendTimeout("it hung"), at_work=True)
    assert (await endpoint.ask(lambda model: model.complete(REQUEST))).text == text
    assert not child.is_running()
    await endpoint.aclose()


async def test_that_it_computes_is_seen_though_it_answers_nothing() -> None:
    """By its processor time: none while it is stopped, and none of one that has ended."""
    backend = Embedded(EmbeddedSettings())
    await (await backend.connect()).complete(REQUEST)
    child = psutil.Process(backend.pid)
    first = backend.cpu_s() or 0.0
    await (await backend.connect()).warm(prompt("x = 1\n" * 300), 4096)
    assert (backend.cpu_s() or 0.0) > first > 0
    await backend.aclose()
    assert (processes.cpu_s(child.pid), backend.cpu_s()) == (None, None)


@pytest.mark.promise("ends-with-the-editor")
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is for Unix")
def test_a_killed_parent_leaves_no_child() -> None:
    """SIGKILL gives the parent no time to clean up; the child goes all the same."""
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True
    ) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(5)


async def test_a_model_that_is_gone_is_named_and_the_bundled_one_answers(tmp_path: Path) -> None:
    """As where a server is gone; where the file is back, the next engine takes it."""
    file = tmp_path / "gone.gguf"
    backend = Embedded(EmbeddedSettings(model=str(file)))
    await backend.connect()
    state = backend.state
    assert state.health is Health.READY
    assert state.is_bundled
    assert state.message.startswith(f"the bundled model answers: {file} is not there")
    assert "fim-lsp setup" in state.message
    await backend.aclose()
    shutil.copy(BUNDLED, file)
    backend = Embedded(EmbeddedSettings(model=str(file)))
    await backend.connect()
    assert backend.state.model.endswith("gone.gguf")
    assert backend.state.message == ""
    await backend.aclose()


async def test_a_model_that_cannot_be_loaded_is_named_with_the_fix() -> None:
    """A broken file gives one clear sentence that names the setting, and stays while it is tried again."""
    backend = Embedded(EmbeddedSettings(model=__file__))
    for _ in range(3):
        with pytest.raises(BackendUnusable, match=r"fim\.backend\.model"):
            await backend.connect()
        assert backend.state.health is Health.UNUSABLE
    await backend.aclose()


@pytest.mark.promise("no-code-of-a-repository-runs")
async def test_code_in_the_users_folder_is_not_run(tmp_path, monkeypatch) -> None:
    """A project that has a module called like ours does not get to run it."""
    package = tmp_path / "server_bridge"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "embedded_child.py").write_text("raise SystemExit('fooled')")
    monkeypatch.chdir(tmp_path)
    backend = Embedded(EmbeddedSettings())
    await backend.connect()
    await backend.aclose()


@pytest.mark.promise("ends-with-the-editor")
async def test_where_nothing_can_be_kept_it_completes_all_the_same(tmp_path, caplog) -> None:
    """A cache folder that cannot be made, as in a read-only home, costs the cache, and one line."""
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "slots"
    backend = Embedded(EmbeddedSettings(slots_dir=str(folder)))
    for _ in range(2):
        model = await backend.connect()
        assert (await model.complete(REQUEST)).text
        assert await model.save(REQUEST.prompt) == 0
        assert backend.state.health is Health.READY
        await backend.aclose()
    assert caplog.text.count("not kept over a restart") == 1
    assert str(folder) in caplog.text
