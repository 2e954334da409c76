"""
Memory of this process that it does not use, given back to the system.

llama.cpp writes zeros over the keys and values of all its slots when it starts, so the process
takes all of them, however short the prompts are: 384 MiB with Qwen2.5-Coder 0.5B and two slots of
16,384 tokens. A page that was given back reads as zeros until it is written to, and is taken only
then.

The prompts that it sets aside are blocks of all sizes, which come and go. glibc (mallopt(3)) takes
a freed large block as a sign that such blocks are short-lived, and cuts the next ones up to that
size, at most 32 MiB, from memory that it keeps; what lies between two of them stays taken.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

MADV_DONTNEED = 4  # linux/mman-common.h
M_MMAP_THRESHOLD = -3  # malloc.h
LARGE = 1 << 20  # bytes of a block that is worth a call of the system
BLOCK = 1 << 20  # bytes that are looked at as one
# Zeros in a row that only a large buffer has: stacks, and what threads allocate, are smaller.
LEAST = 16 << 20
# proc(5): writable memory that is not shared, not a file's, and has no name, as heap and stack do.
ANONYMOUS = re.compile(r"(?m)^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *$")


def give_back_zeros() -> int:
    """
    Give long runs of zeros back, and return their bytes; to be called while no other thread of this
    process works. Raises OSError. Elsewhere than on Linux the process keeps what it took.
    """
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None)
    n_given = 0
    for start, n_bytes in _runs():
        if libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(n_bytes), MADV_DONTNEED) == 0:
            n_given += n_bytes
    return n_given


def map_large_blocks() -> None:
    """
    Have each large block mapped by itself from now on, so that the system has it back when it is
    freed. Only glibc can be told; elsewhere the allocator decides.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, LARGE)


def _runs() -> Iterator[tuple[int, int]]:
    """Yield the address and the bytes of each run of zeros that is long enough."""
    zeros = bytes(BLOCK)
    block = bytearray(BLOCK)
    # Read as a file, memory that is gone is an error, not the end of this process; so are the
    # guards of threads' stacks, which stand within their mappings since glibc 2.42.
    with Path("/proc/self/mem").open("rb", buffering=0) as memory:

        def is_zero(address: int) -> bool:
            memory.seek(address)
            with suppress(OSError):
                return memory.readinto(block) == BLOCK and block == zeros
            return False

        for first, end in ANONYMOUS.findall(Path("/proc/self/maps").read_text("ascii")):
            addresses = range(int(first, 16), int(end, 16) - BLOCK + 1, BLOCK)
            for are_zero, run in groupby(addresses, is_zero):
                start, *others = run
                n_bytes = (1 + len(others)) * BLOCK
                if are_zero and n_bytes >= LEAST:
                    yield start, n_bytes
