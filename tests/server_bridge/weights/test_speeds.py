"""What models cost here: measured on a real one, kept, and nothing of a file that cannot be true."""

from __future__ import annotations

from pathlib import Path

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Timings
from server_bridge.weights import speeds
from server_bridge.weights.speeds import FILE, Speed

LINE = Timings(predicted_n=17, predicted_ms=320.0)


async def test_a_real_model_is_measured() -> None:
    """The bundled model evaluates a page and writes a line."""
    backend = open_backend(BackendSettings(kind="embedded"))
    try:
        speed = await speeds.measure(backend)
        assert speed is not None
        assert speed.prefill_per_s > 0
        assert speed.decode_ms > 0
    finally:
        await backend.aclose()


def test_the_newest_measurement_is_kept(tmp_path: Path) -> None:
    """By file, until that file goes."""
    speeds.keep(tmp_path, "a.gguf", Speed(100.0, 20.0))
    speeds.keep(tmp_path, "b.gguf", Speed(50.0, 40.0))
    speeds.keep(tmp_path, "a.gguf", Speed(110.0, 18.0))
    assert speeds.read_speeds(tmp_path) == {"a.gguf": (110.0, 18.0), "b.gguf": (50.0, 40.0)}
    speeds.keep(tmp_path, "b.gguf", None)
    assert speeds.read_speeds(tmp_path) == {"a.gguf": (110.0, 18.0)}


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', '{"a": [1]}', '{"a": ["x", 1]}', "\xff"])
def test_a_broken_file_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    """Whatever wrote it."""
    path = tmp_path / FILE
    path.write_text(text, "latin-1")
    path.chmod(0o600)
    assert speeds.read_speeds(tmp_path) == {}


@pytest.mark.parametrize(
    "text", ['{"a": [0, 1]}', '{"a": [1, -1]}', '{"a": [NaN, 1]}', '{"a": [Infinity, 1]}']
)
def test_speeds_that_cannot_be_are_left_out(tmp_path: Path, text: str) -> None:
    """The others of the file count."""
    path = tmp_path / FILE
    path.write_text(text[:-1] + ', "b": [2, 3]}')
    path.chmod(0o600)
    assert speeds.read_speeds(tmp_path) == {"b": (2, 3)}


@pytest.mark.parametrize(
    ("evaluated", "decoded", "speed"),
    [
        (Timings(prompt_n=100, prompt_ms=500.0), LINE, (200.0, 20.0)),
        (Timings(prompt_n=31, prompt_ms=500.0), LINE, None),
        (Timings(prompt_n=100, prompt_ms=0.0), LINE, None),
        (Timings(prompt_n=100, prompt_ms=500.0), Timings(predicted_n=1, predicted_ms=9.0), None),
    ],
)
def test_what_is_too_short_measures_nothing(
    evaluated: Timings, decoded: Timings, speed: Speed | None
) -> None:
    """A few tokens take as long as the request for them."""
    assert speeds.speed(evaluated, decoded) == speed
