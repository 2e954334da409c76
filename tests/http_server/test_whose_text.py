"""Text without a name is known by the file in which it stands; where that could be private, nothing is sent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fim_lsp.http_server import find_file
from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.http_server.find_file import Whose, file_of
from server_bridge.protocol import Request
from tests.asked import requests_to
from tests.http_server.clients import served, vim
from tests.typist import faked

CART = "import ship\n\n\ndef price(item):\n    return item.cost * ship.rate(item)\n"


def public(_path: str) -> str:
    return ""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "cart.py": CART,
        "sub/ship.py": "RATE = 3\n\n\ndef rate(item):\n    return RATE * item.weight\n",
        "node_modules/cart.py": CART,
        ".env": "RATE=CANARY\nPASSWORD=CANARY\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "link.py").symlink_to(tmp_path / "cart.py")
    return tmp_path


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("def price(item):\n    return item.co", "st * ship.rate(item)\n", "cart.py"),
        ("def rate(item):\n    return RATE * item.weight\n    # and som", "\n", "sub/ship.py"),
        ("RATE=CANARY\nPASSWORD=CANARY\nUSER", "\n", ".env"),
        ("def new():\n    ", "\n", ""),
        ("", "\n", ""),
    ],
)
def test_the_file_of_a_text(root: Path, before: str, after: str, name: str) -> None:
    """Also a private one; rather the project's own than what package managers fill; none where it is new."""
    assert file_of(Excerpt(before, after), root, public) == Whose(name)


def test_files_that_are_no_files(root: Path) -> None:
    """A pipe in the folder holds nothing up, nor does a link to a folder above."""
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.py")
    (root / "loop").symlink_to(root)
    (root / "sub" / "above").symlink_to(root.parent)
    excerpt = Excerpt("def price(item):\n    return it", "\n")
    assert file_of(excerpt, root, public).path == "cart.py"


TEMPLATE = "".join(
    f"SETTING_NUMBER_{n} = 'the same in every copy of these settings'\n" for n in range(6)
)
PRIVATE = TEMPLATE + "KEY = 'CANARY one'\nUSER = 'CANARY two'\nHOST = 'CANARY three'\nUS"
Make = Callable[[Path, str], object]


def write(name: str, encoding: str = "utf-8") -> Make:
    def make(root: Path, text: str) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode(encoding))

    return make


def beside_a_template(root: Path, text: str) -> None:
    write("private_settings.py")(root, text)
    (root / "a_template.py").write_text(TEMPLATE + "KEY = ''\nUSER = ''\n")


def behind_many(root: Path, text: str) -> None:
    write("private_settings.py")(root, text)
    for n in range(30):
        (root / f"a{n}.py").write_text("x = 1\n" * 200)


def linked(root: Path, text: str) -> None:
    write("../elsewhere/settings.py")(root, text)
    (root / "private_settings.py").symlink_to(root.parent / "elsewhere" / "settings.py")


def in_a_linked_folder(root: Path, text: str) -> None:
    write("../elsewhere/settings.py")(root, text)
    (root / "conf").symlink_to(root.parent / "elsewhere")


def saved_before(root: Path, text: str) -> None:
    write("private_settings.py")(root, "A1 = 1\nB2 = 2\nC3 = 3\nD4 = 4\n")


NEW_LINES = "A1 = 1\nB2 = 2\nC3 = 3\n" + "".join(
    f"A_LONG_NAME_{n} = 'CANARY {n} that was typed since the file was saved'\n" for n in range(6)
)

VARIANTS: dict[str, tuple[str, Make]] = {
    "plain": (PRIVATE, write("private_settings.py")),
    "longer than a megabyte": (
        PRIVATE,
        lambda root, text: write("private_settings.py")(root, "# more\n" * 200_000 + text),
    ),
    "line ends of Windows": (
        PRIVATE,
        lambda root, text: write("private_settings.py")(root, text.replace("\n", "\r\n")),
    ),
    "five lines of it": ("\n".join(PRIVATE.split("\n")[-5:]), lambda root, _: write("private_settings.py")(root, PRIVATE)),
    "a public file with the same long lines": (PRIVATE, beside_a_template),
    "many files before it": (PRIVATE, behind_many),
    "many bytes before it": (PRIVATE, behind_many),
    "target": (PRIVATE, write("target/private_settings.py")),
    "venv": (PRIVATE, write("venv/private_settings.py")),
    "a link": (PRIVATE, linked),
    "a linked folder": (PRIVATE, in_a_linked_folder),
    "Latin-1": (PRIVATE.replace("e", "é"), write("private_settings.py", "latin-1")),
    "UTF-16": (PRIVATE, write("private_settings.py", "utf-16")),
    "UTF-16 without a mark": (PRIVATE, write("private_settings.py", "utf-16-le")),
    "lines typed since it was saved": (NEW_LINES, saved_before),
}  # fmt: skip


@pytest.mark.parametrize("variant", VARIANTS)
async def test_no_prompt_has_private_text(
    variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text of a file that git ignores, from clients that give no name: nothing of it is sent, however the file lies."""
    root = tmp_path / "shop"
    root.mkdir()
    (root / ".gitignore").write_text("private_settings.py\n/target/\n/venv/\n")
    if variant.startswith("many"):
        monkeypatch.setattr(find_file, "FILES" if "files" in variant else "BYTES", 20)
    text, make = VARIANTS[variant]
    make(root, text)
    session = faked()
    asked: list[Request] = requests_to(session.connection.backend)
    last = text.count("\n")
    async with served(session, root, tmp_path / "cache") as at_port:
        body = vim(text, last, len(text.rpartition("\n")[2]))
        answers = [
            await at_port.client.post("/infill", json=body),
            await at_port.client.post("/v1/completions", json={"prompt": text, "suffix": "\n"}),
            await at_port.client.post("/infill", json={**body, "stream": True}),
        ]
        await session.wait_idle()
        said = [answer.text for answer in answers]

    assert "CANARY" not in "".join(str(request.prompt) for request in asked)
    if variant.startswith("many"):
        assert [answer.status_code for answer in answers] == [422, 422, 200]
        assert all("does not know which file" in each and "--root" in each for each in said)


async def test_a_private_file_is_not_taken_for_an_edit_of_its_template(tmp_path: Path) -> None:
    """A client that shows one file and then another, without names, shows two texts."""
    (tmp_path / ".gitignore").write_text("private_settings.py\n")
    beside_a_template(tmp_path, PRIVATE)
    shown = TEMPLATE + "KEY = ''\nUSER = ''\n"
    session = faked()
    asked: list[Request] = requests_to(session.connection.backend)
    async with served(session, tmp_path, tmp_path / "cache") as at_port:
        await at_port.post("/infill", vim(shown[:-3], 7, 7))
        n_before = len(asked)
        await at_port.post("/infill", vim(PRIVATE, PRIVATE.count("\n"), 2))
        await session.wait_idle()

    assert n_before, "the template is public"
    assert "CANARY" not in "".join(str(request.prompt) for request in asked)


async def test_a_copy_that_a_build_made_hides_nothing(tmp_path: Path) -> None:
    """Of a text that a public file has git ignores a copy in a folder that programs fill."""
    (tmp_path / ".gitignore").write_text("build/\n*.map\n")
    for name in ("cart.py", "build/lib/cart.py"):
        write(name)(tmp_path, CART)
    session = faked()
    asked: list[Request] = requests_to(session.connection.backend)
    async with served(session, tmp_path, tmp_path / "cache") as at_port:
        await at_port.post("/infill", vim(CART[:-6], 4, 35))

    assert asked


async def test_extras_of_a_private_file_under_another_name(tmp_path: Path) -> None:
    """A client names files from its own folder, which need not be the project's."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / ".gitignore").write_text("settings.py\n")
    (tmp_path / "conf" / "settings.py").write_text(PRIVATE)
    extra = [{"filename": "settings.py", "text": PRIVATE}]
    session = faked()
    asked: list[Request] = requests_to(session.connection.backend)
    async with served(session, tmp_path, tmp_path / "cache") as at_port:
        for column in (20, 21):
            await at_port.post(
                "/infill", vim("def new_function(CANA", 0, column) | {"input_extra": extra}
            )
            await session.wait_idle()
        documents = [*session.documents]

    assert asked
    assert not [uri for uri in documents if uri.endswith("settings.py")]


async def test_a_private_file_that_an_editor_has_open(tmp_path: Path) -> None:
    """The document for another client beside it is as private."""
    from fim_lsp import events  # noqa: PLC0415

    (tmp_path / ".env").write_text(PRIVATE)
    session = faked()
    asked: list[Request] = requests_to(session.connection.backend)
    async with served(session, tmp_path, tmp_path / "cache") as at_port:
        session.handle(events.Opened((tmp_path / ".env").as_uri(), "sh", 1, PRIVATE))
        await at_port.post("/infill", vim(PRIVATE, PRIVATE.count("\n"), 2))
        await session.wait_idle()

    assert not [request for request in asked if "CANARY" in str(request.prompt)]
