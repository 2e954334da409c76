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
from fim_lsp.cli.terminal import Screen, screen_on, wrap
from fim_lsp.display import sanitize
from fim_lsp.next_edit.formats import format_of
from fim_lsp.session.edits.model_edits import trouble
from fim_lsp.settings.backend import BackendConfig
from server_bridge.machine import addresses
from server_bridge.protocol import BackendError

NAME = "next edit"
KNOWN = (
    "set fim.nextEdit.server.model to the one that is served: zeta-2, zeta-2.1 or sweep-next-edit; "
    "the name tells the format"
)
WITHOUT = "without a model, fim-lsp still repeats your own edits"
SHOWN_NAMES = 5  # models of a server


async def next_edit(target: Target) -> list[Finding]:
    """Check that the server has this model, and that it is a model for next edits."""
    server, model = target.config.next_edit.server, target.next_edits
    if not target.config.next_edit.enabled or not (server.model or server.url):
        return []
    if not server.url:
        fix = "set it to the address of that model's server, like http://127.0.0.1:8013"
        return [_warning(f"there is {sanitize(server.model)}, but no fim.nextEdit.server.url", fix)]
    if model is None or format_of(server.model) is None:
        named = f"{sanitize(server.model)} is no known next-edit model"
        return [_warning(named if server.model else "fim.nextEdit.server.model is not set", KNOWN)]
    try:
        return [_of_names(server, await model.models())]
    except BackendError as error:
        fix = f"start it, or empty fim.nextEdit.server.url: {WITHOUT}"
        return [_warning(trouble(error), fix)]


def _of_names(server: BackendConfig, names: list[str]) -> Finding:
    """Check the model's name against the *names* of the server; none where it does not say."""
    name, url = sanitize(server.model), addresses.redact_url(server.url)
    if server.model in names or not names:
        return Finding(NAME, "ok", f"{name} at {url}")
    fit = [served for served in names if format_of(served) is format_of(server.model)]
    if fit == names:
        return Finding(NAME, "ok", f"{name} at {url}, there called {fit[0]}")
    others = [served for served in names if format_of(served)]
    fix = f"set fim.nextEdit.server.model to {(fit or others)[0]}" if others else KNOWN
    return _warning(f"{url} has no {name}, but {', '.join(names[:SHOWN_NAMES])}", fix)


def _warning(says: str, fix: str) -> Finding:
    return Finding(NAME, "warn", says, fix)


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
        end = "Completions work." if works else "Completions cannot work as set up: see above."
        screen.line(f"\n{end}")
    return 0 if works else 1


async def _examine(target: Target, screen: Screen | None) -> list[Finding]:
    findings: list[Finding] = []
    try:
        for check in (*CHECKS, next_edit):
            if screen:
                screen.status(f"checking {check.__name__.replace('_', ' ')} …")
            of_check = await check(target)
            findings += of_check
            if screen:
                _show(screen, of_check)
    finally:
        await target.backend.aclose()
        if target.next_edits is not None:
            await target.next_edits.aclose()
    return findings


def _show(screen: Screen, findings: list[Finding]) -> None:
    screen.status("")
    for finding in findings:
        level = screen.paint(f"{finding.level:<5}", ROLES[finding.level])
        says, *more = wrap(finding.says, screen.width - INDENT)
        screen.line(f"{level} {finding.check:<9} {says}")
        fix = wrap(finding.fix, screen.width - INDENT - 2)
        more += [f"{'→ ' if n == 0 else '  '}{line}" for n, line in enumerate(fix)]
        for line in more:
            screen.line(" " * INDENT + line)
