"""What the names near the cursor mean, from files that are not open, in the prompt of a session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fim_lsp.context.chunks import Why
from fim_lsp.context.ring import Limits
from fim_lsp.context.update import Viewport
from fim_lsp.documents import Edit, Position, open_document
from fim_lsp.session.open_document import source
from fim_lsp.session.workspace import Workspace
from fim_lsp.session.workspaces import Workspaces
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths

MAIN = "from shop import new_basket\n\nbasket = new_basket()\nbasket.\n"
SHOP = "from store import Container\n\n\ndef new_basket() -> Container:\n" + "".join(
    f"    step_{n} = prepare_{n}(shelf_{n}, row_{n}, corner_{n})\n" for n in range(60)
)
BODY = "".join(f"        value_{n} = other_{n}(first_{n}, second_{n})\n" for n in range(30))
STORE = f'''class Container:
    """
    Holds what was bought.
    """

    limit: int = 3

    def __init__(self) -> None:
        self.contents = {{}}
{BODY}
    def put_inside(self, article: str, amount: int = 1) -> None:
        """Put it there."""
{BODY}
    def take_outside(self, article: str) -> int:
{BODY}'''
FILES = {"main.py": MAIN, "shop.py": SHOP, "store.py": STORE}
CONFIG = Config()


class Shop:
    """A workspace on disk with `main.py` open, the cursor behind `basket.`."""

    def __init__(self, root: Path) -> None:
        for name, text in FILES.items():
            (root / name).write_text(text)
        self.root, self.uri = root, (root / "main.py").as_uri()
        self.workspaces = Workspaces()
        self.workspaces.roots = (root.as_uri(),)

    @property
    def here(self) -> Workspace:
        return self.workspaces.of(paths.locate(self.uri, self.workspaces.roots))

    def open(self, name: str) -> None:
        uri = (self.root / name).as_uri()
        document = open_document(uri, "python", 1, (self.root / name).read_text())
        self.here.open(source(document, paths.locate(uri, self.workspaces.roots)))

    async def shown(self, n_chars: int = 1_000) -> list[tuple[str, str]]:
        """Return the chunks of the prompt after some idle time."""
        viewport = Viewport(self.uri, 3, 0, 5)
        for _ in range(3):
            await self.here.update_ring(viewport, Limits(16, 64, n_chars), CONFIG)
            await self.workspaces.wait_explored()
        return [(chunk.name, chunk.text) for chunk in self.here.chunks(viewport)]


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    shop.workspaces.close()


HEADS = '''class Container:
    """
    Holds what was bought."""
    limit: int = 3
    def __init__(self) -> None:
        self.contents = {}
    def put_inside(self, article: str, amount: int = 1) -> None:
        """Put it there."""
    def take_outside(self, article: str) -> int:
'''


async def test_members_of_the_type_that_a_called_function_returns(shop: Shop) -> None:
    """The function is in a second file, its type in a third; none of the two is open, and bodies have no room."""
    shop.open("main.py")

    chunks = await shop.shown()

    assert ("store.py", HEADS) in chunks
    assert any("def new_basket() -> Container:" in text for _, text in chunks)


async def test_heads_say_why_they_are_there(shop: Shop) -> None:
    """The report of a prompt names the reason; heads stand behind all other pieces."""
    shop.open("main.py")
    await shop.shown()

    heads = [chunk.pieces[0].why is Why.SIGNATURE for chunk in shop.here.memory.ring.chunks]

    assert True in heads
    assert heads == sorted(heads)


async def test_a_definition_with_its_body_needs_no_head_besides(shop: Shop) -> None:
    """Where there is room for all of a file, none of its lines is shown twice."""
    shop.open("main.py")

    text = "".join(text for _, text in await shop.shown(30_000))

    assert text.count("def put_inside") == 1
    assert "value_7 = other_7" in text


async def test_no_head_of_a_private_file(shop: Shop) -> None:
    """Ignored by git: not one of its names is in the index, or in a prompt."""
    (shop.root / ".gitignore").write_text("store.py\n")
    shop.open("main.py")

    text = "".join(text for _, text in await shop.shown())

    assert "def new_basket() -> Container:" in text
    assert "put_inside" not in text
    assert "Container" not in shop.here.files.index.homes


async def test_heads_of_an_open_file_are_those_of_its_text_now(shop: Shop) -> None:
    """An edit that is not saved counts; what it replaced is not shown any more."""
    shop.open("store.py")
    shop.open("main.py")
    assert "def take_outside" in "".join(text for _, text in await shop.shown())

    line = STORE.split("\n").index("    def take_outside(self, article: str) -> int:")
    uri = (shop.root / "store.py").as_uri()
    before = open_document(uri, "python", 1, STORE)
    edit = Edit(Position(line, 8), Position(line, 20), "withdraw_one")
    after = open_document(uri, "python", 2, STORE.replace("take_outside", "withdraw_one"))
    shop.here.memory.note_edit(before, after, [edit])
    text = "".join(text for _, text in await shop.shown())

    assert "def withdraw_one(self, article: str) -> int:" in text
    assert "take_outside" not in text


SMALL = """class Ticket:
    title: str
    price: float
    weight: float

    def __init__(self, title, price):
        self.title = title
        self.price = price

    def total(self):
        return self.price

    def scale(self, factor):
        self.price *= factor
"""
USING = """from store import Ticket

ticket = Ticket(title, price)
ticket.
total = factor * ticket.scale()
"""


async def test_a_small_class_comes_with_its_methods(shop: Shop) -> None:
    """Of an open file, also where the words of all methods are in sight: the heads say what they take."""
    for name, text in (("store.py", SMALL), ("main.py", USING), ("long.py", BODY * 3)):
        (shop.root / name).write_text(text)
        shop.open(name)

    text = "".join(text for name, text in await shop.shown() if name == "store.py")

    for head in ("class Ticket:", "def __init__(self, title, price):", "def scale(self, factor):"):
        assert head in text
    assert "def total(self):" in text
