"""
A machine into which models are worth having on it. Pure.

What a token costs is what is read for it over how fast memory is read; what the first look at a file
costs is arithmetic, two operations a weight and token. The speeds are estimates from below, so that
a choice is not regretted. One thread of this package's engine was measured at 21 GB/s (107 tokens a
second of 197 MB) and 104 GFLOP/s (280 tokens a second of 185 million weights); a desktop's memory gives
some 40 GB/s however many threads ask. A GPU that is worth the name reads 200 GB/s and more.
"""

from __future__ import annotations

from collections.abc import Mapping

from server_bridge.process.command_line import Machine, threads
from server_bridge.weights.table import MODELS, MOST_MS, Model, Offer

GPU_SHARE = 0.75  # of its memory for weights: contexts take an eighth, buffers and screens the rest
CPU_SHARE = 0.25  # editor, compilers and browser need the rest
WINDOW = 1536  # tokens around the cursor, by default

THREAD_READS, MEMORY_READS, GPU_READS = 20e9, 40e9, 200e9  # bytes a second
THREAD_COUNTS, GPU_COUNTS = 100e9, 10e12  # operations a second

# Once a file, in the background, while lines in sight are suggested already.
MOST_FIRST_S = 16.0


def offers(machine: Machine, paths: Mapping[str, str]) -> list[Offer]:
    """All models on this *machine*, from small to large; *paths* are the files of those that are here."""
    found = [_offer(model, machine, paths.get(model.name, "")) for model in MODELS]
    worth = [each for each in found if each.model.is_free and _pays(each, machine)]
    return [each._replace(is_best=each is worth[-1]) for each in found] if worth else found


def named(found: list[Offer], name: str) -> Offer | None:
    """The offer called *name*; the best for `auto`, None if nothing fits this machine."""
    if name == "auto":
        return next((each for each in found if each.is_best), None)
    return next(each for each in found if each.model.name == name)


def _offer(model: Model, machine: Machine, path: str) -> Offer:
    n_threads = threads(machine)
    fits_gpu = bool(machine.gpu) and model.n_bytes <= machine.gpu * GPU_SHARE
    reads = GPU_READS if fits_gpu else min(n_threads * THREAD_READS, MEMORY_READS)
    counts = GPU_COUNTS if fits_gpu else n_threads * THREAD_COUNTS
    return Offer(
        model,
        ms_per_token=model.n_read / reads * 1000,
        first_look_s=2 * model.n_active * WINDOW / counts,
        path=path,
    )


def _pays(offer: Offer, machine: Machine) -> bool:
    room = machine.gpu * GPU_SHARE if machine.gpu else machine.memory * CPU_SHARE
    is_quick = offer.ms_per_token <= MOST_MS and offer.first_look_s <= MOST_FIRST_S
    return is_quick and offer.model.n_bytes <= room
