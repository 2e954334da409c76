"""
`fim-lsp doctor`: examines this installation and says exactly what to change.

Exit code 1 when completions cannot work, 0 otherwise, with warnings or without.
"""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace

from fim_lsp.cli.checks import CHECKS, Finding, Target
from fim_lsp.cli.next_edit_check import next_edit
from fim_lsp.cli.terminal import Screen, screen_on, wrapped

INDENT = 16  # of what a check says
ROLES = {"ok": "good", "warn": "warn", "bad": "bad"}


def run(arguments: Namespace, target: Target) -> int:
    """Print what the checks find; returns the exit code."""
    screen = None if arguments.json else screen_on(sys.stdout)
    findings = asyncio.run(_examine(target, screen))
    works = all(finding.level != "bad" for finding in findings)
    if screen is None:
        print(json.dumps({"works": works, "findings": [f._asdict() for f in findings]}, indent=2))
    else:
        screen.line()
        end = "Completions work." if works else "Completions cannot work as set up: see above."
        screen.line(end)
    return 0 if works else 1


async def _examine(target: Target, screen: Screen | None) -> list[Finding]:
    findings: list[Finding] = []
    try:
        for check in (*CHECKS, next_edit):
            if screen:
                screen.status(f"checking {check.__name__.replace('_', ' ')} …")
            found = await check(target)
            findings += found
            if screen:
                _show(screen, found)
    finally:
        await target.backend.aclose()
        if target.next_edits is not None:
            await target.next_edits.aclose()
    return findings


def _show(screen: Screen, found: list[Finding]) -> None:
    screen.status("")
    for finding in found:
        level = screen.paint(f"{finding.level:<5}", ROLES[finding.level])
        says, *more = wrapped(finding.says, screen.width - INDENT)
        screen.line(f"{level} {finding.check:<9} {says}")
        fix = wrapped(finding.fix, screen.width - INDENT - 2)
        more += [f"{'→ ' if n == 0 else '  '}{line}" for n, line in enumerate(fix)]
        for line in more:
            screen.line(" " * INDENT + line)
