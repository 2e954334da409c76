"""The heads of what is in use near the cursor, one step far."""

from __future__ import annotations

import pytest

from fim_lsp.context.chunks import Source
from fim_lsp.context.index import HOMES, Index
from fim_lsp.context.ring import Limits, Ring
from fim_lsp.context.signatures import HEADS, signatures
from fim_lsp.context.update import Snapshot, Viewport

STORE = '''class Container:
    """Holds what was bought."""

    limit: int = 3

    def put_inside(self, article: str) -> None:
        self.contents[article] = self.weigh(article)

    def take_outside(self, article: str) -> int:
        return self.contents.pop(article)


# Makes an empty one.
def new_container(size: int) -> Container:
    container = Container()
    return container


def unused(parameter: int) -> int:
    return parameter
'''
CLASS = ("class Container:", "limit: int = 3", "def put_inside", "def take_outside")
MAKER = ("# Makes an empty one.", "def new_container(size: int) -> Container:")
HOMES_OF_STORE = {
    "Container": ("store.py",),
    "new_container": ("store.py",),
    "unused": ("store.py",),
}


def source(name: str, text: str) -> Source:
    return Source(f"file:///shop/{name}", name, "python", 1, tuple(text.splitlines(keepends=True)))


def heads(
    main: str, line: int = 0, files: dict[str, str] | None = None, opened: tuple[str, ...] = ()
) -> list[str]:
    """Return the one caller of `signatures`: the texts for the cursor on *line* of *main*; *opened* are open, too."""
    files = {"store.py": STORE} if files is None else files
    here = source("main.py", main)
    viewport = Viewport(here.uri, line, line, line + 1)
    sources = (here, *(source(name, files[name]) for name in opened))
    snapshot = Snapshot(0, Ring(), Limits(16, 64, 4_000), viewport, sources, {}, 0, ())
    homes: dict[str, tuple[str, ...]] = {}
    for path, text in files.items():
        for name in HOMES_OF_STORE:
            homes[name] = (*homes.get(name, ()), *[path] * (f" {name}" in text))
    index = Index(homes=homes)
    found = {name: source(name, text) for name, text in files.items()}
    return [piece.text for piece in signatures(index, snapshot, found.get)]


@pytest.mark.parametrize(
    ("main", "shown"),
    [
        ("new_container(", (*MAKER, *CLASS)),
        ("def fill(box: Container):\n    box.", CLASS),
        ("box = new_container(3)\nbox.", (*MAKER, *CLASS)),
        ("box = Container()\nbox.", CLASS),
        ("box = 3\nbox.", ()),
    ],
    ids=["called", "annotated", "made by a function", "made by its class", "no type"],
)
@pytest.mark.parametrize("opened", [(), ("store.py",)], ids=["unopened", "open"])
def test_a_name_brings_what_it_is_and_the_type_it_names(
    main: str, shown: tuple[str, ...], opened: tuple[str, ...]
) -> None:
    """A class with its members, a function with its comment; no body, and nothing that is not in use."""
    text = "\n".join(heads(main, main.count("\n"), opened=opened))
    assert [part for part in (*MAKER, *CLASS) if part in text] == [*shown]
    assert "self.contents" not in text
    assert "unused" not in text


def test_inside_a_class_its_own_members_are_in_use() -> None:
    """Also where the line of the cursor names none of them, and what it inherits is looked up."""
    main = "class Cart(Container):\n    size = 3\n\n    def total(self, rate):\n        return 1\n\n    def other(self):\n        x"
    text = "\n".join(heads(main, 7))
    assert "def total(self, rate):" in text
    assert "def put_inside" in text


def test_a_name_with_many_homes_says_nothing_unless_one_is_imported() -> None:
    """`run` and `get` are everywhere."""
    files = {f"store{n}.py": STORE for n in range(HOMES + 1)}
    assert heads("new_container(", files=files) == []
    imported = heads("from store1 import new_container\nnew_container(", 1, files)
    assert sum("def new_container" in text for text in imported) == 1


def test_the_nearest_come_first_and_there_are_not_many() -> None:
    """Names of the line itself count before those of lines above; so does the last of a line."""
    many = "".join(f"def made_{n}(value):\n    return value\n\n\n" for n in range(2 * HEADS))
    calls = "".join(f"made_{n}()\n" for n in range(20))
    found = heads(many + calls, many.count("\n") + 19, {})
    assert found[0] == "def made_19(value):"
    assert found[1] == "def made_18(value):"
    assert len(found) <= HEADS


def test_without_a_text_there_is_nothing() -> None:
    """The document of the cursor was closed meanwhile."""
    viewport = Viewport("file:///shop/main.py", 0, 0, 1)
    snapshot = Snapshot(0, Ring(), Limits(16, 64, 4_000), viewport, (), {}, 0, ())
    assert signatures(Index(), snapshot, lambda _: None) == []
