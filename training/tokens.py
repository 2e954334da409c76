"""
A corpus into a tokenizer: byte-level BPE behind Qwen's pre-tokenizer, so that llama.cpp has it as `qwen2`.

    python -m training.tokens ~/fim-data        train.jsonl -> tokenizer.json

Ids below `END` are text; the special tokens are the seven of Qwen's that fim-lsp uses.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from server_bridge.fim.tokens import Specials, find_by_name, specials
from training import corpus

VOCAB = 16_384  # 512 wide they are a fifth of the parameters; a token of Python holds 4.2 characters, with 4,096 it held 3.65
END, PREFIX, MIDDLE, SUFFIX, PAD, REPO, FILE = range(VOCAB - 8, VOCAB - 1)  # the last one is unused
SPELLINGS = {
    END: "<|endoftext|>", PREFIX: "<|fim_prefix|>", MIDDLE: "<|fim_middle|>", SUFFIX: "<|fim_suffix|>",
    PAD: "<|fim_pad|>", REPO: "<|repo_name|>", FILE: "<|file_sep|>",
}  # fmt: skip
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SAMPLE_CHARS = 12_000_000  # of each language: enough for merges, and no language has most of them

_FAMILY = find_by_name("fim")
assert _FAMILY is not None
_FIM = specials(_FAMILY, {spelling: (number,) for number, spelling in SPELLINGS.items()}, start=())
assert _FIM is not None
FIM: Specials = _FIM


def sample(path: Path) -> list[str]:
    """Texts of every language, shuffled."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for entry in corpus.read(path):
        texts[entry.language].append(entry.text)
    chosen = []
    for some in texts.values():
        random.Random(0).shuffle(some)
        before = itertools.accumulate(map(len, some), initial=0)
        chosen += [
            text for text, n_chars in zip(some, before, strict=False) if n_chars < SAMPLE_CHARS
        ]
    return chosen


def trained(texts: list[str]) -> Any:
    """Return a `tokenizers.Tokenizer` of these texts."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(QWEN2), "isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=END, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    assert tokenizer.get_vocab_size() == END, "too little text for so many tokens"
    tokens = [AddedToken(text, special=True, normalized=False) for text in SPELLINGS.values()]
    tokenizer.add_special_tokens(tokens)
    return tokenizer


def main() -> None:
    """Train and save."""
    folder = Path(sys.argv[1])
    trained(sample(folder / "train.jsonl")).save(str(folder / "tokenizer.json"))


if __name__ == "__main__":
    main()
