"""
The models that are worth having on a machine. Pure.

A token costs the bytes that are read for it over how fast memory is read; the first look at a
file costs arithmetic, two operations a weight and token. The speeds are estimates from below,
so that a choice is not regretted. One thread of this package's engine was measured at 21 GB/s
(107 tokens a second of 197 MB) and 104 GFLOP/s (280 tokens a second of 185 million weights); a
desktop's memory gives some 40 GB/s however many threads ask. A GPU that is worth the name reads
200 GB/s and more. Apple publishes 68 to 153 GB/s for its chips, 150 to 307 for a Pro, 300 to 614
for a Max and 800 for an Ultra; such a GPU has the memory in common with all programs.
"""

from __future__ import annotations

from collections.abc import Mapping

from server_bridge.process.command_line import Machine, count_needs, usual_threads
from server_bridge.weights.table import MODELS, MOST_MS, Offer, OfferedModel

GPU_SHARE = 0.75  # of its memory for weights: contexts take an eighth, buffers and screens the rest
CPU_SHARE = 0.25  # for weights where a GPU shares the memory with all programs
HALF = 0.5  # of the memory for an engine with all it keeps: other programs need the rest
MOST_SHARE = 0.8  # above it weights and contexts push out the editor, or do not load at all
WINDOW = 1536  # tokens around the cursor, by default

# Bytes a second.
THREAD_READS = 20e9
MEMORY_READS = 40e9
GPU_READS = 200e9
APPLE_READS = {"Pro": 150e9, "Max": 300e9, "Ultra": 800e9, "": 68e9}
# Operations a second.
THREAD_COUNTS = 100e9
APPLE_COUNTS = 2e12
GPU_COUNTS = 10e12

# Once a file, in the background, while lines in sight are suggested already.
MOST_FIRST_S = 16.0


def offers(machine: Machine, paths: Mapping[str, str]) -> list[Offer]:
    """
    Return all models on this *machine*, from small to large; *paths* are the files of those that
    are here.
    """
    all_offers = [_offer(model, machine, paths.get(model.name, "")) for model in MODELS]
    worth = [offer for offer in all_offers if offer.model.is_free and _pays(offer, machine)]
    best = worth[-1] if worth else None
    return [offer._replace(is_best=offer is best) for offer in all_offers]


def find_offer(offers: list[Offer], name: str) -> Offer | None:
    """Return the offer called *name*; the best for `auto`, None if nothing fits this machine."""
    if name == "auto":
        return next((offer for offer in offers if offer.is_best), None)
    return next(offer for offer in offers if offer.model.name == name)


def estimate_ms(n_read: int, n_bytes: int, machine: Machine) -> float:
    """Return the time of a token for which *n_read* bytes are read, of a file of *n_bytes*."""
    by_cores = min(usual_threads(machine.cores) * THREAD_READS, MEMORY_READS)
    return n_read / (_gpu_reads(machine.chip) if _fits_gpu(n_bytes, machine) else by_cores) * 1000


def _gpu_reads(chip: str) -> float:
    return next(per_s for size, per_s in APPLE_READS.items() if size in chip) if chip else GPU_READS


def _offer(model: OfferedModel, machine: Machine, path: str) -> Offer:
    by_cores = usual_threads(machine.cores) * THREAD_COUNTS
    by_gpu = APPLE_COUNTS if machine.chip else GPU_COUNTS
    needs = count_needs(model.facts, model.n_bytes, machine)
    memory = machine.memory if machine.chip else machine.memory + machine.gpu
    counts = by_gpu if _fits_gpu(model.n_bytes, machine) else by_cores
    return Offer(
        model,
        ms_per_token=estimate_ms(model.n_read, model.n_bytes, machine),
        first_look_s=2 * model.n_active * WINDOW / counts,
        needs=needs,
        path=path,
        memory=0 if needs <= MOST_SHARE * memory else memory,
    )


def _fits_gpu(n_bytes: int, machine: Machine) -> bool:
    """Return whether there is a GPU with room for weights of *n_bytes*."""
    own = machine.gpu * GPU_SHARE
    return n_bytes <= (min(machine.memory * CPU_SHARE, own) if machine.chip else own)


def _pays(offer: Offer, machine: Machine) -> bool:
    is_quick = offer.ms_per_token <= MOST_MS and offer.first_look_s <= MOST_FIRST_S
    if machine.gpu:
        return is_quick and _fits_gpu(offer.model.n_bytes, machine)
    return is_quick and offer.needs <= HALF * machine.memory
