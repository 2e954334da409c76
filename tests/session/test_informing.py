"""What other language servers told gets into the prompt, as far as the files that it names may be read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.context.chunks import Why
from fim_lsp.documents import Position
from fim_lsp.events import Informed, Snippet
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config, PrivacyConfig, RingConfig, StateConfig
from tests.fake_backend import FakeBackend

MAIN = "def price(weight):\n    carrier = Carrier(weight)\n    return carrier.\n"
CARRIER = (
    "class Carrier:\n    def freight_total(self, surcharge):\n"
    "        return self.rate * surcharge\n"
)
FAR = 'print("far away")\n' * 200
FILES = {
    "main.py": MAIN,
    "lib/carrier.py": FAR + CARRIER,
    "lib/local.py": CARRIER,
    ".gitignore": "local.py\n",
    "credentials.json": '{"token": "x"}\n',
    "venv/lib/python3.12/site-packages/carriers/api.py": CARRIER,
    "../elsewhere/carrier.py": CARRIER,
    "../elsewhere/lib/python3.12/site-packages/carriers/api.py": CARRIER,
}

pytestmark = pytest.mark.usefixtures("short_rests")


class Project:
    """A workspace with `main.py` open and nothing read but that."""

    def __init__(self, root: Path, *, servers: bool = True) -> None:
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        ring = RingConfig(files=False, servers=servers)
        privacy = PrivacyConfig(exclude=("credentials*",))
        self.backend = FakeBackend()
        config = Config(ring=ring, privacy=privacy, state=StateConfig(save=False))
        self.session = Session(config, lambda _: self.backend)
        self.root = root
        self.session.handle(events.FoldersChanged((root.as_uri(),)))
        self.open("main.py")

    def uri(self, name: str) -> str:
        return f"{self.root.as_uri()}/{name}"

    def open(self, name: str) -> None:
        text = (self.root / name).read_text()
        self.session.handle(events.Opened(self.uri(name), "python", 1, text))

    async def tell(self, *snippets: Snippet) -> str:
        """Return what the ring holds some time after servers told this of `main.py`."""
        self.session.handle(Informed(self.uri("main.py"), snippets))
        return await self.shown()

    async def shown(self) -> str:
        while tasks := self.session.informing._tasks:
            await asyncio.wait(tasks)
        await self.session.complete(self.uri("main.py"), Position(2, 19), invoked=True)
        await self.session.wait_idle()
        (workspace,) = (each for each in self.session.workspaces if each.root)
        chunks = workspace.memory.ring.chunks
        assert {p.why for c in chunks for p in c.pieces} <= {Why.SERVER, Why.OPENED}
        return "".join(f"# {chunk.name}\n{chunk.text}" for chunk in chunks)


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Project]:
    project = Project(tmp_path / "work")
    yield project
    await project.session.aclose()


async def test_a_definition_is_shown(project: Project) -> None:
    """Under its file's name, once however often it is told, and not what else its file says."""
    carrier = Snippet(project.uri("lib/carrier.py"), CARRIER)
    for _ in range(2):
        assert await project.tell(carrier) == f"# lib/carrier.py\n{CARRIER}"


async def test_a_signature_comes_without_the_path_of_its_module(project: Project) -> None:
    """TypeScript's server says below it what an imported name stands for. It stands in no line of its file."""
    signature = "(alias) function freightOf(parcel: number, surcharge: number): number"
    told = f'{signature}\nimport freightOf\nmodule "{project.root}/lib/carrier"'
    uri = project.uri("lib/carrier.py")
    assert await project.tell(Snippet(uri, told)) == f"# lib/carrier.py\n{signature}\n"
    report = await project.session.report(project.uri("main.py"))
    assert "told by another language server" in {part.why for part in report.segments}


async def test_what_is_told_later_comes_behind(project: Project) -> None:
    """Nothing that was evaluated is evaluated again."""
    first = await project.tell(Snippet(project.uri("lib/carrier.py"), CARRIER))
    other = "def surcharge_of(weight, distance):\n    return weight * distance\n"
    (project.root / "lib/fees.py").write_text(other)
    shown = await project.tell(Snippet(project.uri("lib/fees.py"), other))
    assert shown == f"{first}# lib/fees.py\n{other}"


PRIVATE = {
    "a file that git ignores": "lib/local.py",
    "an excluded one": "credentials.json",
    "one outside of the workspace": "../elsewhere/carrier.py",
    "one that is not there": "lib/gone.py",
}


@pytest.mark.security
@pytest.mark.parametrize("name", PRIVATE.values(), ids=PRIVATE)
async def test_what_is_told_of_a_private_file_is_not_used(project: Project, name: str) -> None:
    """Whatever it says, of …"""
    private = Snippet(project.uri(name), CARRIER.replace("freight", "CANARY"))
    uri = (project.root / name).resolve().as_uri()
    assert "CANARY" not in await project.tell(private, private._replace(uri=uri))
    assert "CANARY" not in repr(project.backend.seen) + repr(project.backend.warmed)


@pytest.mark.security
@pytest.mark.parametrize(
    "uri", ["", "untitled:Untitled-1", "jdt://contents/A.class", "http://[", "file:///\0"]
)
async def test_what_names_no_file_is_not_used(project: Project, uri: str) -> None:
    """Its text may be from any file."""
    assert await project.tell(Snippet(uri, CARRIER)) == ""


@pytest.mark.parametrize("uri", ["file:///lib/%00.py", "http://[", "\0"])
async def test_an_odd_item_loses_no_other(project: Project, uri: str) -> None:
    """What comes beside it is used."""
    good = Snippet(project.uri("lib/carrier.py"), CARRIER)
    assert "freight_total" in await project.tell(Snippet(uri, "x"), good)


@pytest.mark.security
async def test_secrets_are_not_used(project: Project) -> None:
    """A server may show values of constants."""
    told = CARRIER + '    api_key = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"\n'
    assert await project.tell(Snippet(project.uri("lib/carrier.py"), told)) == ""


@pytest.mark.parametrize("folder", ["venv", "../elsewhere"])
async def test_installed_packages_are_public(project: Project, folder: str) -> None:
    """Where package managers put them, as if they were opened."""
    uri = (
        (project.root / folder / "lib/python3.12/site-packages/carriers/api.py").resolve().as_uri()
    )
    assert CARRIER in await project.tell(Snippet(uri, CARRIER))


@pytest.mark.security
async def test_a_file_that_becomes_private_is_forgotten(project: Project) -> None:
    """With the next rule, whatever servers told of it before."""
    assert CARRIER in await project.tell(Snippet(project.uri("lib/carrier.py"), CARRIER))
    (project.root / ".gitignore").write_text("carrier.py\n")
    project.session.handle(events.FilesChanged((project.uri(".gitignore"),)))
    assert await project.shown() == ""


async def test_errors_take_the_place_of_those_before(project: Project) -> None:
    """And leave when they are mended."""
    uri = project.uri("main.py")
    first = "line 3: Expected member name after the dot of carrier"
    assert first in await project.tell(Snippet(uri, first, replaces=True))
    shown = await project.tell(
        Snippet(uri, "line 2: Carrier is not defined in this module", replaces=True)
    )
    assert first not in shown
    assert "line 2: Carrier" in shown
    assert await project.tell(Snippet(uri, "", replaces=True)) == ""


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    """`fim.ring.servers`."""
    project = Project(tmp_path / "work", servers=False)
    assert await project.tell(Snippet(project.uri("lib/carrier.py"), CARRIER)) == ""
    await project.session.aclose()
