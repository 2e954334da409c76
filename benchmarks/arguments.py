"""What benchmarks are told on the command line, and where `scripts/get-qwen` leaves the models."""

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
        hint = f": sh scripts/get-qwen {named}" * (named in SIZES)
        raise argparse.ArgumentTypeError(f"{file} is missing{hint}")
    return file


def add_model(parser: argparse.ArgumentParser, threads: int, **default: str) -> None:
    """Have *parser* take a real model, and threads of its server."""
    help_ = f"{', '.join(SIZES)} (scripts/get-qwen) or a file"
    parser.add_argument("--model", type=model_file, required=not default, help=help_, **default)
    parser.add_argument("--threads", type=int, default=threads, help="of the model server")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there")


def add_llama_vim(parser: argparse.ArgumentParser) -> None:
    """Have *parser* take a checkout of llama.vim."""
    parser.add_argument("--llama-vim", type=_checkout, default="", metavar="DIR", help="a checkout")


def _checkout(folder: str) -> str:
    if folder and not Path(folder, "plugin", "llama.vim").exists():
        raise argparse.ArgumentTypeError(f"{folder} has no plugin/llama.vim")
    return folder
