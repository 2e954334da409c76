"""The documentation: its links lead somewhere, what it names exists, and its numbers are the code's."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from fim_lsp.cli.options import parser
from fim_lsp.lsp.server import COMMANDS, FEATURES
from fim_lsp.settings.merge import SCHEMA
from fim_lsp.suggest.filters.order import LEFT, MEANT
from server_bridge.fim.tokens import FAMILIES
from server_bridge.process.command_line import Machine
from server_bridge.weights.choice import offers
from server_bridge.weights.table import GIGABYTE
from tests.test_tidy import ROOT, files_of_git

PAGES = [ROOT / name for name in files_of_git() if name.endswith(".md") and (ROOT / name).exists()]
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    words = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in words}


def test_links_lead_somewhere() -> None:
    """To a file of this repository, and to a heading that is in it."""
    found = [(each, link) for each in PAGES for link in LINK.findall(each.read_text("utf-8"))]
    for page, link in found:
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), (page, link)
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), (page, link)


def named(pattern: str) -> set[str]:
    """Return what the pages, but for the changelog, name by *pattern*."""
    texts = (page.read_text("utf-8") for page in PAGES if page.name != "CHANGELOG.md")
    return {name for text in texts for name in re.findall(pattern, text)}


def test_the_settings_that_pages_name_exist() -> None:
    """By their names; a section and a command have other names."""
    sections = "|".join({key.split(".")[0] for key in SCHEMA})
    assert named(rf"`fim\.((?:{sections})\.\w+)") <= {*SCHEMA}


def test_the_commands_that_pages_name_exist() -> None:
    """In the terminal, in Neovim, and in VS Code's palette by the beginning of their titles."""
    [commands] = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    plugin = (ROOT / "editors/nvim/plugin/fim.lua").read_text("utf-8")
    manifest = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))
    titles = [each["title"] for each in manifest["contributes"]["commands"]]
    assert named(r"`fim-lsp (\w+)") <= {*commands.choices}
    assert named(r"`:Fim (\w+)") <= {*re.findall(r"^  (\w+) = function", plugin, re.MULTILINE)}
    for title in named(r"\*FIM: ([^*]+)\*"):
        assert any(each.startswith(title) for each in titles), title


def test_the_measurements_that_pages_name_exist() -> None:
    """Each figure has a command of this checkout, or is said to be history (benchmarks/HISTORY.md)."""
    for module in named(r"python -m ((?:benchmarks|deploy|training)\b[\w.]*\w)"):
        path = ROOT.joinpath(*module.split("."))
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module


def test_the_page_of_suggestions_lists_the_filters() -> None:
    """All of them, in their order."""
    page = (ROOT / "docs/suggestions.md").read_text("utf-8")
    rows = re.findall(r"^\| (`\w+`.*?) \|", page.partition("| filter |")[2], re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    names = [each.__name__ for each in MEANT + LEFT]
    assert listed[: len(names)] == names, (
        "docs/suggestions.md: the table lists the filters in the order of MEANT and LEFT"
    )


def test_the_pages_list_what_a_client_can_ask_and_a_model_can_be() -> None:
    """Commands and requests on the protocol's page, model families beside the templates."""
    protocol = (ROOT / "docs/protocol.md").read_text("utf-8")
    methods = (name for name, *_ in FEATURES if name.startswith("fim/"))
    for name in (*methods, *(name for name, _ in COMMANDS)):
        assert f"`{name}" in protocol or f'"{name}"' in protocol, f"docs/protocol.md: {name}"
    backends = (ROOT / "docs/backends.md").read_text("utf-8")
    for family in FAMILIES:
        assert f"`{family.name}`" in backends or family.name == "fim", (
            f"docs/backends.md: {family.name}"
        )


def n_lines(*pages: Path) -> int:
    return sum(len(page.read_text("utf-8").splitlines()) for page in pages)


def test_the_pages_do_not_grow() -> None:
    """What is new on them takes the place of what stands twice; a number here may only fall."""
    assert n_lines(ROOT / "README.md") <= 85
    assert n_lines(*(ROOT / "docs").rglob("*.md")) <= 1893
    six_figures = (ROOT / "benchmarks/README.md").read_text("utf-8")
    assert len(six_figures.split()) <= 770, "they are read in two minutes"


def test_the_first_release_says_what_it_does() -> None:
    """No release had what was changed, removed or mended before it: such lists begin later."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    unreleased, *released = re.split(r"^## \[\d", text, flags=re.MULTILINE)
    if not released:
        sections = re.findall(r"^### (.+)$", unreleased, re.MULTILINE)
        assert sections == ["Security", "Added"], "a merge brought old lists back"
        assert len(unreleased.splitlines()) <= 40, "thirty lines are enough for a first user"


def test_the_page_of_models_says_what_the_table_does() -> None:
    """Size, costs, quality and licence of every model, and the memory of a machine with 64 GiB."""
    page = (ROOT / "docs/models.md").read_text("utf-8")
    for offer in offers(Machine(64 << 30, 16), {}):
        model = offer.model
        quality = [
            f"{each:.1f}" if each else "not published" for each in (model.lines, model.across_files)
        ]
        row = " | ".join(
            (
                f"| `{model.name}`", f"{model.n_bytes / GIGABYTE:.1f}",
                f"{offer.needs / GIGABYTE:.1f}", f"{model.n_read / 40e9 * 1000:.0f}", f"{model.n_read / 200e9 * 1000:.1f}",
                *quality, f"{model.licence} |",
            )
        )  # fmt: skip
        assert row in page
