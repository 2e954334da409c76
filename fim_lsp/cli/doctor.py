"""
`fim-lsp doctor`: examines this installation and says exactly what to change.

Exit code 1 when completions cannot work, 0 otherwise, with warnings or without. A check more is one
more function in `CHECKS`; what the settings and the model are asked stands in `checks`
and `server_checks`.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import platform
import sys
import time
from argparse import Namespace
from pathlib import Path

from fim_lsp import __version__
from fim_lsp.cli import checks
from fim_lsp.cli.checks import Check, Finding, Target
from fim_lsp.cli.client import EditorError, editor
from fim_lsp.cli.server_checks import OF_MODEL
from fim_lsp.cli.terminal import Screen, screen_on, wrap
from fim_lsp.lsp.watchdog import describe_last_end
from fim_lsp.settings.files import ANNOUNCED, cache_folder, list_stopping, user_file
from fim_lsp.settings.merge import UNTIL_MENDED
from server_bridge.machine import private_files
from server_bridge.machine.disks import in_disk_thread

ENGINE = "xllamacpp"  # the embedded engine, which may be missing where a server is used
PACKAGES = ("pygls", "lsprotocol", "httpx", "xxhash", "tree-sitter", ENGINE)


async def version(_: Target) -> list[Finding]:
    """
    Report the versions of this package, of Python and of the system: the first thing a bug report
    needs.
    """
    system = f"{platform.system()} {platform.machine()}"
    says = f"fim-lsp {__version__}, Python {platform.python_version()} on {system}"
    return [Finding("version", "ok", says)]


async def machine(target: Target) -> list[Finding]:
    """Report the memory and processors that can run models."""
    return [Finding("machine", "ok", target.machine)] if target.machine else []


async def packages(target: Target) -> list[Finding]:
    """Report the versions of what does the work, and check that there is the embedded engine."""
    versions = {name: _version(name) for name in PACKAGES}
    if not versions[ENGINE] and target.config.backend.kind in {"auto", "embedded"}:
        fix = f"pip install {ENGINE}, or set fim.backend.url to a llama-server"
        return [Finding("packages", "warn", f"{ENGINE} is missing: no embedded engine", fix)]
    return [Finding("packages", "ok", ", ".join(f"{n} {v}" for n, v in versions.items() if v))]


async def settings(target: Target) -> list[Finding]:
    """Report what is wrong in the settings files, and whether it stops all suggestions."""
    if not target.problems:
        path = user_file()
        where = str(path) if path.exists() else f"none of your own ({path})"
        return [Finding("settings", "ok", f"no problems found; {where}")]
    return [_of_settings(problem) for problem in target.problems]


def _of_settings(problem: str) -> Finding:
    if not list_stopping((problem,)):
        hint = "correct it; until then the default is used"
        return Finding("settings", "warn", problem, hint)
    says = problem.removesuffix(UNTIL_MENDED)
    return Finding("settings", "bad", says, "correct it; until then nothing is suggested")


async def server(_: Target) -> list[Finding]:
    """Check that the language server starts, as an editor starts it."""
    started = time.perf_counter()
    try:
        async with editor(Path.cwd(), {}):
            ms = (time.perf_counter() - started) * 1000
    except EditorError as error:
        return [Finding("server", "bad", str(error), "report this with the lines above")]
    return [Finding("server", "ok", f"`fim-lsp --stdio` answers after {ms:.0f} ms")]


async def ports(_: Target) -> list[Finding]:
    """
    List the ports at which sessions of this user answer other programs, and check that they still
    do.
    """
    findings = []
    for there in await in_disk_thread(private_files.find_announced, cache_folder() / ANNOUNCED):
        try:
            host, port = there.url.removeprefix("http://").rsplit(":", 1)
            writer = (await asyncio.open_connection(host, int(port)))[1]
            writer.close()
        except (OSError, ValueError):
            await in_disk_thread(private_files.withdraw, there.file)  # its process was killed
        else:
            programs = f"process {there.pid} answers other programs at {there.url}"
            findings.append(Finding("http", "ok", f"{programs}, where its page is, too"))
    return findings


async def hung(_: Target) -> list[Finding]:
    """Report the last server of this user that was ended because its event loop hung."""
    says = await in_disk_thread(describe_last_end, cache_folder())
    return [Finding("hung", "warn", says, "report it, and delete that file")] if says else []


# In this order: what comes first explains what fails later.
CHECKS: tuple[Check, ...] = (
    version, machine, packages, settings, checks.privacy, server, checks.model, *OF_MODEL,
    ports, hung, checks.next_edit,
)  # fmt: skip

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
        stopping = ", ".join(list_stopping(target.problems))
        end = "Completions work." if works else "Completions cannot work as set up: see above."
        screen.line(f"\n{f'No suggestions until {stopping} is corrected.' if stopping else end}")
    return 0 if works else 1


async def _examine(target: Target, screen: Screen | None) -> list[Finding]:
    findings: list[Finding] = []
    try:
        for check in CHECKS:
            if check in OF_MODEL and not target.backend.state.is_ready:
                continue
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


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
