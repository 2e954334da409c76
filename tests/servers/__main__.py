"""
Run the contract against the servers that are installed, or those whose names begin with an argument, and print the table.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.server_bridge.waiting import be_patient
from tests.servers import rows
from tests.servers.servers import SERVERS, NotRun, Server, running

PATIENCE_S = 60.0  # a slow machine is no fault of a server


def measure(server: Server) -> tuple[str, dict[str, str]]:
    """Return the version of *server*, and what came of each row; or why it was not run."""
    try:
        version = server.version
        with tempfile.TemporaryDirectory() as folder, running(server, Path(folder)) as at:
            found = {}
            for row in rows.ROWS:
                found[row.__name__] = asyncio.run(rows.run(row, at))
                print(f"{server.name}: {row.__doc__}: {found[row.__name__]}", file=sys.stderr)
            return version, found
    except (NotRun, subprocess.CalledProcessError) as error:
        print(f"{server.name}: not run: {error}", file=sys.stderr)
        return "not run", {}


def table(results: dict[str, tuple[str, dict[str, str]]]) -> str:
    """
    Return the results as a table, a column for each server that was run, and before it in words the
    rows that are alike.
    """
    ran = {name: found for name, (_, found) in results.items() if found}
    cells = {
        row: [found.get(row.__name__, "not run") for found in ran.values()] for row in rows.ROWS
    }
    alike = [row for row in rows.ROWS if len({*cells[row]}) == 1]
    words = "; ".join(f"{row.__doc__}: {cells[row][0]}" for row in alike)
    others = [name for name in results if name not in ran]
    lines = [f"| {dt.datetime.now(dt.UTC).date()} | {' | '.join(ran)} |"]
    lines += [f"|{' --- |' * (len(ran) + 1)}"]
    lines += [f"| version | {' | '.join(results[name][0] for name in ran)} |"]
    lines += [
        f"| {row.__doc__} | {' | '.join(cells[row])} |" for row in rows.ROWS if row not in alike
    ]
    if others:
        lines += ["", f"Not run: {', '.join(others)}"]
    return "\n".join([f"Alike at each of them: {words}.", "", *lines])


def main(wanted: list[str]) -> None:
    """Measure, and print; where it is stopped, what there is."""
    chosen = [
        server
        for server in SERVERS
        if not wanted or any(server.name.startswith(name) for name in wanted)
    ]
    results: dict[str, tuple[str, dict[str, str]]] = {}
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch, PATIENCE_S)
        try:
            for server in chosen:
                results[server.name] = measure(server)
        finally:
            print(table(results), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
