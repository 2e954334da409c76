"""What benchmarks are told on the command line, and where `scripts/tools/get-qwen` leaves the models."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fim-lsp-test" / "qwen"
SIZES = ("0.5b", "1.5b")


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser for `python -m NAME`; its help is the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m {name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def names(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a type for argparse: some of *allowed*, separated by commas, or none."""

    def parse(text: str) -> list[str]:
        wanted = text.split(",") if text else []
        if unknown := {*wanted} - {*allowed}:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
        return wanted

    return parse


def model_file(named: str) -> Path:
    """Return the file of one of `SIZES`, or one that is named; a type for argparse."""
    name = f"qwen2.5-coder-{named}-instruct-q4_k_m.gguf"
    file = FOLDER / name if named in SIZES else Path(named)
    if not file.exists():
        hint = f": sh scripts/tools/get-qwen {named}" * (named in SIZES)
        raise argparse.ArgumentTypeError(f"{file} is missing{hint}")
    return file
