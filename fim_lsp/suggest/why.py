"""
Why a request got nothing: one value, an `End`, made from the state of the request, here and nowhere
else. Pure.

    when it ends                  made by
    no document, no text known    `NOT_OPEN`, `UNASKED`
    before the model is asked     `why_hidden`, `LARGE` (the verdict), then `why_none` (all rules)
    with a text                   `end_with`: its source, or the filter that left nothing
    without one                   `SLOW`, `why_away`, `why_superseded`, `why_failed`

A session keeps it with the answer; `fim.why`, `fim/stats` and the log only read it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fim_lsp.context.ignore_rules import below, compile_rules, scope, why_ignored
from fim_lsp.suggest import boundary
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.reasons import End, Outcome
from fim_lsp.suggest.request import CompletionRequest
from fim_lsp.suggest.scope import scope_at
from server_bridge.protocol import BackendError, State

LANGUAGE = re.compile(r"[A-Za-z][\w+#-]*")

# A question or a message is typed there, not code. Schemes of VS Code: the commit message, the
# inputs of chats, of the debug console and of comments. Languages: VS Code's, and file types of
# Neovim plugins with such buffers.
PROMPT_SCHEMES = frozenset({
    "vscode-scm", "chatsessioninput", "vscode-chat-input", "vscode-chat-session",
    "vscode-interactive-input", "comment",
    "debug",
})  # fmt: skip
PROMPT_LANGUAGES = frozenset({
    "scminput", "chatinput", "TelescopePrompt", "snacks_picker_input", "snacks_input",
    "dap-repl", "codecompanion", "AvanteInput", "copilot-chat", "sidekick_terminal",
})  # fmt: skip

NOT_OPEN = End(Outcome.NOT_OPEN)
UNASKED = End(Outcome.UNASKED)
SUPERSEDED = End(Outcome.SUPERSEDED)
LARGE = End(Outcome.LARGE)
SLOW = End(Outcome.SLOW)


def why_hidden(rule: str, *, is_early: bool) -> End:
    """
    Return why nothing of a document is used, by this *rule*; *is_early*: it is not judged yet.
    """
    return End(Outcome.EARLY if is_early else Outcome.PRIVATE, rule)


def why_none(
    request: CompletionRequest, refusal: End | None, *, is_snoozed: bool, deleted: bool
) -> End | None:
    """
    Return why *request* gets nothing, whatever is known at its place; None where it may get
    something. *refusal*: why nothing of its document is used; *deleted*: see `boundary.quiet`.
    """
    if refusal is not None:
        return refusal
    if boundary.too_long(request.cursor):
        return End(Outcome.LONG_LINE)
    return None if request.invoked else _why_quiet(request, is_snoozed=is_snoozed, deleted=deleted)


def _why_quiet(request: CompletionRequest, *, is_snoozed: bool, deleted: bool) -> End | None:
    """Return why a *request* while typing gets nothing that one by hand may get."""
    document = request.document
    wanted = request.config.completion
    if not wanted.auto:
        return End(Outcome.OFF)
    end = why_disabled(wanted.disabled_for, document.uri, document.language, request.path)
    if end is not None:
        return end
    if is_snoozed:
        return End(Outcome.NOT_NOW)
    where = scope_at(document, request.position) if wanted.quiet_in else ""
    outcome = boundary.quiet(request.cursor, deleted=deleted, scope=where, excluded=wanted.quiet_in)
    return End(outcome) if outcome else None


@lru_cache(maxsize=256)  # asked at each key; a project's list may have thousands of entries
def why_disabled(entries: tuple[str, ...], uri: str, language: str, path: str) -> End | None:
    """
    Return the reason why a document gets no automatic suggestions, None where it gets some; *path*
    is within its workspace.

    One of *entries* (`fim.completion.disabledFor`) is a language, or a pattern of file names as in
    a `.gitignore`; an entry that begins with `!` takes back earlier ones.
    """
    if uri.partition(":")[0].lower() in PROMPT_SCHEMES or language in PROMPT_LANGUAGES:
        return End(Outcome.IN_PROMPT)
    last = ""
    for entry in entries:
        if _names(entry.removeprefix("!"), language, path):
            last = "" if entry.startswith("!") else entry
    return End(Outcome.DISABLED, last) if last else None


def end_with(outcome: Outcome, left: Candidate, state: State, *, is_shown: bool) -> End:
    """
    Return the end of a request whose text came by this *outcome*, while the backend is in this
    *state*: the filters *left* that of the likeliest one. *is_shown*: there is a suggestion.
    """
    if is_shown or not left.cuts:
        return End(outcome, told=source(outcome, state) if is_shown else "")
    last = left.cuts[-1]
    is_unasked = last.filter == Outcome.MODEL and not state.is_ready
    return End(Outcome(last.filter), last.why, told=Outcome.LOCAL.words if is_unasked else "")


def why_away(end: End, state: State) -> End:
    """Return *end*, to which a request by hand came, with what the model lacks in this *state*."""
    return end._replace(told=state.message or "the model is not ready yet", is_failure=True)


def why_superseded(why: str) -> End:
    """Return the end of a request that was withdrawn, and *why*."""
    return SUPERSEDED._replace(told=why)


def why_failed(error: Exception, request: CompletionRequest, state: State) -> End:
    """Return the end of *request* by an *error*, a late one by TimeoutError, in this *state*."""
    if isinstance(error, BackendError):
        return End(Outcome.NO_MODEL, told=str(error) or state.message, is_failure=True)
    if not isinstance(error, TimeoutError):
        return End(Outcome.FAILED, is_failure=True)
    if request.limit_s < request.deadline_s:
        return SLOW
    return End(
        Outcome.TOO_LATE,
        told=state.message or "the model server does not answer",
        is_failure=True,
    )


def source(outcome: Outcome, state: State) -> str:
    """Return where a suggestion with this outcome comes from, in words."""
    if outcome is Outcome.LOCAL:
        return "a line in sight that begins as this one does"
    ours = "inside this package" if state.is_bundled else "on this machine"
    where = ours if state.kind == "embedded" else state.url
    return f"{state.model or 'the model'} ({where})"


def _names(entry: str, language: str, path: str) -> bool:
    """Return whether *entry* names this language or file."""
    if LANGUAGE.fullmatch(entry):
        return entry == language
    *folders, name = path.encode("utf-8", "surrogatepass").split(b"/")
    here = scope([compile_rules(entry.encode("utf-8", "surrogatepass"), entry)])
    for folder in folders:
        here = below(here, folder)
    return bool(why_ignored(here, name))
