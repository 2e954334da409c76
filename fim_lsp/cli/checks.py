"""
The checks of `fim-lsp doctor` that ask the settings and the model, one small function each.

A check takes the `Target` and returns what it found. No check raises, and no check repeats an
earlier finding.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from fim_lsp.display import sanitize
from fim_lsp.next_edit.formats import format_of
from fim_lsp.session.edits.model_edits import trouble
from fim_lsp.settings.config import BackendConfig, Config, list_servers, remote_servers
from server_bridge.machine.addresses import is_loopback, redact_url
from server_bridge.protocol import Backend, BackendError, Prompt, Reply, Request, State, TextModel
from server_bridge.weights.table import MOST_MS, NAMES, Offer

INSTEAD = (
    f"take one that was trained to fill in: fim-lsp setup --get {NAMES[1]}, or without a name the "
    "best one for this machine"
)

KNOWN = (
    "set fim.nextEdit.server.model to the one that is served: zeta-2, zeta-2.1 or sweep-next-edit; "
    "the name tells the format"
)
WITHOUT = "without a model, fim-lsp still repeats your own edits"
SHOWN_NAMES = 5  # models of a server

TRIAL_TOKENS = 16  # a line of code
# Typed word by word, more than it takes to see a server that keeps nothing.
WORDS = ("    difference", "    difference =", "    difference = first", "    difference = first -")
TRIAL = Prompt(
    repo="trial",
    chunks=(),
    path="trial.py",
    prefix="def add(first, second):\n    return first + second\n\n\n",
    suffix="\n\nprint(subtract(3, 2))\n",
    middle="def subtract(first, second):\n",
)


# Advice on a model whose evaluated prompt cannot be cut off behind any token.
MEMORIES = {
    "recurrent": "; the model is recurrent or hybrid, where a changed prompt goes on from a "
    "checkpoint (kept where they matter with --checkpoint-min-step 256, which fim-lsp serve sets)",
    "sliding window": "; the model has a sliding window (with --swa-full, which fim-lsp serve "
    "sets, it is as fast as any)",
}


KEPT = 0.5  # of a prompt; less is what two files have in common
ONE_PROMPT = "llama-cpp-python"  # which does not tell
ONE = "the server keeps one prompt: each switch of file evaluates the window again"
MORE = "a llama.cpp server keeps more with -np 2 or --cache-ram; fewer chunks do not help"


class Finding(NamedTuple):
    """
    The result of a check. *level* is ok, warn or bad (completions cannot work as set up); *fix*
    says what to do.
    """

    check: str
    level: str
    says: str
    fix: str = ""


OpenToPages = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Target:
    """
    The installation to examine: the settings with the problems in them, and the backend they name.

    *open_to_pages* tells of an address whether web pages from anywhere may use the server there.
    *machine* says what there is to run models with. *next_edits* is the model for next edits, if
    the settings name one and its server.
    *best* is the model of the table that suits this machine, None where none does.
    """

    config: Config
    problems: tuple[str, ...]
    backend: Backend
    open_to_pages: OpenToPages
    machine: str = ""
    next_edits: TextModel | None = None
    best: Offer | None = None


Check = Callable[[Target], Awaitable[list[Finding]]]


async def privacy(target: Target) -> list[Finding]:
    """Report where code is sent, and whether it is encrypted on the way."""
    backend = target.config.backend
    next_edits = target.config.next_edit.server
    keys = [("backend", endpoint.api_key_env) for endpoint in list_servers(backend)]
    findings = []
    for section, env in dict.fromkeys((*keys, ("nextEdit.server", next_edits.api_key_env))):
        if env and env not in os.environ:
            says = f"the environment variable {env} (fim.{section}.apiKeyEnv) is not set"
            findings.append(Finding("privacy", "warn", says, f"export {env}=…"))
    ways = [*remote_servers(backend, next_edits.url)]
    if not ways:
        findings.append(Finding("privacy", "ok", "your code stays on this machine"))
    for way in ways:
        says, _, fix = way.warning.partition(": ")
        safe = f"your code goes to {way.host}, encrypted"
        findings.append(Finding("privacy", *(("warn", says, fix) if fix else ("ok", safe))))
    return findings


async def model(target: Target) -> list[Finding]:
    """Check that there is a model server, and that its model was trained to fill in the middle."""
    try:
        state = (await target.backend.connect()).state
    except BackendError as error:
        says = target.backend.state.message or str(error)
        return [Finding("model", "bad", says, "fim-lsp setup, or docs/configuration.md")]
    where = state.url or target.config.backend.url
    if not state.is_ready:
        fix = "start one: fim-lsp serve; or set fim.backend.kind to embedded"
        says = state.message or f"{where or 'the model server'} is {state.health.value}"
        return [Finding("model", "bad", says, "" if state.message else fix)]
    if other := _not_the_named(target.config.backend, state):
        fix = "start the server there, or name another address: fim-lsp setup --url URL"
        return [Finding("model", "bad", other, fix)]
    instead = [Finding("model", "warn", state.message)] if state.message else []
    if state.is_bundled:
        says = f"{state.kind}: {state.model} works, but is a toy for Python"
        return [*instead, Finding("model", "warn", says, "get a real one: fim-lsp setup")]
    if state.second_best:
        says = f"{state.kind} at {where}: second best: {state.second_best}"
        return [Finding("model", "warn", says, INSTEAD)]
    at = "" if state.kind == "embedded" else f" at {where}"  # which says nothing to a user
    says = f"{state.kind}{at}: {state.model}, made for filling in the middle"
    return [Finding("model", "ok", says), *instead]


async def speed(target: Target) -> list[Finding]:
    """Measure how long one line takes, and check that the server keeps what it evaluated."""
    try:
        for typed in (WORDS[-1], ""):  # two prompts, each twice: how each is cut tells the memory
            await _trial(target.backend, typed)
            reply, ms = await _trial(target.backend, typed)
    except BackendError as error:
        return [Finding("speed", "bad", f"no completion: {error}", "try again, or see its log")]
    cost = reply.timings
    is_guess = "cached" in target.backend.state.engine.guessed
    kept = f"{cost.cache_n} of the prompt from the cache"
    kept = f"about {kept} (estimated: the server does not say)" if is_guess else kept
    says = f"{cost.predicted_n} tokens in {ms:.0f} ms, {kept}"
    if cost.draft_n:
        says += f", {cost.draft_accepted_n} of {cost.draft_n} drafts right"
    if not cost.cache_n:
        fix = "allow prompt caching on the server (llama-server: no --no-cache-prompt)"
        return [Finding("speed", "warn", f"{says}: every key costs the whole prompt", fix)]
    if fix := _faster(target, (cost.predicted_ms or ms) / max(1, cost.predicted_n)):
        return [Finding("speed", "warn", f"{says}: slow", fix)]
    return [Finding("speed", "ok", says)]


async def cache(target: Target) -> list[Finding]:
    """Check that the server keeps what it evaluated when two files are edited in turn."""
    n_right = 0
    n_foretold = 0
    kept = 0.0  # the largest share of a prompt, at a return to its file
    for typed in WORDS:
        for path in ("first.py", "second.py"):
            prompt = replace(TRIAL, path=path, middle=TRIAL.middle + typed)
            try:
                model = await target.backend.connect()
                cost = (await model.complete(Request(prompt, 1))).timings
            except BackendError as error:
                return [Finding("cache", "warn", f"a completion failed: {error}")]
            n_foretold += cost.expected_n is not None
            n_right += cost.expected_n == cost.cache_n
            if typed != WORDS[0]:
                kept = max(kept, cost.cache_n / (cost.prompt_n + cost.cache_n))
    state = target.backend.state
    if state.kind == "openai":
        if state.engine.name == ONE_PROMPT:
            return [Finding("cache", "ok", ONE)]
        is_one = 0 < kept < KEPT and "cached" not in state.engine.guessed
        return [Finding("cache", "ok", ONE, MORE)] if is_one else []
    if not n_foretold and not state.memory:
        return []
    says = f"{n_right} of {n_foretold} predictions of what the server keeps were right"
    says = says if n_foretold else "what the server keeps cannot be predicted"
    level = "warn" if state.cache_problem else "ok"
    return [Finding("cache", level, says + MEMORIES.get(state.memory, ""), state.cache_problem)]


async def speculation(target: Target) -> list[Finding]:
    """Check that a server that was told to draft tokens does so."""
    state = target.backend.state
    if not state.drafters:
        return []
    if state.drafts:
        drafters = f"the server speculates ({state.drafters})"
        says = f"{drafters}, and reports its confidence for few tokens only"
        return [Finding("drafts", "ok", says)]
    says = f"the server was started with --spec-type {state.drafters}, but does not speculate"
    fix = "its log says why: most often the draft model (-md) is of another family than the model"
    return [Finding("drafts", "warn", says, fix)]


async def next_edit(target: Target) -> list[Finding]:
    """Check that the server for next edits has the model that is named, and that it is one."""
    server = target.config.next_edit.server
    model = target.next_edits
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


def _faster(target: Target, ms_per_token: float) -> str:
    """Say what is faster where a token takes *ms_per_token*, "" where nothing is, or it is quick."""
    state = target.backend.state
    best = target.best
    if ms_per_token <= MOST_MS:
        return ""
    if not is_loopback(state.url) and state.kind != "embedded":
        return "start the server with a smaller model, or with more layers on its GPU"
    if best is None or best.ms_per_token >= ms_per_token:
        return ""
    family = best.model.file.removesuffix("-q8_0.gguf")  # it may be there in another precision
    if Path(state.model).name.lower().startswith(family):
        return ""
    return f"take a smaller model: fim-lsp setup --get {best.model.name}"


def _not_the_named(backend: BackendConfig, state: State) -> str:
    """
    Return why another server answers than the one at `fim.backend.url`, "" where it is that one, or
    none is named.
    """
    named = "" if backend.endpoints else redact_url(backend.url)
    if not named or (state.kind != "embedded" and named.startswith(state.url)):
        return ""
    return state.message or f"{named} does not answer; {state.model} is used meanwhile"


async def _trial(backend: Backend, typed: str = "") -> tuple[Reply, float]:
    model = await backend.connect()
    started = time.perf_counter()
    prompt = replace(TRIAL, middle=TRIAL.middle + typed)
    reply = await model.complete(Request(prompt, TRIAL_TOKENS))
    return reply, (time.perf_counter() - started) * 1000


def _of_names(server: BackendConfig, names: list[str]) -> Finding:
    """Check the model's name against the *names* of the server; none where it does not say."""
    name = sanitize(server.model)
    url = redact_url(server.url)
    if server.model in names or not names:
        return Finding("next edit", "ok", f"{name} at {url}")
    fit = [served for served in names if format_of(served) is format_of(server.model)]
    if fit == names:
        return Finding("next edit", "ok", f"{name} at {url}, there called {fit[0]}")
    others = [served for served in names if format_of(served)]
    fix = f"set fim.nextEdit.server.model to {(fit or others)[0]}" if others else KNOWN
    return _warning(f"{url} has no {name}, but {', '.join(names[:SHOWN_NAMES])}", fix)


def _warning(says: str, fix: str) -> Finding:
    return Finding("next edit", "warn", says, fix)
