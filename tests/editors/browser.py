"""A page in a headless Chromium, driven line by line (`workbench.mjs`)."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.editors import programs

DRIVER = Path(__file__).with_name("workbench.mjs")
WIDTH = 1000
HEIGHT = 640
TIMEOUT_S = (
    120.0  # a workbench takes ten seconds to load on an idle machine, a minute on a busy one
)
POLL_S = 0.1


class Browser:
    """The page at *address*; *packages* is the folder with the npm packages of the driver."""

    def __init__(
        self, address: str, node: Path | str, packages: Path, env: Mapping[str, str]
    ) -> None:
        self._home = env["HOME"]
        self._driver = subprocess.Popen(
            [node, DRIVER, address, str(WIDTH), str(HEIGHT)],
            cwd=packages, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, command: str, argument: object = None) -> object:
        """Do one of the commands of workbench.mjs."""
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(json.dumps([command, argument]) + "\n")
        self._driver.stdin.flush()
        answer = json.loads(self._driver.stdout.readline())
        if "error" in answer:
            raise AssertionError(f"{command}({argument}): {answer['error']}")
        return answer["value"]

    def wait_until(self, seen: Callable[[], object], what: str, timeout: float = TIMEOUT_S) -> None:
        end = time.monotonic() + timeout
        while not seen():
            if time.monotonic() > end:
                picture = self("picture", f"{self._home}/{time.time_ns()}.png")
                raise AssertionError(f"not seen in {timeout} s: {what}\n{picture}\n{self('text')}")
            time.sleep(POLL_S)

    def wait_for(self, text: str) -> None:
        self.wait_until(lambda: text in str(self("text")), repr(text))

    def close(self) -> None:
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.close()
        programs.finish(self._driver, 10)
        self._driver.stdout.close()


def wait_until_up(url: str) -> None:
    """Wait until something answers at *url*."""
    end = time.monotonic() + TIMEOUT_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > end:
                raise
            time.sleep(POLL_S)
        else:
            return
