"""
The checks of `fim-lsp doctor` that ask a server: who else may ask it, and what it does with answers.

Advice names only options that this server has; a guess is called one where the server does not
tell.
"""

from __future__ import annotations

import time
from contextlib import aclosing

from fim_lsp.cli import checks
from fim_lsp.cli.checks import TRIAL, Check, Finding, Target
from fim_lsp.settings.config import list_servers, remote_servers
from server_bridge.machine import processes
from server_bridge.machine.addresses import redact_url
from server_bridge.machine.disks import in_disk_thread
from server_bridge.protocol import Backend, BackendError, Request, State
from server_bridge.weights.table import GIGABYTE

# The window around the cursor alone takes 1,536 tokens by default (prefix, suffix, middle) and an
# answer up to 128; below this there is no room for other files.
SMALL_CONTEXT = 4096
# How a server is kept from others, where that needs a key and where a key is too little, by engine.
CLOSED = {
    "": ("start it with a key", "start it with a key that it asks for, see its documentation"),
    "llamacpp": (
        "start it with --api-key-file FILE",
        "use fim-lsp serve, or start it with --api-key-file FILE and --cors-origins localhost",
    ),
    "llama-cpp-python": ("start it with --api_key KEY", "start it with --api_key KEY"),
    "mlx_lm.server": (
        "put a proxy that asks for a key in front of it",
        "start it with --allowed-origins http://localhost",
    ),
    "vllm": (
        "start it with --api-key KEY",
        "start it with --api-key KEY and --allowed-origins '[]'",
    ),
}
LARGER = {
    "": f"start the server with a context of at least {SMALL_CONTEXT} tokens",
    "llamacpp": f"start the server with a larger -c (at least {SMALL_CONTEXT} × its -np)",
    "llama-cpp-python": f"start the server with a larger --n_ctx (at least {SMALL_CONTEXT})",
    "vllm": f"start the server with a larger --max-model-len (at least {SMALL_CONTEXT})",
}

# Of a streamed answer: so many tokens; fewer pieces, or a shorter time, tell nothing of blocks; and
# the share of the time in which all of them come where something holds them back.
STREAMED = 32
FEW_PIECES = 8
SOON_MS = 30.0
AT_ONCE = 0.1


async def access(target: Target) -> list[Finding]:
    """Check that the server answers no other machine and no web page."""
    url = target.backend.state.url
    servers = list_servers(target.config.backend)
    used = [server for server in servers if redact_url(server.url).startswith(url)]
    if any(one.api_key_env or one.api_key_file or one.api_key_command for one in used):
        return []
    name, fix = CLOSED.get(_engine(target.backend.state), CLOSED[""])
    if hosts := [way.host for one in used for way in remote_servers(one)]:
        key = f"{name}, and name yours in fim.backend.apiKeyFile"
        return [Finding("access", "warn", f"{hosts[0]} answers anyone who can reach it", key)]
    if await target.open_to_pages(url):
        says = f"any page in your browser can ask {url} and read its answers"
        return [Finding("access", "warn", says, fix)]
    return []


async def context(target: Target) -> list[Finding]:
    """Check that a prompt with other files fits into one slot."""
    state = target.backend.state
    says = f"{state.n_ctx} tokens"
    if "context" in state.engine.guessed:
        fix = "if it is another one, set fim.backend.contextTokens to it"
        says = f"{says}, assumed: the server does not say"
        return [Finding("context", "warn" if state.n_ctx < SMALL_CONTEXT else "ok", says, fix)]
    if "slots" not in state.engine.guessed:
        slots = "slot" if state.slots == 1 else "slots"
        says += f" in each of {state.slots} {slots}"
    if state.n_ctx < SMALL_CONTEXT:
        fix = LARGER.get(_engine(state), LARGER[""])
        return [Finding("context", "warn", f"{says}: no room for other files", fix)]
    return [Finding("context", "ok", says)]


async def memory(target: Target) -> list[Finding]:
    """Report the memory that an engine of ours takes now, and the most that it may keep."""
    engine = target.backend.state.engine
    if not engine.most_kept:
        return []
    now = await in_disk_thread(processes.memory, engine.pid)
    taken = f"{now / GIGABYTE:.1f} GB now, the model's file included; " if now else ""
    kept = f"what it has evaluated takes {engine.most_kept / GIGABYTE:.1f} GB at most"
    return [Finding("memory", "ok", taken + kept)]


async def answers(target: Target) -> list[Finding]:
    """Check how answers come: piece by piece, to their end, and with how sure the model is."""
    state = target.backend.state
    findings = []
    try:
        in_blocks = [is_at_once(await time_pieces(target.backend)) for _ in range(2)]
    except BackendError as error:
        return [Finding("answers", "warn", f"a stream failed: {error}")]
    if all(in_blocks):
        says = "a whole text comes at once: something before the model holds its pieces back"
        fix = "name the model server's own address, or turn buffering off in the proxy before it"
        findings.append(Finding("answers", "warn", says, fix))
    if "confidence" in state.engine.guessed:
        says = "no probabilities: fim.suggestions and fim.completion.minConfidence do nothing"
        findings.append(Finding("answers", "ok", says))
    if state.engine.name == "llama-cpp-python":
        says = "the server ends an answer where another request waits; fim-lsp asks again"
        fix = "if several programs use it, start it with --interrupt_requests false"
        findings.append(Finding("answers", "ok", says, fix))
    return findings


# Of these, each asks a model that is ready.
OF_MODEL: tuple[Check, ...] = (
    access, context, memory, checks.speed, checks.cache, checks.speculation, answers,
)  # fmt: skip


def _engine(state: State) -> str:
    """Return the program that serves, as `CLOSED` and `LARGER` call it."""
    return state.engine.name.partition("-0")[0] if state.kind == "openai" else "llamacpp"


async def time_pieces(backend: Backend) -> list[float]:
    """Return after how many milliseconds each piece of a streamed text came."""
    model = await backend.connect()
    started = time.perf_counter()
    async with aclosing(model.stream(Request(TRIAL, STREAMED))) as replies:
        times = [time.perf_counter() async for reply in replies if reply.text]
    return [(came - started) * 1000 for came in times]


def is_at_once(times: list[float]) -> bool:
    """Return whether all pieces came together, though the text took its time."""
    if len(times) < FEW_PIECES or times[-1] < SOON_MS:
        return False
    return times[-1] - times[0] < AT_ONCE * times[-1]
