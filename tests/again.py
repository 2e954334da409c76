"""
Which tests may be run again after a failure: those that drive a whole editor, server or engine beside others, or compare
times, on a machine that may be busy. A failure of any other test is a fault, a race included.

`scripts/tools/run-pytest` runs them once more, alone, where nothing else failed: pytest exits with `AGAIN` then.
"""

from __future__ import annotations

import pytest

from tests.watchdog import HELD_UP

AGAIN = 75  # EX_TEMPFAIL of sysexits.h; pytest's own codes are below 10
FOLDER = "tests/e2e/"
MARKS = {"editors", "server", "engine", "timed"}

failures: list[pytest.TestReport] = []


def may_be_run_again(report: pytest.TestReport) -> bool:
    """Return whether the test of *report* is one of those, or its event loop took too long."""
    is_slow = report.when == "teardown" and HELD_UP in report.longreprtext
    return is_slow or report.nodeid.startswith(FOLDER) or not MARKS.isdisjoint(report.keywords)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what failed."""
    if report.failed:
        failures.append(report)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Exit with `AGAIN` where all that failed may be run again."""
    if exitstatus == pytest.ExitCode.TESTS_FAILED and all(map(may_be_run_again, failures)):
        session.exitstatus = AGAIN
