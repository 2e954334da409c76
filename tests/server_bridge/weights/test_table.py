"""The table of models, and which of them fits which machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from server_bridge.fim import tokens
from server_bridge.process.command_line import Machine
from server_bridge.weights import model_files
from server_bridge.weights.choice import find_offer, offers
from server_bridge.weights.table import MODELS, MOST_MS, NAMES

GIB = 1 << 30
POCKET = Machine(4 * GIB, 2)
LAPTOP = Machine(16 * GIB, 8)
DESKTOP = Machine(64 * GIB, 16)


def best(machine: Machine) -> str:
    found = find_offer(offers(machine, {}), "auto")
    return found.model.name if found else ""


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        (Machine(1 * GIB, 2), ""),
        (Machine(5 * GIB // 2, 2), ""),  # more than half
        (POCKET, "qwen-0.5b"),
        (Machine(5 * GIB, 8), "qwen-0.5b"),
        (Machine(7 * GIB, 6), "qwen-1.5b"),  # 8 less what a screen has
        (LAPTOP, "qwen-1.5b"),
        (LAPTOP._replace(gpu=1 * GIB), "qwen-0.5b"),
        (LAPTOP._replace(gpu=6 * GIB), "qwen-1.5b"),
        (LAPTOP._replace(gpu=12 * GIB), "qwen-7b"),
        (DESKTOP._replace(gpu=48 * GIB), "qwen-30b"),
        (Machine(16 * GIB, 8, 10922 << 20, "Apple M2"), "qwen-1.5b"),
        (Machine(36 * GIB, 12, 27648 << 20, "Apple M3 Pro"), "qwen-1.5b"),
        (Machine(36 * GIB, 14, 27648 << 20, "Apple M4 Max"), "qwen-7b"),
        (Machine(128 * GIB, 16, 98303 << 20, "Apple M4 Max"), "qwen-30b"),
    ],
)
def test_a_machine_gets_the_largest_that_is_quick_enough(machine: Machine, name: str) -> None:
    """By memory, cores and GPU; nothing where nothing fits."""
    assert best(machine) == name


def test_more_machine_never_means_a_smaller_model() -> None:
    """More memory, cores or GPU memory: the same or a larger one."""
    for grow in (
        lambda n: Machine(n * GIB, 8),
        lambda n: Machine(16 * GIB, n),
        lambda n: Machine(16 * GIB, 8, n * GIB),
    ):
        sizes = [NAMES.index(name) for n in range(2, 65) if (name := best(grow(n)))]
        assert sizes == sorted(sizes)


def test_only_what_everybody_may_use_is_chosen_unasked() -> None:
    """The 3B model's licence has conditions: it is had by its name alone."""
    found = offers(DESKTOP._replace(gpu=7 * GIB), {})
    assert not any(each.is_best and not each.model.is_free for each in found)
    assert find_offer(found, "qwen-3b").model.name == "qwen-3b"


def test_estimates_are_what_is_read_and_computed() -> None:
    """1.5 billion weights of 8.5 bits over 40 GB/s; two operations a weight for a window on four threads."""
    offer = find_offer(offers(LAPTOP, {}), "qwen-1.5b")
    assert offer.ms_per_token == pytest.approx(40.9, abs=0.1)
    assert offer.ms_per_token < MOST_MS
    assert offer.first_look_s == pytest.approx(11.8, abs=0.1)


@pytest.mark.parametrize(
    ("machine", "needs"),
    [  # weights, engine, and what is evaluated: 1.25 GiB, an eighth for each half of it, one context aside
        (Machine(4 * GIB, 2), [1.6, 2.8, 4.5, 9.3, 33.7]),
        (Machine(8 * GIB, 6), [2.0, 3.2, 5.1, 10.3, 34.8]),
        (DESKTOP, [2.0, 3.2, 5.3, 11.1, 37.5]),
    ],
)
def test_what_a_model_needs_is_all_that_its_engine_takes(
    machine: Machine, needs: list[float]
) -> None:
    """In GB, at most; 8 GiB run the 1.5B and have three fifths left."""
    found = offers(machine, {})
    assert [round(offer.needs / 1e9, 1) for offer in found] == needs
    assert found[1].needs < 0.4 * 8 * GIB


def test_the_table_is_well_formed() -> None:
    """Small before large, nothing twice, sums and commits of the right length, a family we know."""
    assert [m.n_bytes for m in MODELS] == sorted(m.n_bytes for m in MODELS)
    for field in ("name", "repo", "commit", "file", "sha256"):
        assert len({getattr(model, field) for model in MODELS}) == len(MODELS)
    for model in MODELS:
        assert re.fullmatch("[0-9a-f]{64}", model.sha256)
        assert re.fullmatch("[0-9a-f]{40}", model.commit)
        assert tokens.find_by_model(model.file)
        assert model.url("https://mirror.example/").startswith(
            f"https://mirror.example/{model.repo}"
        )


def test_files_of_other_programs_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours first, then llama.cpp's and the hub's; one of another size is not taken for it."""
    small, middle, large = MODELS[:3]
    monkeypatch.setenv("LLAMA_CACHE", str(tmp_path / "llama"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    ours = tmp_path / "ours" / small.file
    theirs = tmp_path / "llama" / f"{middle.repo.replace('/', '_')}_{middle.file}"
    hubs = (
        tmp_path / "hub" / f"models--{large.repo.replace('/', '--')}" / "snapshots" / large.commit
    )
    for path, size in [
        (ours, small.n_bytes), (theirs, middle.n_bytes), (hubs / large.file, large.n_bytes - 1),
    ]:  # fmt: skip
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.truncate(size)  # takes no room
    assert model_files.find_paths(tmp_path / "ours") == {
        small.name: str(ours),
        middle.name: str(theirs),
    }
    assert model_files.find_last_used(tmp_path / "ours") == str(ours)
    assert model_files.find_last_used(tmp_path / "none") == ""
