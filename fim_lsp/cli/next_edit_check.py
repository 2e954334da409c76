"""
What `fim-lsp doctor` says of the model for next edits: completions, and the next edit by rules, work without it.
"""

from __future__ import annotations

from fim_lsp.cli.checks import Finding, Target
from fim_lsp.display import shown
from fim_lsp.next_edit.formats import format_of
from fim_lsp.session.model_edits import trouble
from fim_lsp.settings.config import NextEditConfig
from server_bridge.machine import addresses
from server_bridge.protocol import BackendError

NAME = "next edit"
KNOWN = (
    "name the one that is served in fim.nextEdit.model: zeta-2, zeta-2.1 or sweep-next-edit; "
    "the name says the format"
)
SHOWN_NAMES = 5  # models of a server


async def next_edit(target: Target) -> list[Finding]:
    """Whether that model is there, and is one."""
    ours, model = target.config.next_edit, target.next_edits
    if not ours.enabled or not (ours.model or ours.url):
        return []
    if not ours.url:
        fix = "set it to the address of that model's server, like http://127.0.0.1:8013"
        return [_warning(f"there is {shown(ours.model)}, but no fim.nextEdit.url", fix)]
    if model is None or format_of(ours.model) is None:
        says = f"{shown(ours.model)} is no model" if ours.model else "fim.nextEdit.model names none"
        return [_warning(f"{says} for next edits that is known", KNOWN)]
    try:
        return [_of_names(ours, await model.models())]
    except BackendError as error:
        fix = "start it, or empty fim.nextEdit.url: your own edits are repeated without a model"
        return [_warning(trouble(error), fix)]


def _of_names(ours: NextEditConfig, names: list[str]) -> Finding:
    """*names* are the server's; none where it does not say."""
    name, url = shown(ours.model), addresses.shown(ours.url)
    if ours.model in names or not names:
        return Finding(NAME, "ok", f"{name} at {url}")
    fit = [each for each in names if format_of(each) is format_of(ours.model)]
    if fit == names:
        return Finding(NAME, "ok", f"{name} at {url}, there called {fit[0]}")
    others = [each for each in names if format_of(each)]
    fix = f"set fim.nextEdit.model to {(fit or others)[0]}" if others else KNOWN
    return _warning(f"{url} has no {name}, but {', '.join(names[:SHOWN_NAMES])}", fix)


def _warning(says: str, fix: str) -> Finding:
    return Finding(NAME, "warn", says, fix)
