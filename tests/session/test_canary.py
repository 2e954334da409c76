"""
Canaries: private texts planted everywhere, an hour of work played, every byte to the model searched.

The session, both kinds of backend and llama.cpp are real; only the wire is tapped.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import NamedTuple

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http
from tests.context.test_secrets import KEYS, LINES
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.typist import QUICK, Typist, wait_explored

pytestmark = pytest.mark.promise("secrets-are-replaced")

PUBLIC = "def freight(weight):\n    fee = 3  # PUBLIC\n    return weight * fee\n"
MAIN = (
    "import ship\nfrom ship import freight\n\n\nclass Cart:\n    def __init__(self):\n"
    "        self.weight = 0\n"
)


def canary(name: str) -> str:
    """Code worth showing, with a word that is nowhere else."""
    word = f"CANARY_{name}"
    return f"def freight_{name}(weight):\n    {word} = weight * 7\n    return {word}\n"


FILES = {
    "ship.py": PUBLIC,
    ".env": "FREIGHT=CANARY_env\nWEIGHT=CANARY_env\nRATE=CANARY_env\n",
    ".gitignore": "ignored*\n",
    ".fimignore": "drafts/\n",
    "ignored.py": canary("ignored"),
    "drafts/plan.py": canary("draft"),
    "id_rsa": canary("key"),
    "later.py": canary("later"),  # becomes private on the way
    "moved.py": canary("moved"),  # is given a private name on the way
    "ignored.ipynb": canary("book"),
    "keys.py": "".join(f"freight_{n.replace(' ', '_')} = '{key}'\n" for n, key in KEYS.items()),
    "settings.py": "".join(f"# {name}\n{line}\n" for name, line in LINES.items()),
    "../outside/far.py": canary("outside"),
    "../other/ship.py": canary("other"),
    "../other/main.py": "from ship import freight_other\n\nfreight_other(\n",
}
OPENED = (
    ".env", "ignored.py", "drafts/plan.py", "id_rsa", "keys.py", "settings.py", "linked.py",
    "folder/far.py", "../outside/far.py", "ignored.ipynb#python", "later.py", "moved.py",
)  # fmt: skip
SECRETS = [
    *KEYS.values(),
    *(line.split("'" if "'" in line else '"')[-2] for line in (LINES["quoted"], LINES["ruby"])),
]


class Project(NamedTuple):
    """A session at work in a folder, and all that went over the wire."""

    session: Session
    root: Path
    bodies: list[str]

    def uri(self, name: str) -> str:
        return f"{self.root.as_uri()}/{name}"

    def open(self, name: str) -> str:
        text = (self.root / name.partition("#")[0]).read_text()
        self.session.handle(events.Opened(self.uri(name), "python", 1, text))
        return text

    async def rest(self) -> None:
        await self.session.wait_idle()
        await wait_explored(*(each.files for each in self.session._workspaces))

    async def type(self, typist: Typist, text: str) -> None:
        """Type *text* by words: tests/context/test_secrets_growing.py types secrets by keys."""
        for word in re.findall(r"\w+|\n|[^\w\n]+", text):
            typist.type(word)
            await typist.ask(invoked=word == "\n")
        await self.rest()


@pytest.fixture(params=["embedded", "openai"])
async def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Project]:
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "linked.py").symlink_to(tmp_path / "outside/far.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    bodies: list[str] = []
    send = Http._send
    stream = Http.stream

    async def tapped(self, method, path, body, extensions):
        bodies.append(json.dumps(json.loads(body), ensure_ascii=False) if body else path)
        return await send(self, method, path, body, extensions)

    async def streamed(self, path, body, **how):
        bodies.append(json.dumps(json.loads(body), ensure_ascii=False))
        async with aclosing(stream(self, path, body, **how)) as answers:
            async for answer in answers:
                yield answer

    monkeypatch.setattr(Http, "_send", tapped)
    monkeypatch.setattr(Http, "stream", streamed)
    with ExitStack() as servers:
        url = servers.enter_context(llama_server(BUNDLED)) if request.param == "openai" else ""
        settings = BackendSettings(request.param, url)
        session = Session(QUICK, lambda _: open_backend(settings))
        await session.connection.wait_ready()
        session.handle(events.FoldersChanged((root.as_uri(), (tmp_path / "other").as_uri())))
        yield Project(session, root, bodies)
        await session.aclose()


async def test_no_canary_ever_reaches_the_model(project: Project) -> None:
    """Excluded, ignored, linked, outside, of another workspace, secret by form: none is sent."""
    main = Typist(project.session, MAIN, project.uri("main.py"))
    folder = (project.root / "../other").resolve().as_uri()
    project.session.handle(events.FoldersChanged((project.root.as_uri(), folder)))
    for name in OPENED:
        text = project.open(name)
        project.session.handle(events.Focused(project.uri(name)))
        project.session.handle(events.Yanked(project.uri(name), text))
        private = await project.session.complete(project.uri(name), Position(1, 4), invoked=True)
        assert name in ("keys.py", "settings.py", "later.py", "moved.py") or not private.suggestions
    project.open("ship.py")
    other = FILES["../other/main.py"]
    project.session.handle(events.Opened(f"{folder}/main.py", "python", 1, other))
    await project.rest()
    (project.root / ".gitignore").write_text("ignored*\nlater.py\n")
    project.session.handle(events.FilesChanged((project.uri(".gitignore"),), ()))
    (project.root / "moved.py").rename(project.root / "secrets.toml")
    project.session.handle(events.Closed(project.uri("moved.py")))
    moved = (project.uri("secrets.toml"),), (project.uri("moved.py"),)
    project.session.handle(events.FilesChanged(*moved))
    before = len(project.bodies)
    await project.type(main, "    def price(self):\n        return fre")
    project.session.handle(events.Closed(project.uri("keys.py")))
    await project.type(main, f"ight(self.weight)\n\n    api_key = '{KEYS['openai']}'\n    ")
    await project.type(main, "def total(self, rate):\n        return self.price() * ")
    sent = "\n".join(project.bodies)
    sent_after = "\n".join(project.bodies[before:])
    assert "PUBLIC" in sent_after, "the ring must have been at work"
    assert "CANARY" not in sent.replace("CANARY_later", "").replace("CANARY_moved", "")
    assert "CANARY" not in sent_after
    assert str(project.root.parent) not in sent
    assert [secret for secret in SECRETS if secret in sent] == []


@pytest.mark.parametrize("project", ["openai"], indirect=True)  # the bundled model takes none
async def test_no_canary_reaches_the_model_by_an_instruction(project: Project) -> None:
    """Neither of the file that is edited, nor in the instruction, nor in what another server found wrong."""
    main = Typist(project.session, MAIN, project.uri("main.py"), root=project.root.as_uri())
    for name in OPENED[:-2]:
        project.open(name)
    await project.rest()
    project.bodies.clear()
    asked = [Instruction(Position(0, 0), Position(99, 0), "add PUBLIC comments")]
    asked += [asked[0]._replace(instruction=f"use the key {key}") for key in SECRETS[:2]]
    wrong = tuple(f"expected 'freight_key' and 'freight_draft', got {key}" for key in SECRETS[:2])
    asked.append(asked[0]._replace(instruction="", problems=wrong))
    for name in OPENED[:-2]:
        await project.session._edits.edit(project.uri(name), asked[0], lambda lines: not lines)
        await project.session._edits.prepare(project.uri(name), asked[0].start, asked[0].end)
    for each in asked:
        await project.session._edits.edit(main.uri, each, lambda lines: not lines)
    sent = "\n".join(project.bodies)
    assert "add PUBLIC comments" in sent, "instructions must have been sent"
    assert "got REDACTED" in sent
    assert "CANARY" not in sent
    assert [secret for secret in SECRETS if secret in sent] == []
