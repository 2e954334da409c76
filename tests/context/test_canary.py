"""
Canaries: private texts planted everywhere, an hour of work played, every byte to the model searched.

The session, the embedded backend and llama.cpp are real; only the wire is tapped.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session import Session
from server_bridge.http import Http
from tests.context.test_secrets import KEYS, LINES
from tests.typist import Typist, embedded

PUBLIC = "def freight(weight):\n    fee = 3  # PUBLIC\n    return weight * fee\n"
MAIN = "import ship\nfrom ship import freight\n\n\nclass Cart:\n    def __init__(self):\n        self.weight = 0\n"


def canary(name: str) -> str:
    """Code worth showing, with a word nobody else has."""
    return (
        f"def freight_{name}(weight):\n    CANARY_{name} = weight * 7\n    return CANARY_{name}\n"
    )


FILES = {
    "ship.py": PUBLIC,
    ".env": "FREIGHT=CANARY_env\nWEIGHT=CANARY_env\nRATE=CANARY_env\n",
    ".gitignore": "ignored*\n",
    ".fimignore": "drafts/\n",
    "ignored.py": canary("ignored"),
    "drafts/plan.py": canary("draft"),
    "id_rsa": canary("key"),
    "later.py": canary("later"),  # becomes private on the way
    "keys.py": "".join(f"freight_{n.replace(' ', '_')} = '{key}'\n" for n, key in KEYS.items()),
    "settings.py": "".join(f"# {name}\n{line}\n" for name, line in LINES.items()),
    "../outside/far.py": canary("outside"),
    "../other/ship.py": canary("other"),
    "../other/main.py": "from ship import freight_other\n\nfreight_other(\n",
}
OPENED = (
    ".env", "ignored.py", "drafts/plan.py", "id_rsa", "keys.py", "settings.py", "linked.py",
    "folder/far.py", "../outside/far.py", "later.py",
)  # fmt: skip
SECRETS = [
    *KEYS.values(),
    *(line.split("'" if "'" in line else '"')[-2] for line in (LINES["quoted"], LINES["ruby"])),
]


class Desk(NamedTuple):
    """A session at work in a folder, and all that went over the wire."""

    session: Session
    root: Path
    bodies: list[str]

    def uri(self, name: str) -> str:
        return f"{self.root.as_uri()}/{name}"

    def open(self, name: str) -> str:
        text = (self.root / name).read_text()
        self.session.handle(events.Opened(self.uri(name), "python", 1, text))
        return text

    async def rest(self) -> None:
        await self.session.wait_idle()
        await self.session._spaces.wait_explored()

    async def type(self, typist: Typist, text: str) -> None:
        for key in text:
            typist.type(key)
            await typist.ask(invoked=key == "\n")
        await self.rest()


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    root = tmp_path / "shop"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "linked.py").symlink_to(tmp_path / "outside/far.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    bodies: list[str] = []
    send = Http._send

    async def tapped(self, method, path, body, extensions):
        bodies.append(json.dumps(json.loads(body), ensure_ascii=False) if body else path)
        return await send(self, method, path, body, extensions)

    monkeypatch.setattr(Http, "_send", tapped)
    session = embedded()
    await session.link.wait_ready()
    session.handle(events.FoldersChanged((root.as_uri(), (tmp_path / "other").as_uri())))
    yield Desk(session, root, bodies)
    await session.aclose()


async def test_no_canary_ever_reaches_the_model(desk: Desk) -> None:
    """Excluded, ignored, linked, outside, of another workspace, secret by form: none is sent."""
    main = Typist(desk.session, MAIN, desk.uri("main.py"))
    desk.session.handle(
        events.FoldersChanged((desk.root.as_uri(), (desk.root / "../other").resolve().as_uri()))
    )
    for name in OPENED:
        text = desk.open(name)
        desk.session.handle(events.Focused(desk.uri(name)))
        desk.session.handle(events.Yanked(desk.uri(name), text))
        private = await desk.session.complete(desk.uri(name), Position(1, 4), invoked=True)
        assert name in ("keys.py", "settings.py", "later.py") or private == []
    other = f"{(desk.root / '../other').resolve().as_uri()}/main.py"
    desk.session.handle(events.Opened(other, "python", 1, FILES["../other/main.py"]))
    await desk.rest()
    (desk.root / ".gitignore").write_text("ignored*\nlater.py\n")
    desk.session.handle(events.FilesChanged((desk.uri(".gitignore"),), ()))
    before = len(desk.bodies)

    await desk.type(main, "    def price(self):\n        return fre")
    desk.session.handle(events.Closed(desk.uri("keys.py")))
    await desk.type(main, f"ight(self.weight)\n\n    api_key = '{KEYS['openai']}'\n    ")
    await desk.type(main, "def total(self, rate):\n        return self.price() * ")

    sent, sent_after = "\n".join(desk.bodies), "\n".join(desk.bodies[before:])
    assert "PUBLIC" in sent_after, "the ring must have been at work"
    assert "CANARY" not in sent.replace("CANARY_later", "")
    assert "CANARY_later" not in sent_after
    assert str(desk.root.parent) not in sent
    assert [secret for secret in SECRETS if secret in sent] == []
