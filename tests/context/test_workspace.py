"""The workspace beside the editor: files nobody opened, files that change, rules that change."""

from __future__ import annotations

from pathlib import Path

import pytest

from fim_lsp import paths
from fim_lsp.config import Config, PrivacyConfig, RingConfig
from fim_lsp.context.ring import Limits
from fim_lsp.context.turn import View
from fim_lsp.documents import opened
from fim_lsp.workspace import Workspaces, source

MAIN = "from shop import freight\n\nprice = freight(3)\n"
SHOP = "def freight(weight):\n    rate = 3\n    return weight * rate\n"


class Desk:
    """Somebody with `main.py` open in a workspace on disk: the one caller of `Workspaces` here."""

    def __init__(self, root: Path, config: Config | None = None) -> None:
        self.root, self.config = root, config or Config()
        self.spaces = Workspaces()
        self.spaces.roots = (root.as_uri(),)
        self.spaces.limits = Limits(16, 64, 6000)
        self.told: list[tuple[int, int]] = []
        self.spaces.progress = lambda _, done, n_files: self.told.append((done, n_files))
        (root / "main.py").write_text(MAIN)
        self.uri = (root / "main.py").as_uri()

    async def open(self, name: str = "main.py") -> None:
        uri = (self.root / name).as_uri()
        document = opened(uri, "python", 1, (self.root / name).read_text())
        place = paths.place(uri, self.spaces.roots)

        def allowed() -> None:
            self.spaces.of(place).opened(source(document, place))

        self.spaces.judge(uri, place, self.config, allowed)
        await self.spaces.wait_judged()

    @property
    def _here(self):
        return self.spaces.of(paths.place(self.uri, self.spaces.roots))

    def close(self, name: str) -> None:
        uri = (self.root / name).as_uri()
        self.spaces.forget(uri)
        self._here.memory.closed(uri)

    def tell(self, *, changed: tuple[str, ...] = (), deleted: tuple[str, ...] = ()) -> None:
        uris = [[(self.root / name).as_uri() for name in names] for names in (changed, deleted)]
        self.spaces.files_changed(*uris)

    async def shown(self) -> str:
        """What a prompt would show after some idle time."""
        view = View(self.uri, 2, 0, 4)
        for _ in range(2):
            await self._here.turn(view, self.config)
            await self.spaces.wait_explored()
        await self._here.turn(view, self.config)
        return "".join(f"# {c.name}\n{c.text}" for c in self._here.chunks(view))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "shop.py").write_text(SHOP)
    return Desk(tmp_path)


async def test_what_is_imported_is_shown_though_nobody_opened_it(desk: Desk) -> None:
    """The index is built on the side, and says how far it is."""
    await desk.open()

    assert await desk.shown() == f"# shop.py\n{SHOP}"
    assert desk.told == [(2, 2)]


@pytest.mark.parametrize("config", [RingConfig(files=False), RingConfig(chunks=0)])
async def test_it_can_be_switched_off(tmp_path: Path, config: RingConfig) -> None:
    """Then only what is open counts, or nothing at all."""
    (tmp_path / "shop.py").write_text(SHOP)
    desk = Desk(tmp_path, Config(ring=config))
    desk.spaces.limits = Limits(config.chunks, 64, 6000)
    await desk.open()

    assert await desk.shown() == ""
    assert desk.told == []


async def test_a_file_that_changes_on_disk_is_shown_as_it_is(desk: Desk) -> None:
    """Whether the client tells or not; nobody opened the one, the other was closed."""
    (desk.root / "util.py").write_text("def tidy(shelf):\n    return sorted(shelf)\n")
    await desk.open()
    await desk.open("util.py")
    desk.close("util.py")
    assert "sorted(shelf)" in await desk.shown()

    (desk.root / "util.py").write_text("def tidy(shelf):\n    return shelf.sort()\n")
    (desk.root / "shop.py").write_text(SHOP.replace("3", "4"))
    desk.tell(changed=("shop.py",))
    shown = await desk.shown()

    assert "shelf.sort()" in shown
    assert "rate = 4" in shown
    assert "sorted(shelf)" not in shown
    assert "rate = 3" not in shown


async def test_a_deleted_file_leaves(desk: Desk) -> None:
    """Told or not."""
    await desk.open()
    assert "shop.py" in await desk.shown()
    (desk.root / "shop.py").unlink()

    assert await desk.shown() == ""


async def test_a_file_that_becomes_private_leaves(desk: Desk) -> None:
    """A new rule counts for what is known already, open or not."""
    (desk.root / "util.py").write_text("def tidy(shelf):\n    return sorted(shelf)\n")
    await desk.open()
    await desk.open("util.py")
    shown = await desk.shown()
    assert "shop.py" in shown
    assert "util.py" in shown

    (desk.root / ".gitignore").write_text("shop.py\nutil.py\n")
    desk.tell(changed=(".gitignore",))
    await desk.open("util.py")  # the session judges all documents again

    assert await desk.shown() == ""


async def test_excluded_files_are_never_indexed(tmp_path: Path) -> None:
    """`fim.privacy.exclude` holds for files nobody opened."""
    (tmp_path / "shop.py").write_text(SHOP)
    desk = Desk(tmp_path, Config(privacy=PrivacyConfig(exclude=("shop.py",))))
    await desk.open()

    assert await desk.shown() == ""


async def test_a_file_with_another_spelling_of_its_uri_is_one_file(tmp_path: Path) -> None:
    """Shown once before it is opened, and once after."""
    (tmp_path / "shop.py").write_text(SHOP)
    desk = Desk(tmp_path)
    await desk.open()
    assert (await desk.shown()).count("rate = 3") == 1
    odd = desk.root.as_uri() + "/%73hop.py"
    place = paths.place(odd, desk.spaces.roots)
    desk.spaces.of(place).opened(source(opened(odd, "python", 1, SHOP), place))

    assert (await desk.shown()).count("rate = 3") == 1
