"""Child processes in every state in which an editor may leave them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from server_bridge.process.programs import Program
from server_bridge.process.supervisor import Supervisor, restart_delay
from tests.server_bridge.waiting import has_ended, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")

# Starts another process, says so, and goes on in spite of SIGTERM and the end of its stdin.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(600)
"""


def program(source: str) -> Program:
    return Program((sys.executable, "-c", source), Path.cwd())


@pytest.mark.parametrize(("n_deaths", "delay"), [(0, 0), (1, 0), (2, 1), (3, 2), (6, 16), (99, 30)])
def test_restarts_become_rarer(n_deaths: int, delay: float) -> None:
    """At once the first time, then after 1, 2, 4, … up to 30 seconds."""
    assert restart_delay(n_deaths) == delay


@pytest.mark.parametrize("stopped", [False, True])
async def test_an_end_is_made_where_it_is_not_heard(*, stopped: bool) -> None:
    """A child that ignores SIGTERM or was stopped goes, with all that it started."""
    one = Supervisor()
    process = await one.start(program(STUBBORN))
    grandchild = psutil.Process(int(await process.stdout.readline()))
    if stopped:
        os.kill(process.pid, signal.SIGSTOP)
    await one.end()
    assert process.returncode == -signal.SIGKILL
    await until(lambda: has_ended(grandchild.pid))


async def test_an_end_is_not_stopped_by_a_cancellation() -> None:
    """The caller may be cancelled; the child goes all the same."""
    one = Supervisor()
    process = await one.start(program(STUBBORN))
    await process.stdout.readline()
    ending = asyncio.create_task(one.end())
    await asyncio.sleep(0)
    ending.cancel()
    assert await process.wait() == -signal.SIGKILL


async def test_deaths_are_counted_and_ends_are_not() -> None:
    """A child that dies young has the next one wait; one that was ended may be started at once."""
    one = Supervisor()
    for _ in range(3):
        await one.start(program("import time; time.sleep(600)"))
        await one.end()
    assert one.wait_s == 0
    for _ in range(2):
        process = await one.start(program("raise SystemExit(3)"))
        assert await process.wait() == 3
        one.note_death()
    assert 0 < one.wait_s <= 1
    await one.start(program("import time; time.sleep(600)"))
    await one.fail()
    assert 1 < one.wait_s <= 2


@pytest.mark.promise("keys-stay")
async def test_a_key_in_our_environment_is_not_the_childs(monkeypatch: pytest.MonkeyPatch) -> None:
    """llama-server would take LLAMA_API_KEY besides the key that it is given."""
    monkeypatch.setenv("LLAMA_API_KEY", "s3cret")
    one = Supervisor()
    process = await one.start(program("import os; print(os.environ.get('LLAMA_API_KEY'))"))
    assert await process.stdout.read() == b"None\n"
    await one.end()


@pytest.mark.parametrize(
    ("given", "expected"), [({}, ["1000", None]), ({"OMP_WAIT_POLICY": "active"}, [None, "active"])]
)
async def test_threads_do_not_spin_for_long(
    given: dict[str, str], expected: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of a model server soon sleep where they wait, unless the user says how they are to wait."""
    names = ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    one = Supervisor()
    process = await one.start(
        program(f"import json, os; print(json.dumps([os.environ.get(n) for n in {names}]))")
    )
    assert json.loads(await process.stdout.readline()) == expected
    await one.end()
