"""
How other clients ask: a document, a position and a ring into a request for llama.cpp's server. Pure.

Each policy is our implementation of what its client does by default (the version is named beside it).
Only prompts are compared, so other things are in favour of all of them:
the ring never changes (llama.vim's own evicts at random), no request is lost to a fixed debounce,
and every client gets the exact-match cache that llama.vim has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fim_lsp.documents import Document, Position, body, unix
from server_bridge.protocol import Chunk

Ring = tuple[Chunk, ...]
CompletionRequest = tuple[str, dict[str, Any]]  # path, body
Policy = Callable[
    [Document, Position, Ring], CompletionRequest | None
]  # None: this client would send nothing here

FIM = "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"  # Qwen2.5-Coder's, as text

# llama.vim (January 2026): lines sent around the cursor, and bytes right of it that silence it
VIM_PREFIX_LINES, VIM_SUFFIX_LINES, VIM_RIGHT_BYTES = 256, 64, 8
# llm.nvim's default `context_window`, in tokens; without a tokenizer file llm-ls counts bytes, with
# one about 4 to a token in code
LLM_LS_TOKENS, BYTES_PER_TOKEN = 1024, 4
LSP_AI_CHARS = (
    1024 * 4
)  # `max_context` of its examples, and its own estimate of 4 characters a token
TABBY_LINES, TABBY_SNIPPET_CHARS = 20, 768  # tabby-agent: lines each side; tabby: snippets in all
MINUET_CHARS, MINUET_RATIO = 16000, 0.75  # `context_window`, and the share above the cursor
MINUET_LOCAL_CHARS = 512  # what its README advises for a local model
WORD = re.compile(r"\w+")


def llama_vim(document: Document, position: Position, ring: Ring) -> CompletionRequest | None:
    """Return whole lines around the cursor, the typed part of the line apart; `/infill` cuts and joins them."""
    left, right = _sides(document, position)
    if len(right.encode()) > VIM_RIGHT_BYTES:
        return None
    blank = not (left + right).strip()  # a blank line is left out of the prompt
    y, lines = position.line, document.lines
    above = "".join(lines[max(0, y - VIM_PREFIX_LINES) : y]) or "\n"
    below = [body(line) for line in lines[y + 1 : y + 1 + VIM_SUFFIX_LINES]]
    return "/infill", {
        "input_prefix": unix(above),
        "prompt": "" if blank else left,
        "input_suffix": ("" if blank else right) + "\n" + "\n".join(below) + "\n",
        "input_extra": [{"filename": chunk.name, "text": chunk.text} for chunk in ring],
        "n_indent": 0 if blank else len(left + right) - len((left + right).lstrip(" \t")),
    }


def llm_ls(document: Document, position: Position, _ring: Ring) -> CompletionRequest | None:
    """Lines taken in turn from above and below the cursor until the budget is spent (0.5.3)."""
    left, right = _sides(document, position)
    if right and not right[0].isspace():
        return None
    y, lines = position.line, document.lines
    above, below = [left], [right + "\n"]
    budget = LLM_LS_TOKENS * BYTES_PER_TOKEN - len(left) - len(right)
    for n in range(1, len(lines)):
        up = lines[y - n] if n <= y else ""
        down = lines[y + n] if y + n < len(lines) else ""
        if len(up) > budget or not up + down:
            break
        above.append(up)
        budget -= len(up)
        if len(down) > budget:
            break
        below.append(down)
        budget -= len(down)
    return _completion("".join(reversed(above)), "".join(below))


def lsp_ai(document: Document, position: Position, _ring: Ring) -> CompletionRequest | None:
    """Return a fixed number of characters with the cursor in their middle (2025)."""
    text, at = document.text, _offset(document, position)
    start = max(0, at - LSP_AI_CHARS // 2)
    return _completion(text[start:at], text[at : start + LSP_AI_CHARS])


def tabby(document: Document, position: Position, ring: Ring) -> CompletionRequest | None:
    """Twenty lines each side, and above them the snippets that fit what is on screen best (2026)."""
    left, right = _sides(document, position)
    y, lines = position.line, document.lines
    above = "".join(lines[max(0, y - TABBY_LINES) : y]) + left
    below = right + "\n" + "".join(lines[y + 1 : y + 1 + TABBY_LINES])
    words = set(WORD.findall(above))
    ranked = sorted(ring, key=lambda chunk: -len(words & set(WORD.findall(chunk.text))))
    snippets, room = "", TABBY_SNIPPET_CHARS
    for chunk in ranked:
        text = f"Path: {chunk.name}\n{chunk.text}"[:room]
        room -= len(text)
        snippets += "".join(f"# {line}\n" for line in text.split("\n") if text)
    return _completion(snippets + above, below)


def minuet(document: Document, position: Position, _ring: Ring) -> CompletionRequest | None:
    """Return a number of characters, three in four of them above the cursor (2026)."""
    return _around(document, position, MINUET_CHARS)


def minuet_local(document: Document, position: Position, _ring: Ring) -> CompletionRequest | None:
    """Return the same with the small window that its README advises for local models."""
    return _around(document, position, MINUET_LOCAL_CHARS)


POLICIES: dict[str, Policy] = {
    "llama.vim": llama_vim,
    "llm-ls": llm_ls,
    "lsp-ai": lsp_ai,
    "tabby": tabby,
    "minuet": minuet,
    "minuet local": minuet_local,
}


def _around(document: Document, position: Position, n_chars: int) -> CompletionRequest:
    text, at = document.text, _offset(document, position)
    above, below = text[:at], text[at:]
    if len(above) + len(below) > n_chars:
        n_above = int(n_chars * MINUET_RATIO)
        if len(above) < n_above:
            below = below[: n_chars - len(above)]
        elif len(below) < n_chars - n_above:
            above = above[len(below) - n_chars :]
        else:
            above, below = above[-n_above:], below[: n_chars - n_above]
    return _completion(above, below)


def _completion(prefix: str, suffix: str) -> CompletionRequest:
    return "/completion", {"prompt": FIM.format(prefix=unix(prefix), suffix=unix(suffix))}


def _sides(document: Document, position: Position) -> tuple[str, str]:
    """Return the cursor's line left and right of it."""
    line = body(document.lines[position.line])
    return line[: position.column], line[position.column :]


def _offset(document: Document, position: Position) -> int:
    return sum(map(len, document.lines[: position.line])) + position.column
