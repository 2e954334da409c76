"""A session of the benchmark on a real model: that its figures are of what it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.arguments import FOLDER
from benchmarks.real_sessions import editing
from benchmarks.real_sessions.choice import SETS, choose_blocks
from benchmarks.tests.test_real_sessions import NEW, commit, module
from tests.editors import programs
from tests.llama_server import PROGRAM

MODEL = FOLDER / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.server,
    pytest.mark.skipif(not PROGRAM, reason="a minute long: run by scripts/test-server"),
    pytest.mark.skipif(
        not MODEL.exists(), reason="no Qwen2.5-Coder: sh scripts/tools/get-qwen 0.5b"
    ),
    pytest.mark.skipif(
        not programs.program("nvim").exists(), reason="no Neovim: sh scripts/tools/install-editors"
    ),
]


def test_a_session_is_typed_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line is there in the end, each pause has its place, and fim-lsp says how requests ended."""
    for name, seconds in (("KEY_S", 0.05), ("LOOK_S", 0.2), ("REST_S", 0.5), ("PAUSE_S", 2.5)):
        monkeypatch.setattr(editing, name, seconds)
    names = ("total_price", "total_weight", "total_volume", "total_number", "total_age", "total")
    commit(tmp_path, NEW, **{f"shop_{n}": module(*names) for n in range(3)})
    session = next(block for part in SETS for block in choose_blocks([tmp_path], 1, part))
    played = editing.play("fim-lsp", session, editing.Terms(MODEL, 1, ""))
    assert len(played.pauses) == 2 * len(session.typed) - 1
    assert all(pause.expected in "\n".join(session.block) for pause in played.pauses)
    assert {"backend", "superseded", "model", "too late"} & {
        words for _, what, words in played.decisions if what == "end"
    }
    assert played.evaluated > 0
    assert played.cpu_s > 0
