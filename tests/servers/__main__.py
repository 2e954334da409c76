"""
Run the contract against the servers that are installed, or those whose names begin with an argument, and print the table.

What came out is kept in the cache folder, so that servers can be run one at a time: the table has all.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.server_bridge.waiting import be_patient
from tests.servers import rows
from tests.servers.servers import ENVIRONMENTS, SERVERS, NotRun, Server, running

PATIENCE_S = 60.0  # a slow machine is no fault of a server
KEPT = ENVIRONMENTS / "results.json"
Result = dict[str, Any]


def measure(server: Server) -> Result:
    """Return version, date, and what came of each row; or why it was not run."""
    date = f"{dt.datetime.now(dt.UTC):%d %B}"
    try:
        version = server.version
        with tempfile.TemporaryDirectory() as folder, running(server, Path(folder)) as at:
            found = {}
            for row in rows.ROWS:
                found[row.__name__] = asyncio.run(rows.run(row, at))
                print(f"{server.name}: {row.__doc__}: {found[row.__name__]}", file=sys.stderr)
            return {"version": version, "date": date, "rows": found}
    except (NotRun, subprocess.CalledProcessError) as error:
        print(f"{server.name}: not run: {error}", file=sys.stderr)
        return {"version": "not run", "date": date, "rows": {}}


def table(results: dict[str, Result]) -> str:
    """
    Return the results as a table, a column for each server that was run, and before it in words the
    rows that are alike.
    """
    ran = {name: result for name, result in results.items() if result["rows"]}
    cells = {
        row: [result["rows"].get(row.__name__, "not run") for result in ran.values()]
        for row in rows.ROWS
    }
    said = {row: {*cells[row]} - rows.NOTHING for row in rows.ROWS}
    alike = [row for row in rows.ROWS if len(said[row]) == 1]
    words = "; ".join(f"{row.__doc__}: {said[row].pop()}" for row in alike)
    others = [name for name in results if name not in ran]
    dates = {result["date"] for result in ran.values()}
    lines = [
        f"| {' to '.join(sorted(dates))} | {' | '.join(ran)} |",
        f"|{' --- |' * (len(ran) + 1)}",
        f"| version | {' | '.join(result['version'] for result in ran.values())} |",
    ]
    lines += [
        f"| {row.__doc__} | {' | '.join(cells[row])} |" for row in rows.ROWS if row not in alike
    ]
    if others:
        lines += ["", f"Not run: {', '.join(others)}"]
    return "\n".join([f"Alike at each that has it: {words}.", "", *lines])


def main(wanted: list[str]) -> None:
    """Measure, and print."""
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch, PATIENCE_S)
        for server in SERVERS:
            if not wanted or any(server.name.startswith(name) for name in wanted):
                kept[server.name] = measure(server)
                KEPT.write_text(json.dumps(kept, indent=1), "utf-8")
    print(table({server.name: kept[server.name] for server in SERVERS if server.name in kept}))


if __name__ == "__main__":
    main(sys.argv[1:])
