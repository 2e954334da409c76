"""What the benchmarks on real models are told on the command line, and where `scripts/get-qwen` leaves the models."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.real_sessions.choice import SEED, SETS

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fim-lsp-test" / "qwen"
SIZES = ("0.5b", "1.5b")


def model_file(named: str) -> Path:
    """Return the file of one of `SIZES`, or one that is named; raises ValueError where it is missing."""
    name = f"qwen2.5-coder-{named}-instruct-q4_k_m.gguf"
    file = FOLDER / name if named in SIZES else Path(named)
    if not file.exists():
        raise ValueError(f"{file} is missing" + f": sh scripts/get-qwen {named}" * (named in SIZES))
    return file


def parser(name: str, description: str | None, *, threads: int) -> argparse.ArgumentParser:
    """Return the arguments that these benchmarks share."""
    found = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = found.add_argument
    add("histories", nargs="+", type=Path, help="git repositories with code of 2025 or later")
    add("--model", default="0.5b", help=f"{', '.join(SIZES)} (scripts/get-qwen) or a file")
    add("--set", choices=SETS, default="tune", help="which half of the files")
    add("--seed", type=int, default=SEED)
    add("--threads", type=int, default=threads, help="of the model server")
    add("--explain", action="store_true", help="print each place")
    add("--json", type=Path, metavar="FILE", help="write everything there")
    return found


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the arguments, with the model's file as `model`."""
    options = parser.parse_args()
    try:
        options.model = model_file(options.model)
    except ValueError as error:
        parser.error(str(error))
    return options
