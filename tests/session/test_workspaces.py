"""The workspace beside the editor: files that are not open, files that change, rules that change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fim_lsp.context.ring import RingLimits, Viewport
from fim_lsp.documents import open_document
from fim_lsp.session.state import verdicts as verdicts_module
from fim_lsp.session.state import workspaces
from fim_lsp.session.state.edit_history import EditHistory, Question
from fim_lsp.session.state.open_document import source
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.settings.config import Config, PrivacyConfig
from fim_lsp.tasks import Tasks
from fim_lsp.workspace import paths
from tests.typist import wait_explored

MAIN = "from shop import freight\n\nprice = freight(3)\n"
SHOP = "def freight(weight):\n    rate = 3\n    return weight * rate\n"


class Project:
    """A workspace on disk with `main.py` open: the one caller of `Workspaces` here."""

    def __init__(self, root: Path, config: Config | None = None) -> None:
        self.root = root
        self.config = config or Config()
        self.workspaces = Workspaces()
        self.workspaces.roots = (root.as_uri(),)
        self.limits = RingLimits(self.config.ring.chunks, 64, 6000)
        (root / "main.py").write_text(MAIN)
        self.uri = (root / "main.py").as_uri()

    async def open(self, name: str = "main.py") -> None:
        uri = (self.root / name).as_uri()
        document = open_document(uri, "python", 1, (self.root / name).read_text())
        location = paths.locate(uri, self.workspaces.roots)
        workspace = self.workspaces.of(location, tuple)
        if (await self.workspaces.verdicts.find(uri, document.lines, self.config)).why:
            workspace.memory.note_deletion(uri)
        else:
            workspace.open(source(document, location))
        await workspace.reverify(self.config.privacy)

    @property
    def _here(self):
        return self.workspaces.of(paths.locate(self.uri, self.workspaces.roots), tuple)

    def close(self, name: str) -> None:
        uri = (self.root / name).as_uri()
        self._here.memory.note_close(uri)

    def tell(self, *, changed: tuple[str, ...] = (), deleted: tuple[str, ...] = ()) -> None:
        uris = [[(self.root / name).as_uri() for name in names] for names in (changed, deleted)]
        if self.workspaces.note_files(*uris):
            self.workspaces.judge_again()

    async def shown(self) -> str:
        """Return what a prompt would show after some idle time."""
        viewport = Viewport(self.uri, 2, 0, 4)
        for _ in range(2):
            await self._here.update_ring(viewport, 6000, self.config)
            await wait_explored(*(each.files for each in self.workspaces))
        await self._here.update_ring(viewport, 6000, self.config)
        return "".join(f"# {c.name}\n{c.text}" for c in self._here.chunks(viewport, self.config))


Start = Callable[..., Project]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Opens a workspace with what is on disk by then, and closes it at the end."""
    started: list[Project] = []

    def project(config: Config | None = None) -> Project:
        started.append(Project(tmp_path, config))
        return started[-1]

    yield project
    for each in started:
        each.workspaces.close()


@pytest.fixture
def project(start: Start, tmp_path: Path) -> Project:
    (tmp_path / "shop.py").write_text(SHOP)
    return start()


async def test_a_file_that_changes_on_disk_is_shown_as_it_is(project: Project) -> None:
    """Whether the client tells or not; both were closed."""
    (project.root / "util.py").write_text("def tidy(shelf):\n    return sorted(shelf)\n")
    await project.open()
    for name in ("util.py", "shop.py"):
        await project.open(name)
        project.close(name)
    assert "sorted(shelf)" in await project.shown()
    (project.root / "util.py").write_text("def tidy(shelf):\n    return shelf.sort()\n")
    (project.root / "shop.py").write_text(SHOP.replace("3", "4"))
    project.tell(changed=("shop.py",))
    shown = await project.shown()
    assert "shelf.sort()" in shown
    assert "rate = 4" in shown
    assert "sorted(shelf)" not in shown
    assert "rate = 3" not in shown


async def test_a_file_with_another_spelling_of_its_uri_is_one_file(project: Project) -> None:
    """Shown once before it is opened again, and once after."""
    await project.open()
    await project.open("shop.py")
    project.close("shop.py")
    assert (await project.shown()).count("rate = 3") == 1
    odd = project.root.as_uri() + "/%73hop.py"
    location = paths.locate(odd, project.workspaces.roots)
    project.workspaces.of(location, tuple).open(
        source(open_document(odd, "python", 1, SHOP), location)
    )
    assert not project._here.memory.knows((project.root / "shop.py").as_uri())
    assert (await project.shown()).count("rate = 3") == 1


@pytest.mark.promise("files-outside-and-links")
@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("untitled:{root}/.env", "it matches fim.privacy.exclude"),
        ("untitled:Untitled-1", ""),
        ("untitled:{root}/ignored.py", "it matches .gitignore"),
        ("untitled:sub/../ignored.py", "it matches .gitignore"),
        ("vscode-notebook-cell:{root}/ignored.ipynb#ch1", "it matches .gitignore"),
        ("vscode-notebook-cell:/etc/x.ipynb#ch1", "it lies in a folder of the system"),
        ("git:{root}/open.py", "not a file"),
    ],
)
async def test_texts_without_a_file_are_judged_by_their_path(
    project: Project, uri: str, reason: str
) -> None:
    """As private as the file they are to be, or a part of."""
    (project.root / ".gitignore").write_text("ignored.*\n")
    uri = uri.format(root=project.root.as_posix())
    verdict = (await project.workspaces.verdicts.find(uri, (), project.config)).why
    assert verdict.startswith(reason)
    assert bool(verdict) == bool(reason)


async def test_what_is_remembered_of_refusals_is_bounded(project: Project, monkeypatch):
    """Nor is anything remembered of a file that is not there while the settings are not known."""
    monkeypatch.setattr(verdicts_module, "REFUSALS", 2)
    verdicts = project.workspaces.verdicts
    root = project.root.as_uri()
    unknown = replace(project.config, privacy=PrivacyConfig(unknown="late"))
    assert "late" in (await verdicts.find(f"{root}/new.py", (), unknown)).why
    assert (await verdicts.find(f"{root}/new.py", (), project.config)).why == ""
    for n in range(4):
        assert (await verdicts.find(f"{root}/.env{n}", (), project.config)).why
    assert len(verdicts._refusals) == 2
    odd = {"gopher:x", f"{root}/gone.py"}
    assert verdicts.list_private(odd, project.config.privacy) == odd


async def test_what_could_not_be_judged_is_judged_again(start: Start, tmp_path: Path, monkeypatch):
    """Where judging remembered files failed, nothing of them is trusted until it succeeds."""
    (tmp_path / "shop.py").write_text(SHOP)
    project = start()
    await project.open("shop.py")
    await project.open()
    project.close("shop.py")
    (tmp_path / ".gitignore").write_text("shop.py\n")
    project.tell(changed=(".gitignore",))
    workspace = project._here
    privacy = project.config.privacy

    def fail(*_: object) -> None:
        raise OSError("disk")

    with monkeypatch.context() as context:
        context.setattr(workspaces, "reread", fail)
        with pytest.raises(OSError, match="disk"):
            await workspace.reverify(privacy)
    assert await workspace.reverify(privacy)
    assert not workspace.memory.knows((tmp_path / "shop.py").as_uri())


def test_the_texts_of_the_newest_question_are_kept() -> None:
    """Another document can never be taken for one of them."""
    history = EditHistory(Tasks().start)
    history.stop_older([open_document("file:///a.py", "python", 1, MAIN)])
    document = open_document("file:///b.py", "python", 1, MAIN)
    others = [document, *(open_document("file:///c.py", "python", n, MAIN) for n in range(50))]
    outdated = [history.is_outdated(Question((), (other,), frozenset(), None)) for other in others]
    assert all(outdated)
