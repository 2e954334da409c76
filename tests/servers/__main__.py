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
    """Return the results as a table, a column for each server."""
    names = [*results]
    versions = [version for version, _ in results.values()]
    lines = [
        f"| {dt.datetime.now(dt.UTC).date()} | {' | '.join(names)} |",
        f"|{' --- |' * (len(names) + 1)}",
        f"| version | {' | '.join(versions)} |",
    ]
    for row in rows.ROWS:
        cells = [found.get(row.__name__, "not run") for _, found in results.values()]
        lines.append(f"| {row.__doc__} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(wanted: list[str]) -> None:
    """Measure, and print."""
    chosen = [
        server
        for server in SERVERS
        if not wanted or any(server.name.startswith(name) for name in wanted)
    ]
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch, PATIENCE_S)
        results = {server.name: measure(server) for server in chosen}
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])
