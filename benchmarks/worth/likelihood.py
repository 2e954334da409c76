"""
How likely a model finds a text behind a prompt: the llama.cpp that xllamacpp brings, without its server.

A server tells the probabilities of tokens that it makes, not of those that it is given; one by one that takes
a request each. The library has them all of one pass. What two prompts share at their beginning is evaluated once.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

N_CTX = 8192
N_BATCH = 512
_PIECE_BYTES = 256
_Token = ctypes.c_int32


class _Params(ctypes.Structure):
    """Parameters that begin with *n_ctx*, *n_batch*, *n_ubatch*; larger than any version of them is."""

    _fields_ = (("n_ctx", ctypes.c_uint32), ("rest", ctypes.c_uint32 * 255))


class _Batch(ctypes.Structure):
    _fields_ = (
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(_Token)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    )


_POINTER = ctypes.c_void_p
_INT = ctypes.c_int32
_TEXT = ctypes.c_char_p
_BOOL = ctypes.c_bool
_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_SILENT = _LOG(lambda *_: None)
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "log_set": (None, (_LOG, _POINTER)),
    "backend_init": (None, ()),
    "model_default_params": (_Params, ()),
    "model_load_from_file": (_POINTER, (_TEXT, _Params)),
    "context_default_params": (_Params, ()),
    "init_from_model": (_POINTER, (_POINTER, _Params)),
    "set_n_threads": (None, (_POINTER, _INT, _INT)),
    "model_get_vocab": (_POINTER, (_POINTER,)),
    "vocab_n_tokens": (_INT, (_POINTER,)),
    "tokenize": (_INT, (_POINTER, _TEXT, _INT, ctypes.POINTER(_Token), _INT, _BOOL, _BOOL)),
    "token_to_piece": (_INT, (_POINTER, _Token, _TEXT, _INT, _INT, _BOOL)),
    "get_memory": (_POINTER, (_POINTER,)),
    "memory_seq_rm": (_BOOL, (_POINTER, _INT, _INT, _INT)),
    "batch_init": (_Batch, (_INT, _INT, _INT)),
    "decode": (_INT, (_POINTER, _Batch)),
    "get_logits_ith": (ctypes.POINTER(ctypes.c_float), (_POINTER, _INT)),
}


class LanguageModel:
    """A model in this process, on one thread. State: the tokens that it holds evaluated."""

    def __init__(self, file: Path) -> None:
        self._call = _load()
        params = self._call["context_default_params"]()
        params.n_ctx = N_CTX
        model = self._call["model_load_from_file"](
            str(file).encode(), self._call["model_default_params"]()
        )
        self._context = self._call["init_from_model"](model, params)
        assert self._context, f"{file} does not load"
        self._call["set_n_threads"](self._context, 1, 1)
        self._vocab = self._call["model_get_vocab"](model)
        self._n_vocab = self._call["vocab_n_tokens"](self._vocab)
        self._batch = self._call["batch_init"](N_BATCH, 0, 1)
        self._held: list[int] = []

    def tokenize(self, text: str, *, special: bool = False) -> list[int]:
        """Return the token ids of *text*; with *special* its control tokens are read as such."""
        data = text.encode()
        room = (_Token * (len(data) + 8))()
        n = self._call["tokenize"](self._vocab, data, len(data), room, len(room), False, special)
        return list(room[:n])

    def piece(self, token: int) -> bytes:
        """Return what a token spells."""
        buffer = ctypes.create_string_buffer(_PIECE_BYTES)
        n = self._call["token_to_piece"](self._vocab, token, buffer, _PIECE_BYTES, 0, False)
        return buffer.raw[:n]

    def score(self, prompt: Sequence[int], text: Sequence[int]) -> list[float]:
        """Return the nats of each token of *text* behind *prompt* and those before it."""
        tokens = [*prompt, *text]
        first = len(prompt) - 1  # its logits say what the first one may be
        n_held = min(_n_common(self._held, tokens), first)
        self._call["memory_seq_rm"](self._call["get_memory"](self._context), 0, n_held, -1)
        self._held = tokens[:n_held]
        scores = list[float]()
        for start in range(n_held, len(tokens) - 1, N_BATCH):
            end = min(start + N_BATCH, len(tokens) - 1)
            self._decode(tokens, start, end, first)
            for n in range(max(first, start), end):
                scores.append(self._nats(n - start, tokens[n + 1]))
        return scores

    def _decode(self, tokens: Sequence[int], start: int, end: int, first: int) -> None:
        batch = self._batch
        batch.n_tokens = end - start
        for n in range(start, end):
            batch.token[n - start], batch.pos[n - start] = tokens[n], n
            batch.n_seq_id[n - start] = 1
            batch.seq_id[n - start][0] = 0
            batch.logits[n - start] = n >= first
        failed = self._call["decode"](self._context, batch)
        assert not failed, f"llama_decode: {failed}"
        self._held = list(tokens[:end])

    def _nats(self, row: int, token: int) -> float:
        pointer = self._call["get_logits_ith"](self._context, row)
        logits = np.ctypeslib.as_array(pointer, (self._n_vocab,)).astype(np.float64)
        top = logits.max()
        return float(top + np.log(np.exp(logits - top).sum()) - logits[token])


def _load() -> dict[str, Any]:
    """Return llama.cpp's functions by their names without `llama_`."""
    from xllamacpp import xllamacpp  # noqa: PLC0415 (its library has them)

    library = ctypes.CDLL(xllamacpp.__file__)
    functions = {}
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, f"llama_{name}")
        function.restype = result
        function.argtypes = arguments
        functions[name] = function
    functions["log_set"](_SILENT, None)
    functions["backend_init"]()
    return functions


def _n_common(a: Sequence[int], b: Sequence[int]) -> int:
    pairs = enumerate(zip(a, b, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(a), len(b)))
