"""Memory that holds zeros is given back, and reads as before."""

from __future__ import annotations

import ctypes
import mmap
import platform
import subprocess
import sys
from typing import Any

import pytest

from server_bridge.machine import pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it does nothing")

PAGE = mmap.PAGESIZE
SIZE = 3 * pages.LEAST
MADV_GUARD_INSTALL = 102  # linux/mman-common.h, since 6.13


class Buffer:
    """Anonymous memory that was written to from end to end, as llama.cpp writes zeros."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        ctypes.memset(self._address, 0, SIZE)

    def n_resident(self) -> int:
        """Return the bytes that it takes."""
        held = (ctypes.c_ubyte * (SIZE // PAGE))()
        ctypes.CDLL(None).mincore(ctypes.c_void_p(self._address), ctypes.c_size_t(SIZE), held)
        return sum(page & 1 for page in held) * PAGE

    def guard(self, at: int) -> bool:
        """Make two blocks unreadable; returns whether the kernel can."""
        memory = ctypes.c_void_p(self._address + at)
        n_bytes = ctypes.c_size_t(2 * pages.BLOCK)
        return ctypes.CDLL(None).madvise(memory, n_bytes, MADV_GUARD_INSTALL) == 0


@pytest.mark.parametrize(
    ("written", "n_kept"),
    [
        ((), 0),
        ((0,), 1), ((SIZE - 1,), 1), ((pages.LEAST + 5,), 1),  # what is left is long enough
        ((pages.LEAST - 1, 2 * pages.LEAST - 1), 2 * pages.LEAST // pages.BLOCK),
        (range(0, SIZE, pages.LEAST), SIZE // pages.BLOCK),  # and here nowhere
    ],
)  # fmt: skip
def test_long_runs_of_zeros_are_given_back(written: tuple[int, ...], n_kept: int) -> None:
    """But for the blocks that hold something, and shorter runs; every byte reads as it was."""
    buffer = Buffer()
    for at in written:
        buffer.memory[at] = 7
    before = buffer.n_resident()
    given = pages.give_back_zeros()
    assert before == SIZE
    kept = buffer.n_resident()
    assert kept <= (n_kept + 2) * pages.BLOCK  # its ends may stand across a block
    assert given >= SIZE - kept - 2 * pages.BLOCK
    assert {at for at in range(0, SIZE, PAGE // 4) if buffer.memory[at]} <= {*written}
    assert all(buffer.memory[at] == 7 for at in written)


def test_memory_that_cannot_be_read_is_passed_over() -> None:
    """As the guard of a thread's stack, which stands in the middle of memory of its kind."""
    buffer = Buffer()
    if not buffer.guard(pages.LEAST):
        pytest.skip("this kernel knows no guards")
    assert pages.give_back_zeros() >= SIZE - pages.LEAST - 4 * pages.BLOCK
    assert buffer.n_resident() <= pages.LEAST + 4 * pages.BLOCK


SHORT_LIVED = 24 << 20  # bytes; glibc keeps blocks up to this size once such a one was freed
BLOCK_BYTES = 8 << 20
CODE = """
import ctypes, sys
from server_bridge.machine import pages
if sys.argv[1] == "mapped":
    pages.map_large_blocks()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def take(n_bytes):
    block = libc.malloc(ctypes.c_size_t(n_bytes))
    ctypes.memset(block, 1, n_bytes)
    return block
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS"))
libc.free(take(%d))
blocks = [take(%d) for _ in range(9)]
full = resident()
for block in blocks[:-1:2]:
    libc.free(block)
print((full - resident()) // 1024)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
@pytest.mark.parametrize(("how", "n_given"), [("mapped", 4), ("usual", 0)])
def test_a_large_block_is_given_back_when_it_is_freed(how: str, n_given: int) -> None:
    """Every second one of nine, as of prompts that are dropped; glibc alone keeps the holes."""
    code = CODE % (SHORT_LIVED, BLOCK_BYTES)
    run: Any = subprocess.run(
        [sys.executable, "-c", code, how], capture_output=True, text=True, check=True
    )
    assert abs(int(run.stdout) - n_given * (BLOCK_BYTES >> 20)) <= 2
