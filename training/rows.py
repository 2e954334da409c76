"""
A corpus into packed training rows: mostly fill-in-the-middle documents in fim-lsp's own layout.

    data/*_corpus.json, tokenizer.json  ->  data/t{T}_{i}_x.npy  token ids, one row of T + 1 each
                                            data/t{T}_{i}_m.npy  1 where a token belongs to a middle

    python rows.py 38 14      38M tokens in rows of 1024, 14M in rows of 2048
"""

from __future__ import annotations

import collections
import json
import keyword
import multiprocessing
import os
import random
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process per part instead

CHARS_PER_TOKEN = 3.3  # a little low, so that documents fit their row
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
COMMON = set(keyword.kwlist) | {
    "self", "None", "True", "False", "args", "kwargs", "name", "value", "return", "type", "this",
    "that", "with", "from", "import",
}  # fmt: skip
MOST_PLACES = 40  # an identifier in more places than that says nothing about any of them


class Lines(NamedTuple):
    """Lines a..b of a file."""

    file: int
    start: int
    end: int


class Package:
    """One package's files as lines, and where its identifiers stand."""

    def __init__(self, name: str, files: list[list[str]]) -> None:
        self.name = name
        split = [(path, text.splitlines(keepends=True)) for path, text in files]
        self.files = [(path, lines) for path, lines in split if len(lines) >= 8]
        self.weights = [len(lines) for _, lines in self.files]
        self.places: dict[str, list[tuple[int, int]]] = collections.defaultdict(list)
        for f, (_, lines) in enumerate(self.files):
            for n, line in enumerate(lines):
                for word in set(IDENTIFIER.findall(line)) - COMMON:
                    if len(self.places[word]) < MOST_PLACES:
                        self.places[word].append((f, n))

    def any_file(self, rng: random.Random) -> int:
        return rng.choices(range(len(self.files)), self.weights)[0]


def n_chars(lines: list[str]) -> int:
    return sum(map(len, lines))


def cut_in(rng: random.Random, line: str, low: int, high: int) -> int:
    """A place in a line, four times in ten at the start of an identifier."""
    place = rng.randint(low, high)
    if rng.random() < 0.4:
        while low < place < len(line) and line[place - 1].isalnum() and line[place].isalnum():
            place -= 1
    return place


def first_line(rng: random.Random, lines: list[str]) -> int:
    """Where the middle begins: not on a blank line, seldom on a comment."""
    for _ in range(20):
        n = rng.randrange(len(lines))
        comment = lines[n].lstrip().startswith("#")
        if lines[n].strip() and not (comment and rng.random() < 0.5):
            break
    return n


def chunks(
    rng: random.Random, package: Package, own: Lines, middle: str, n_chunks: int, budget: float
) -> list[tuple[str, str]]:
    """Pieces of other places of the package, most of them sharing a rare identifier with *middle*."""
    words = [
        word
        for word in dict.fromkeys(IDENTIFIER.findall(middle))
        if word not in COMMON and len(package.places.get(word, ())) < MOST_PLACES
    ]
    words.sort(key=lambda word: len(package.places.get(word, ())))
    used, found = [own], []
    for _ in range(n_chunks):
        size = rng.choice([64, 64, 48, 32, 24, 16, 8])
        place = None
        if words and rng.random() < 0.7:
            word = words[min(len(words) - 1, int(rng.expovariate(1.0)))]
            free = [
                (f, n)
                for f, n in package.places[word]
                if not any(f == u.file and u.start <= n < u.end for u in used)
            ]
            place = rng.choice(free) if free else None
        if place is None:
            f = package.any_file(rng) if rng.random() < 0.6 else own.file
            place = (f, rng.randrange(len(package.files[f][1])))
        piece = piece_around(rng, package, place, size, used, budget / n_chunks)
        if piece.end - piece.start >= 3:
            used.append(piece)
            path, lines = package.files[piece.file]
            found.append((path, "".join(lines[piece.start : piece.end])))
    rng.shuffle(found)
    return found


def piece_around(
    rng: random.Random,
    package: Package,
    place: tuple[int, int],
    size: int,
    used: list[Lines],
    budget: float,
) -> Lines:
    """At most *size* lines and *budget* characters around a place, without what is used already."""
    f, n = place
    lines = package.files[f][1]
    start = max(0, n - rng.randint(0, size - 1))
    end = min(len(lines), start + size)
    for other in used:
        if other.file == f and start < other.end and other.start < end:
            if n < other.start:
                end = min(end, other.start)
            elif n >= other.end:
                start = max(start, other.end)
            else:
                start = end
    while end > start and n_chars(lines[start:end]) > budget:
        if end - 1 > n:
            end -= max(1, (end - 1 - n) // 2)
        else:
            start += max(1, (n - start) // 2)
    return Lines(f, start, end)


def document(rng: random.Random, package: Package, n_tokens: int) -> tuple[str, ...] | None:
    """
    One fill-in-the-middle document of at most about *n_tokens*, as one text or as two.

    Two texts are tokenised apart: somebody has typed the first part of the middle, so there is a
    seam in it. None where the file is too small for the budget drawn.
    """
    f = package.any_file(rng)
    path, lines = package.files[f]
    kind = rng.choices(["line", "to the end", "within"], [58, 26, 16])[0]
    n_middle = rng.choices([1, 2, 3, 4, 5, 6, rng.randint(7, 14)], [50, 19, 9, 6, 4, 4, 8])[0]
    i = first_line(rng, lines)
    j = min(len(lines), i + n_middle)

    budget = 10 ** rng.uniform(-0.95, 0) * n_tokens * CHARS_PER_TOKEN * 0.93
    n_chunks = 0 if rng.random() < 0.35 else rng.randint(1, 4)
    for_chunks = budget * rng.uniform(0.35, 0.7) if n_chunks else 0
    own = budget - for_chunks - n_chars(lines[i:j])
    if own < 150:
        return None
    for_suffix = 0 if rng.random() < 0.06 else own * rng.uniform(0.15, 0.5)
    a, b = window(rng, lines, i, j, own - for_suffix, for_suffix)
    prefix, middle, suffix = ("".join(part) for part in (lines[a:i], lines[i:j], lines[j:b]))

    seam = None
    first = lines[i].rstrip("\n")
    indent = len(first) - len(first.lstrip())
    if kind != "line":
        cut = cut_in(rng, first, indent, len(first)) if len(first) > indent else indent
        prefix, middle = prefix + middle[:cut], middle[cut:]
        if kind == "within":
            middle, suffix = give_back(rng, middle, suffix)
    elif rng.random() < 0.4 and len(first) > indent + 1:
        seam = typed_part(rng, lines[i:j])

    own_lines = Lines(f, a - 2, b + 2)
    found = chunks(rng, package, own_lines, "".join(lines[i:j]), n_chunks, for_chunks)
    as_infill = rng.random() < 0.15  # llama-server's own /infill knows no names
    head = f"<|repo_name|>{'myproject' if as_infill else package.name}\n"
    head += "".join(f"<|file_sep|>{name}\n{text}" for name, text in found)
    head += f"<|file_sep|>{'filename' if as_infill else path}\n"
    head += f"<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"
    if seam:
        return head + middle[:seam], middle[seam:] + "<|endoftext|>"
    return (head + middle + "<|endoftext|>",)


def window(
    rng: random.Random, lines: list[str], i: int, j: int, for_prefix: float, for_suffix: float
) -> tuple[int, int]:
    """Whole lines above *i* and from *j* on, as many as the characters allow."""
    a, b = i, j
    while a > 0 and for_prefix > len(lines[a - 1]):
        a -= 1
        for_prefix -= len(lines[a])
    if rng.random() < 0.1:
        a = max(a, i - rng.randint(0, 12))  # the top of a file
    while b < len(lines) and for_suffix > len(lines[b]):
        for_suffix -= len(lines[b])
        b += 1
    return a, b


def give_back(rng: random.Random, middle: str, suffix: str) -> tuple[str, str]:
    """End the middle before its last line does: at the line end, or somewhere in the line."""
    if rng.random() < 0.5:
        return middle.removesuffix("\n"), "\n" + suffix
    last = middle.rstrip("\n").rfind("\n") + 1
    end = rng.randint(last, len(middle)) if rng.random() < 0.9 else len(middle)
    return middle[:end], middle[end:] + suffix


def typed_part(rng: random.Random, lines: list[str]) -> int | None:
    """How much of the middle somebody has typed: up to somewhere in one of its lines."""
    n = rng.randrange(len(lines))
    line = lines[n].rstrip("\n")
    indent = len(line) - len(line.lstrip())
    if len(line) <= indent + 1:
        return None
    return n_chars(lines[:n]) + cut_in(rng, line, indent, len(line))


class Part(NamedTuple):
    """One file of rows to make."""

    seed: int
    row_tokens: int
    n_tokens: int
    corpus: str
    out: str


def make(part: Part) -> None:
    """Fill rows with documents, first fit; what is left of a row, and every twelfth row, is plain code."""
    rng = random.Random(part.seed)
    tokenizer = Tokenizer.from_file("tokenizer.json")
    middle_id = tokenizer.token_to_id("<|fim_middle|>")
    corpus = json.loads(Path(part.corpus).read_text("utf-8"))
    packages = [p for name, files in corpus.items() if (p := Package(name, files)).files]
    weights = [sum(p.weights) ** 0.8 for p in packages]
    n_rows, width = part.n_tokens // part.row_tokens, part.row_tokens + 1
    ids = np.zeros((n_rows, width), np.uint16)
    in_middle = np.zeros((n_rows, width), np.uint8)
    pool: list[list[int]] = []
    plain: list[int] = []
    for row in range(n_rows):
        at = 0
        mixed = rng.random() > 0.08
        while mixed and width - at >= 40:
            if len(pool) < 40:
                pool += encoded(rng, tokenizer, packages, weights, part.row_tokens)
            fits = [n for n, doc in enumerate(pool[:12]) if len(doc) <= width - at]
            if not fits:
                break
            doc = pool.pop(fits[0])
            ids[row, at : at + len(doc)] = doc
            in_middle[row, at + doc.index(middle_id) + 1 : at + len(doc)] = 1
            at += len(doc)
        while len(plain) < width - at:
            plain += plain_code(rng, tokenizer, packages, weights)
        ids[row, at:], plain = plain[: width - at], plain[width - at :]
    np.save(part.out + "_x.npy", ids)
    np.save(part.out + "_m.npy", in_middle)
    print(part.out, ids.shape, f"middle {in_middle.mean():.3f}", flush=True)


def encoded(
    rng: random.Random,
    tokenizer: Tokenizer,
    packages: list[Package],
    weights: list[float],
    row_tokens: int,
) -> list[list[int]]:
    """Some hundred documents as token ids, those that fit a row."""
    texts = [document(rng, rng.choices(packages, weights)[0], row_tokens) for _ in range(300)]
    docs = [
        [i for part in tokenizer.encode_batch(list(text)) for i in part.ids]
        for text in texts
        if text
    ]
    return [doc for doc in docs if len(doc) <= row_tokens + 1]


def plain_code(
    rng: random.Random, tokenizer: Tokenizer, packages: list[Package], weights: list[float]
) -> list[int]:
    """Code as it stands, half of it from a file's top, half of it with its names."""
    texts = []
    for _ in range(60):
        package = rng.choices(packages, weights)[0]
        path, lines = package.files[package.any_file(rng)]
        start = 0 if rng.random() < 0.5 else rng.randrange(len(lines))
        head = f"<|repo_name|>{package.name}\n<|file_sep|>{path}\n" if rng.random() < 0.5 else ""
        texts.append(head + "".join(lines[start : start + 400]) + "<|endoftext|>")
    return [i for text in tokenizer.encode_batch(texts) for i in text.ids]


def main() -> None:
    short, long = (int(float(millions) * 1e6) for millions in sys.argv[1:3])
    train, held_out = "data/train_corpus.json", "data/heldout_corpus.json"
    parts = [Part(999, 1024, 80_000, held_out, "data/val1024")]
    parts += [Part(100 + i, 1024, short // 4, train, f"data/t1024_{i}") for i in range(4)]
    parts += [Part(200 + i, 2048, long // 2, train, f"data/t2048_{i}") for i in range(2)]
    with multiprocessing.Pool(2) as pool:
        pool.map(make, parts, chunksize=1)


if __name__ == "__main__":
    main()
