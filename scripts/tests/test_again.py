"""A failure is forgiven only where the machine may be to blame, and only once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_tidy import ROOT

FIRST_FAILS = """
from pathlib import Path
import pytest

@pytest.mark.{mark}
def test_it():
    tried = Path(__file__).with_suffix(".tried")
    n = len(tried.read_text()) if tried.exists() else 0
    tried.write_text("x" * (n + 1))
    assert n >= {n_failures}
"""
HOOKS = "from tests.again import pytest_runtest_logreport, pytest_sessionfinish"


@pytest.mark.parametrize(
    ("folder", "mark", "n_failures", "code", "n_runs"),
    [("process", "server", 1, 0, 2), ("e2e", "slow", 2, 75, 2), ("session", "slow", 1, 1, 1)],
)
def test_who_gets_a_second_run(
    tmp_path: Path, folder: str, mark: str, n_failures: int, code: int, n_runs: int
) -> None:
    """End-to-end tests and those with a real server, once; a race in a session fails at once."""
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\nmarkers = ["slow", "server"]\n',
        "scripts/tools/run-pytest": (ROOT / "scripts/tools/run-pytest").read_text("utf-8"),
        "tests/conftest.py": HOOKS,
        f"tests/{folder}/test_flaky.py": FIRST_FAILS.format(mark=mark, n_failures=n_failures),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    env = {**os.environ, "FIM_TEST_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    env.pop("PYTEST_ADDOPTS", None)
    command = ["sh", "scripts/tools/run-pytest", "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)

    assert done.returncode == code, done.stdout.decode()
    assert len((tmp_path / f"tests/{folder}/test_flaky.tried").read_text()) == n_runs
