"""
How long an editor waits for the answer to `initialize`, in this checkout and in another one, in turns.

    python -m benchmarks.start OLD_CHECKOUT [N]

Both run on this Python and its packages; a busy machine slows both, so what counts is the ratio.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.progress import tell

HERE = Path(__file__).parent.parent
CAPABILITIES = HERE / "tests/lsp/initialize/kate-26.08.2.json"


def measure_s(checkout: Path, hello: bytes, home: str) -> float:
    """Return the seconds from the start of a server to the first byte of its answer."""
    env = {**os.environ, "PYTHONPATH": str(checkout), "HOME": home, "XDG_CONFIG_HOME": home}
    env |= {"XDG_CACHE_HOME": f"{home}/cache", "XDG_STATE_HOME": f"{home}/state"}
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "fim_lsp", "--stdio"],
        cwd=home, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as server:  # fmt: skip
        assert server.stdin
        assert server.stdout
        server.stdin.write(hello)
        server.stdin.flush()
        server.stdout.read(1)
        seconds = time.perf_counter() - started
        server.kill()
    return seconds


def main() -> None:
    """Print the least and the median time of each, and the ratio."""
    old = Path(sys.argv[1]).resolve()
    n_runs = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    params = json.loads(CAPABILITIES.read_text("utf-8"))["params"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    hello = f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
    times: dict[Path, list[float]] = {old: [], HERE: []}
    with tempfile.TemporaryDirectory() as home:
        for checkout in times:
            measure_s(checkout, hello, home)  # compiles what is new
        for _ in tell(range(n_runs), n_runs):
            for checkout, seconds in times.items():
                seconds.append(measure_s(checkout, hello, home))
    for checkout, seconds in times.items():
        print(f"{checkout}: min {min(seconds):.3f} s, median {statistics.median(seconds):.3f} s")
    least = min(times[HERE]) / min(times[old])
    middle = statistics.median(times[HERE]) / statistics.median(times[old])
    print(f"new to old: min {least:.2f}, median {middle:.2f}")


if __name__ == "__main__":
    main()
