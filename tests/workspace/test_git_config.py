"""Git's configuration files are read as git reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fim_lsp.workspace.git_config import Setting, is_true, parse, values
from tests.workspace.git_repos import git

pytestmark = pytest.mark.promise("bounded-work")

FILES = [
    "[core]\n\tignoreCase = true\n",
    "[core]ignoreCase=true\n",
    "[core]\nignoreCase\n[user] name = A  B  \n",
    '[core]\nexcludesFile = "a b"c\n',
    '[core]\nexcludesFile = "a # b" # c\n',
    "[core]\nexcludesFile = a ; b\n",
    "[core]\nexcludesFile =   a b \t # x\n",
    '[core]\nexcludesFile = a\\\\b\\tc\\"d\n',
    "[core]\nexcludesFile = a\\\n  b\n",
    '[core]\nexcludesFile = "a\\\nb"\n',
    '[core]\nexcludesFile = a "  " b\n',
    "[core]\r\nexcludesFile = a\r\nignoreCase = no\r\n",
    '[includeIf "gitdir:~/X/"]\npath = y\n[INCLUDE]\nPath = Z\n',
    '[a "B\\"c"]\nd = e\n[a.F]\ng = h\n',
    "# x\n; y\n[core]\n# excludesFile = a\n\n  excludesFile = b\n",
    "\ufeff[core]\nexcludesFile = é\n",
    '[core]\nexcludesFile =\nexcludesFile = ""\n',
    "[core]\nexcludesFile = a\n[core]\nexcludesFile = b",
]


@pytest.mark.parametrize("text", FILES)
def test_settings_are_those_that_git_lists(tmp_path: Path, text: str) -> None:
    """Quotes, escapes, comments, sections, continued lines."""
    (tmp_path / "config").write_bytes(text.encode())
    said = git("config", "-z", "--list", "-f", "config", cwd=tmp_path).decode().split("\0")[:-1]
    pairs = [tuple(each.partition("\n")[::2]) if "\n" in each else (each, "true") for each in said]
    assert [(each.key, each.value) for each in parse(text.encode())] == pairs


@pytest.mark.parametrize(
    "text", ["[core\nexcludesFile = a\n", '[core]\nx = "a\ny = \\', "\\\n" * 9, '"' * 99]
)
def test_a_broken_file_is_read_as_far_as_it_goes(text: str) -> None:
    """Git would stop there; a verdict is needed anyway."""
    assert all(isinstance(each, Setting) for each in parse(text.encode()))


def test_a_value_on_a_condition_stands_beside_the_one_it_may_replace(tmp_path: Path) -> None:
    """The last sure value ends the list; the environment counts over all files."""
    (tmp_path / "a").write_text('[core]\nx = 1\nx = 2\n[includeIf "gitdir:/"]\npath = b\n')
    (tmp_path / "b").write_text("[core]\nx = 3\n[include]\npath = c\n")
    (tmp_path / "c").write_text("[core]\nx = 4\n")
    assert [each.value for each in values([tmp_path / "a"], "core.x")] == ["4", "3", "2"]
    assert [each.value for each in values([tmp_path / "a", tmp_path / "c"], "core.x")] == ["4"]


@pytest.mark.promise("private-files")
def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    """Three times in each of ten levels would be 60,000 reads; a repository may bring such a file."""
    (tmp_path / "a").write_text("[include]\n" + "path = a\n" * 50 + "[core]\nx = 1\n")
    assert values([tmp_path / "a"], "core.x")[-1].value == "1"


def test_a_megabyte_of_blank_lines_is_read_once() -> None:
    """Not once for each line, which would take an hour."""
    assert not [*parse(b"\n" * 1_000_000)]
    assert [each.value for each in parse(b" \n" * 100_000 + b"[core]\nx = 1")] == ["1"]


@pytest.mark.promise("private-files")
@pytest.mark.parametrize(
    "count", ["1", " 1", "\t1", "+1", "01", "", "0", "1 ", "x", "-1", "9" * 20]
)
def test_settings_in_the_environment_count(
    count: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As containers hand them to their users; by the number of them as git reads it."""
    monkeypatch.setenv("GIT_CONFIG_COUNT", count)
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "Core.ignoreCase")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "yes")
    command = ["git", "config", "--get", "core.ignorecase"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [each.value for each in values([], "core.ignorecase")] == said.stdout.split()


HANDED_DOWN = {
    "Core.X=a b=c": "a b=c",
    "core.x=it's 'quoted'!": "it's 'quoted'!",
    "core.x=": "",
    "core.x": "true",
}


@pytest.mark.promise("private-files")
@pytest.mark.parametrize("said", HANDED_DOWN)
def test_settings_that_git_was_started_with_count(said: str, tmp_path: Path, monkeypatch):
    """Git hands `git -c` to the editor that it starts, in two forms; both count over all else."""
    tell = "alias.handed=!printenv GIT_CONFIG_PARAMETERS"
    handed_down = git("-c", "core.x=first", "-c", said, "-c", tell, "handed", cwd=tmp_path).decode()
    quoted = said.replace("'", r"'\''").replace("!", r"'\!'")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.x")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "counted")
    for form in (handed_down.strip(), f"'core.x=first' '{quoted}'"):
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", form)
        assert values([], "core.x") == [Setting("core.x", HANDED_DOWN[said])]


def test_the_environment_may_include_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As with `git -c include.path=…`."""
    (tmp_path / "more").write_text("[core]\nx = 5\n")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'include.path'='{tmp_path}/more'")
    assert values([], "core.x") == [Setting("core.x", "5")]


def test_truth_has_many_names() -> None:
    """Words in any case, and numbers but for zero."""
    assert all(map(is_true, ("true", "Yes", "on", "1", "2", "-1", "010", "1k")))
    assert not any(map(is_true, ("false", "no", "off", "0", "", "00", "maybe")))
