"""A name that was just used, into its import: from files on disk, never private ones, in one offer at a time."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Edit, Position, body
from fim_lsp.events import Changed
from fim_lsp.session import missing_imports
from fim_lsp.session.model_edits import ModelEdits
from fim_lsp.session.next_edits import NextEdits
from fim_lsp.session.open_documents import OpenDocuments
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.stats import Stats
from fim_lsp.session.workspaces import Workspaces
from fim_lsp.settings.config import Config

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": "class Cart:\n    pass\n\n\nclass CartItem:\n    pass\n",
    "shop/price.py": "def total_price():\n    pass\n",
    "shop/till.py": '"""The till."""\n\nfrom shop.price import total_price\n\n\ndef pay():\n    pass\n',
    "keys/__init__.py": "",
    "keys/private.py": "class Keyring:\n    pass\n",
    ".fimignore": "private.py\n",
}
USE = "    return Cart()\n"


class Desk:
    """A workspace on disk with one file open."""

    def __init__(
        self, root: Path, files: Mapping[str, str] = FILES, path: str = "shop/till.py"
    ) -> None:
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.workspaces = Workspaces()
        self.workspaces.roots = (root.as_uri(),)
        stats, self.now = Stats(), 0.0
        self.model = ModelEdits(Config(), lambda _: None)
        self.open = OpenDocuments(self.workspaces, stats, Quietness(None, lambda: 0.0))
        self.next_edits = NextEdits(self.open, stats, lambda: self.now, self.model, Config)
        self.uri = (root / path).as_uri()
        self.open.open(self.uri, language_of(path), 1, files[path]).allow()

    def put(self, text: str, line: int = 6, character: int = 0) -> None:
        """One more text is inserted."""
        at = Position(line, character)
        self.edit(Edit(at, at, text))

    def edit(self, edit: Edit) -> None:
        """One more edit."""
        self.now += 1
        doc = self.open.by_uri[self.uri]
        before = doc.document
        event = Changed(self.uri, before.version + 1, (edit,))
        self.open.change(doc, event)
        self.next_edits.follow(doc, before, event)

    async def offered(self, *, unopened: bool = True) -> tuple[int, tuple[str, ...]] | None:
        """Return the line and the text of what is offered, once all files are known."""
        self.now += 1
        await self.next_edits.propose(self.uri)
        await self.workspaces.wait_explored()
        found = await self.next_edits.propose(self.uri, unopened=unopened)
        return found and (found.proposal.line, found.proposal.after)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.workspaces.close()


async def test_the_import_of_a_name_that_was_just_used_is_offered(desk: Desk) -> None:
    """Where imports are sorted to; it says why."""
    desk.put(USE)

    assert await desk.offered() == (2, ("from shop.cart import Cart",))
    found = await desk.next_edits.propose(desk.uri)
    assert found
    assert found.why == "`Cart` is used and not imported; shop/cart.py defines it."
    assert found.proposal.before == ()


async def test_a_client_that_opens_no_files_gets_it_too(desk: Desk) -> None:
    """It is in the file in front."""
    desk.put(USE)

    assert await desk.offered(unopened=False) == (2, ("from shop.cart import Cart",))


async def test_no_text_is_read_while_keys_are_served(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty open documents of 5,000 lines take 80 ms, which a key would wait for."""
    threads = set[int]()

    def noted(line: str) -> str:
        threads.add(threading.get_ident())
        return body(line)

    monkeypatch.setattr(missing_imports, "body", noted)
    desk.put(USE)
    assert await desk.offered()
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ("front/package.json", None),  # another package would be imported by its name
        ("other/package.json", (0, ('import { Cart } from "../core/cart";',))),
    ],
)
async def test_the_manifests_of_both_files_are_read(
    tmp_path: Path, manifest: str, expected: tuple[int, tuple[str, ...]] | None
) -> None:
    """Also where they are no code, and above the files."""
    files = {
        "package.json": '{"name": "root"}',
        manifest: '{"name": "front"}',
        "core/cart.ts": "export class Cart {}\n",
        "front/here.ts": 'import { x } from "./x";\n\nfunction f() {\n}\n',
    }
    desk = Desk(tmp_path, files, "front/here.ts")
    desk.put("  return new Cart();\n", line=3)

    found = await desk.offered()
    desk.workspaces.close()
    assert found == expected


async def test_one_name_after_the_other(desk: Desk) -> None:
    """When the first import is there, the next one is offered, in the same statement."""
    desk.put("    return Cart(CartItem())\n")
    assert await desk.offered() == (2, ("from shop.cart import Cart",))
    desk.put("from shop.cart import Cart\n", line=2)

    assert await desk.offered() == (2, ("from shop.cart import Cart, CartItem",))


async def test_a_dismissed_name_is_not_offered_again(desk: Desk) -> None:
    """Whatever is typed after that; other names are."""
    desk.put(USE)
    assert await desk.offered()
    desk.next_edits.dismiss(desk.uri)
    desk.put("    Cart()\n")
    assert await desk.offered() is None
    desk.put("    CartItem()\n")

    assert await desk.offered() == (2, ("from shop.cart import CartItem",))


async def test_another_import_typed_at_its_place_is_no_refusal(desk: Desk) -> None:
    """The user imports something else first."""
    desk.put(USE)
    assert await desk.offered()
    desk.put("import os\n\n", line=2)

    assert await desk.offered() == (4, ("from shop.cart import Cart",))


async def test_a_name_that_is_typed_is_not_offered(desk: Desk) -> None:
    """`Cart` may become `CartItem`; behind a bracket it is finished."""
    desk.put("    x = Cart\n")
    assert await desk.offered() is None
    desk.put("()", line=6, character=12)

    assert await desk.offered()


async def test_a_private_file_defines_nothing(desk: Desk) -> None:
    """The index does not know it."""
    desk.put("    return Keyring()\n")

    assert await desk.offered() is None


async def test_an_import_that_the_user_removed_is_not_offered(desk: Desk) -> None:
    """The name goes next, or another import comes."""
    desk.put("    return total_price()\n")
    assert await desk.offered() is None
    desk.edit(Edit(Position(2, 0), Position(3, 0), ""))

    assert await desk.offered() is None
