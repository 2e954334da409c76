"""`fim_lsp.settings`: from what users wrote to a `Config`."""

from __future__ import annotations

import dataclasses
import json
import runpy
import threading
import tomllib
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.settings import files
from fim_lsp.settings.config import SECRETS, BackendConfig, Config, PrivacyConfig, ProjectRules
from fim_lsp.settings.merge import SCHEMA, Layer, has_ours, merge_layers
from fim_lsp.settings.option import Project

pytestmark = [pytest.mark.promise("a-project-only-restricts"), pytest.mark.promise("odd-input")]

ROOT = Path(__file__).parents[2]


def check(raw: object, key: str, value: object, *, problems: int = 0) -> None:
    """One trusted layer sets *key* to *value*, with so many problems."""
    config, found = merge_layers([Layer("editor", raw)])
    assert at(config, key) == value
    assert len(found) == problems, found


def at(config: Config, key: str) -> object:
    section, field = key.split(".")
    return getattr(getattr(config, section), field)


@pytest.mark.parametrize(
    "raw",
    [
        {"fim": {"ring": {"chunks": 3}}},
        {"ring.chunks": 3},
        {"fim.ring": {"chunks": 3.0}},
        {"fim": {"ring": {"chunks": 3}}, "python": {"analysis": True}},
        {"fim.ring.chunks": 3, "editor.fontSize": 12},
        {"ring": {"chunks": 3}, "editorInfo": {"name": "vim"}, "editorPluginInfo": {"name": "x"}},
        {"ring": {"chunks": 3, "chunkLines": None}},
    ],
)
def test_every_shape_is_read(raw: object) -> None:
    """With or without `fim`, nested or dotted, next to others' settings, without a complaint."""
    check(raw, "ring.chunks", 3)


@pytest.mark.parametrize(
    "raw", [None, [], {}, "", 3, {"fim": None}, {"fim": []}, {"fim": {"ring": {}}}]
)
def test_nothing_is_no_problem(raw: object) -> None:
    """Clients without settings send null, empty lists and the like."""
    assert merge_layers([Layer("editor", raw)]) == (Config(), ())


NUMBER = "a whole number from 0 to 256"
SERVER = 'a server like {"url": "http://127.0.0.1:8013", "model": "zeta-2"}'
SERVERS = 'a list of servers like {"url": "http://127.0.0.1:8012", "kind": "llama-server"}'


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        *(({"ring": {"chunks": value}}, f"fim.ring.chunks must be {NUMBER}, not {shown}")
          for value, shown in [
              ("many", '"many"'), (2.5, "2.5"), (True, "true"), (-1, "-1"), (float("nan"), "NaN"),
          ]),
        ({"completion": {"auto": 1}}, "fim.completion.auto must be true or false, not 1"),
        ({"backend": {"kind": "ollama"}},
         'fim.backend.kind must be one of auto, llama-server, openai, embedded, not "ollama"'),
        ({"backend": {"url": ["x"]}}, "fim.backend.url must be a text, not a list"),
        ({"ring": {"chunk": 3}},
         "there is no setting fim.ring.chunk; did you mean fim.ring.chunks?"),
        ({"fim": {"url": "http://x"}},
         "there is no setting fim.url; did you mean fim.backend.url?"),
        ({"backend": {"apiKey": "sk-secret"}},
         "there is no setting fim.backend.apiKey; did you mean fim.backend.apiKeyEnv?"),
        ({"zzz": 1}, "there is no setting fim.zzz"),
        ({"backend": {"headers": {"X-A": 1}}},
         "fim.backend.headers must be a table of texts, not a table"),
        ({"backend": {"body": "user"}}, 'fim.backend.body must be a table of texts, not "user"'),
        ({"nextEdit": {"server": {"kind": "openai"}}},
         f"fim.nextEdit.server must be {SERVER}, not a table"),
        ({"nextEdit": {"url": "http://a"}},
         "there is no setting fim.nextEdit.url; did you mean fim.nextEdit.server?"),
        *(({"backend": {"endpoints": value}}, (f"fim.backend.endpoints must be {SERVERS}, "
                                              f"not {shown}")) for value, shown in [
            ("http://a", '"http://a"'), (["http://a"], "a list"), ([{"uri": "http://a"}], "a list"),
            ([{"url": 3}], "a list"), ([{"endpoints": []}], "a list"),
        ]),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_and_left_out(raw: object, sentence: str) -> None:
    """The sentence says where, what and how it should be; the default stays, keys are not repeated."""
    assert merge_layers([Layer("editor", raw)]) == (Config(), (f"editor: {sentence}",))


SECRET = ["mine.py"]
NEAR: dict[str, object] = {
    "privacy.exclude": "*.pem",
    "fim.privacy.exclude": [""],
    "fim.fim.privacy.exclude": [1, "notes/"],
    "privacy": {"exclude": {"**/*.pem": True}},  # as VS Code's own `files.exclude` is
    "fim": [{"privacy": {"exclude": SECRET}}],
    "fim.PRIVACY.Exclude": SECRET,
    "privacy.excludes": SECRET,
    "privacy.include": SECRET,
    "privcay.exclude": SECRET,
    "\u0440rivacy.exclude": SECRET,  # a Cyrillic letter
    "private": {"exclude": SECRET},
    "privacyExclude": SECRET,
    "privacy - - exclude": SECRET,
    "exclude": SECRET,
    "settings": {"privacy": {"exclude": SECRET}},
    "privacy ": [{"exclude": SECRET}],
    " privacy ": "mine.py",
    "files.exclude": SECRET,  # VS Code's name for it
    "completion.exclude": SECRET,
    "ring": {"exclude": SECRET},
    "exclude.files": SECRET,
    "excludeFiles": SECRET,
    "exclude_patterns": SECRET,
    "filesExclude": SECRET,
    "ignore": SECRET,
    "ignored": SECRET,
    "files.include": SECRET,  # all others were not to be sent
    "policy.exclude": 1,
    "ignore.files": SECRET,
    "context.ignoreFiles": SECRET,
    "fim.files.exclude": SECRET,
    "security": {"exclude": "*.env"},
}


@pytest.mark.parametrize(("key", "value"), NEAR.items(), ids=map(repr, NEAR))
@pytest.mark.parametrize("trusted", [True, False])
def test_what_was_to_be_private_hides_all_where_it_is_misspelled(
    key: str, value: object, *, trusted: bool
) -> None:
    """And a message says so; of a project, all in its own folder."""
    wrong = Layer("file", {key: value}, trusted=trusted, ours=True, folder="/w/one")
    config, [problem] = merge_layers([wrong])
    assert config.privacy.why_unknown(PurePosixPath("/w/one/a.py")) == problem
    assert config.privacy.why_unknown(PurePosixPath("/w/two/a.py")) == (problem if trusted else "")
    assert problem.startswith("file: ")
    assert problem.endswith("; no suggestions until it is mended")


FAR: list[object] = [
    {"privacy": {}}, {"privacy": {"exclude": []}}, {"privacy.exclude": None}, {"files.exclude": {}},
    {"prompt": {"prefix": SECRET}}, {"completion": {"disabledFor": 1}},
    {"privacy" * 20: SECRET}, {"backend": {"score": 1}},
]  # fmt: skip


@pytest.mark.parametrize("raw", FAR)
def test_what_is_far_from_it_hides_nothing(raw: object) -> None:
    """Nor does an empty value."""
    assert merge_layers([Layer("editor", raw)])[0].privacy == PrivacyConfig()


@pytest.mark.parametrize("value", ["*.sql", {"*.sql": True}])
def test_where_a_project_wants_no_suggestions_is_not_known_either(value: object) -> None:
    """Its list is as wrong as one of what is private, so that there are none in its folder."""
    raw = {"completion": {"disabledFor": value}}
    config, _ = merge_layers([Layer("p", raw, trusted=False, folder="/w/one")])
    assert config.privacy.why_unknown(PurePosixPath("/w/one/a.py"))
    assert not config.privacy.why_unknown(PurePosixPath("/w/two/a.py"))


TWICE = [
    "[privacy]\nexclude = ['one']\n[fim.privacy]\nexclude = ['two']\n",
    "'privacy.exclude' = ['one']\n[privacy]\nexclude = ['two']\n",
    "'fim.privacy.exclude' = ['one']\n[fim.privacy]\nexclude = ['two']\n",
    "[FIM.privacy]\nexclude = ['one']\n['fim.privacy']\nexclude = ['two']\n",
]


@pytest.mark.parametrize("text", TWICE)
@pytest.mark.parametrize("trusted", [True, False])
def test_a_list_that_comes_twice_is_one(text: str, *, trusted: bool) -> None:
    """However its key is spelled; no spelling hides another."""
    layer = Layer("file", tomllib.loads(text), trusted=trusted, ours=True, folder="/w")
    privacy = merge_layers([layer])[0].privacy
    excluded = privacy.exclude if trusted else privacy.of_project(PurePosixPath("/w"))
    assert {"one", "two"} <= {*excluded}


@pytest.mark.parametrize("second", ["http://b", "http://a"])
def test_a_value_that_comes_twice_is_an_error(second: str) -> None:
    """Unless both are the same; which one was meant is not known, so that none counts."""
    text = f"[backend]\nurl = 'http://a'\n[fim.backend]\nurl = '{second}'\n"
    layer = Layer("file", tomllib.loads(text), ours=True, text=text)
    config, problems = merge_layers([layer])
    if second == "http://a":
        assert (config.backend.url, problems) == ("http://a", ())
    else:
        assert config.backend.url == ""
        assert problems == ("file: line 2: fim.backend.url is set twice; correct one of them",)


@pytest.mark.parametrize(
    ("raw", "counts"),
    [
        ({"json": {"schemas": []}}, False),
        ({"python": {"analysis": {}}, "files.exclude": {"**/*.pem": True}}, False),
        (None, False),
        ([], False),
        ({"json": {"schemas": []}, "fim": {}}, True),
        ({"ring": {"chunk": 1}}, True),
        ({"suggestions": "fewer"}, True),
        ({"privcy": {"exclude": ["*.sql"]}}, True),
    ],
)
def test_what_is_sent_to_all_servers_may_be_for_others(raw: object, counts: bool) -> None:
    """Qt Creator sends each of them the settings for JSON; a key that may hide something is ours."""
    assert has_ours(raw) is counts
    sources = files.Sources({})
    sources.say("workspace/didChangeConfiguration", raw)
    assert counts or sources.config()[1] == files.Sources({}).config()[1]


def test_a_problem_of_a_file_has_its_line() -> None:
    """In whatever section the key stands."""
    text = "[ring]\nchunks = 'x'\n\n[[Privacy]]\nexclude = []\n[fim.backend]\n'uri' = 1\n"
    _, problems = merge_layers([Layer("f", tomllib.loads(text), ours=True, text=text)])
    assert [problem.split(": ")[1] for problem in problems] == ["line 2", "line 4", "line 7"]


def test_the_last_layer_wins() -> None:
    """A later layer overrides the keys it says, and no others; a wrong value overrides nothing."""
    config, problems = merge_layers(
        [
            Layer("file", {"ring": {"chunks": 1, "chunkLines": 10}, "backend.url": "http://a"}),
            Layer("editor", {"fim": {"ring": {"chunks": 2}}}),
            Layer("flags", {"ring.chunkLines": "x", "backend.url": "http://b"}),
        ]
    )
    assert (config.ring.chunks, config.ring.chunk_lines) == (2, 10)
    assert config.backend.url == "http://b"
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("raw", "sure"),
    [
        ({}, 0.3),
        ({"suggestions": "fewer"}, 0.6),
        ({"fim": {"suggestions": "more"}}, 0.1),
        ({"fim.suggestions": "fewer", "fim.completion.minConfidence": 0.0}, 0.0),
        ({"suggestions": "none"}, 0.3),
    ],
)
def test_how_many_suggestions_in_a_word(raw: object, sure: float) -> None:
    """It says how sure the model must be; the number of an expert wins."""
    config, problems = merge_layers([Layer("a", raw)])
    assert config.sure == sure
    assert bool(problems) == ("none" in str(raw))


def test_lists_add_to_their_default() -> None:
    """Naming one more secret file does not bare all the others."""
    layers = [
        Layer("a", {"privacy.exclude": ["x"]}),
        Layer("b", {"privacy.exclude": ["!*.crt", "*.key"], "completion.disabledFor": ["a"]}),
        Layer("start", {"privacy.exclude": ["y"]}, place="editor"),
        Layer(
            "change", {"privacy.exclude": ["z"], "completion.disabledFor": ["b"]}, place="editor"
        ),
    ]
    config, _ = merge_layers(layers)
    assert config.privacy.exclude == (*SECRETS, "x", "!*.crt", "z")
    assert config.completion.disabled_for == ("b",)


@pytest.mark.parametrize("option", SCHEMA.values(), ids=SCHEMA)
def test_a_project_never_sets_what_it_must_not(option) -> None:
    """Endpoints, keys, logs: whatever a project says of them is a sentence and has no effect."""
    values = {bool: True, str: "x", int: 7, float: 0.5, tuple: ["x"], list: [{"url": "x"}]}
    value = (values | {BackendConfig: {"url": "x"}, dict: {"X-A": "x"}})[option.type]
    config, problems = merge_layers([Layer(".fim-lsp.toml", {option.key: value}, trusted=False)])
    if option.project is Project.NEVER:
        assert config == Config()
        assert problems
    never = option.key.split(".")[0] in {"backend", "log", "models", "status", "http"}
    never |= option.key.startswith("nextEdit.") and option.type is not bool
    assert never == (option.project is Project.NEVER)


@pytest.mark.parametrize(
    ("user", "project", "key", "value", "sentence"),
    [
        ({"ring.chunks": 8}, {"ring.chunks": 4}, "ring.chunks", 4, ""),
        ({"ring.chunks": 8}, {"ring.chunks": 9}, "ring.chunks", 8,
         "a project may only lower fim.ring.chunks; it stays 8"),
        ({"completion.auto": True}, {"completion.auto": False}, "completion.auto", False, ""),
        ({}, {"completion.patienceMs": 9}, "completion.patience_ms", 9, ""),
        ({"completion.disabledFor": ["b"]}, {"completion.disabledFor": ["a", "!b"]},
         "completion.disabled_for", ("b", "a"), "a project may not undo !b"),
        ({"completion.auto": False}, {"completion.auto": True}, "completion.auto", False,
         "a project may only switch off fim.completion.auto; it stays false"),
        ({"privacy.exclude": ["!a"]}, {"privacy.exclude": ["a"]}, "privacy.projects",
         (ProjectRules("/w", ("a",)),), ""),
        ({}, {"privacy.exclude": ["a", "!.env"]}, "privacy.projects",
         (ProjectRules("/w", ("a",)),), "a project may not undo !.env"),
    ],
)  # fmt: skip
def test_a_project_may_tune_and_restrict(user, project, key, value, sentence) -> None:
    """In its folder only; what it restricts stays restricted, also against layers that come after it."""
    layer = Layer("/w/p", project, trusted=False, folder="/w")
    config, problems = merge_layers([layer, Layer("user", user)])
    assert at(config.of(PurePosixPath("/w")), key) == value
    elsewhere = dataclasses.replace(config, projects=())
    without = merge_layers([Layer("user", user)])[0]
    assert dataclasses.replace(elsewhere, privacy=without.privacy) == without
    assert config.of(PurePosixPath("/v")) == config.of(None) == config
    assert problems == ((f"/w/p: {sentence}",) if sentence else ())


def test_a_project_tunes_its_own_folder() -> None:
    """What one project says counts in no other, whichever was read first."""
    said = (
        Layer(f"/p/{name}/f", {"ring": {"chunks": n}}, trusted=False, folder=f"/p/{name}")
        for name, n in (("a", 3), ("b", 5))
    )
    config, _ = merge_layers([Layer("user", {}), *said])
    chunks = {folder: config.of(PurePosixPath(folder)).ring.chunks for folder in ("/p/a", "/p/b")}
    assert chunks == {"/p/a": 3, "/p/b": 5}
    assert config.of(None).ring.chunks == Config().ring.chunks


PLACE = {"url": "http://a", "apiKeyEnv": "K"}


@pytest.mark.parametrize(
    "raw", [{"fim": {"nextEdit": {"server": PLACE}}}, {"nextEdit.server": PLACE}]
)
def test_a_server_is_a_table_wherever_it_stands(raw: object) -> None:
    """Its keys are those of `fim.backend`."""
    config, problems = merge_layers([Layer("file", raw)])
    server = config.next_edit.server
    assert ((server.url, server.api_key_env), problems) == (("http://a", "K"), ())


def test_headers_and_fields_are_tables_of_texts() -> None:
    """Of any name; in a server of several, too."""
    headers = {"X-Session-ID": "{session}", "x.y": "z"}
    servers = [{"url": "http://a", "headers": headers}, {"kind": "embedded"}]
    raw = {"backend": {"headers": headers, "body": {"user": "t"}, "endpoints": servers}}
    backend = merge_layers([Layer("file", raw)])[0].backend
    assert [each.kind for each in backend.endpoints] == ["auto", "embedded"]
    assert backend.headers == backend.endpoints[0].headers == tuple(headers.items())
    assert backend.body == (("user", "t"),)


EVIL = "x\n[repair](command:evil)\x1b[2J\u202e" + "y" * 131_897
SHORTER = EVIL[:1000]  # where there are many

WRITTEN: dict[str, Callable[[], object]] = {
    "key": lambda: {EVIL: 1},
    "inner key": lambda: {"ring": {EVIL: 1}},
    "choice": lambda: {"completion": {"fallback": EVIL}},
    "pattern": lambda: {"privacy": {"exclude": ["!" + EVIL]}},
    "patterns": lambda: {"privacy": {"exclude": [f"!{number}{SHORTER}" for number in range(1000)]}},
    "not for it": lambda: {"backend": {"url": EVIL}},
    "many keys": lambda: {f"{number}{SHORTER}": 1 for number in range(2000)},
}


@pytest.mark.parametrize("raw", WRITTEN.values(), ids=WRITTEN)
def test_what_a_repository_writes_is_cut(raw: Callable[[], object]) -> None:
    """Its text reaches messages: short, on one line, without links, and not too often."""
    _, problems = merge_layers([Layer("p", raw(), trusted=False)])
    assert problems
    assert len(problems) <= 51
    for problem in problems:
        assert len(problem) < 400
        assert problem.isprintable()
        assert "](" not in problem


def test_a_password_in_a_wrong_value_is_not_repeated() -> None:
    """A URL set where a kind belongs."""
    _, problems = merge_layers([Layer("e", {"backend": {"kind": "http://me:secret@host"}})])
    assert "secret" not in problems[0]


json_names = st.sampled_from(["fim", "ring", "chunks", "privacy", "exclude", *SCHEMA])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(json_names, inner, max_size=4),
    max_leaves=20,
)


@given(json_values, json_values)
def test_whatever_is_written_nothing_fails(trusted: object, untrusted: object) -> None:
    """Any JSON at all is a configuration and sentences, and a project cannot loosen the user's."""
    layers = [Layer("user", trusted), Layer("project", untrusted, trusted=False)]
    without, _ = merge_layers(layers[:1])
    config, problems = merge_layers(layers)
    assert all(problem.startswith(("user: ", "project: ")) for problem in problems)
    assert config.backend == without.backend
    assert set(config.privacy.exclude) >= set(without.privacy.exclude)
    assert dataclasses.replace(config, privacy=without.privacy, projects=()) == without
    for _, own in config.projects:
        assert own.backend == without.backend
        assert own.ring.chunks <= without.ring.chunks


def test_depth_is_no_problem() -> None:
    """Ten thousand tables in one another are one wrong value."""
    raw: dict[str, object] = {}
    for _ in range(10_000):
        raw = {"a": raw}
    assert len(merge_layers([Layer("p", raw, trusted=False)])[1]) == 1


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder where the user's settings file is looked for."""
    file = tmp_path / "home" / "config.toml"
    file.parent.mkdir()
    monkeypatch.setattr(files, "user_file", lambda: file)
    return file


def test_files_become_layers(home: Path, tmp_path: Path) -> None:
    """The user's file is trusted, a project's is not, and no file is no layer."""
    assert files.read((tmp_path,)) == (Config(), ())
    home.write_text("[ring]\nchunks = 3\n", "utf-8")
    project = tmp_path / ".fim-lsp.toml"
    project.write_text("fim.completion.auto = false\nbackend.url = 'http://x'\n", "utf-8")
    config, problems = files.read((tmp_path, tmp_path / "none"))
    assert (config.ring.chunks, config.completion.auto, config.backend.url) == (3, False, "")
    assert problems == (f"{project}: line 2: a project may not set fim.backend.url",)


def test_all_of_a_file_is_ours(home: Path) -> None:
    """A key with `fim` before it does not make the others those of another program, as in an editor."""
    home.write_text("fim.ring.chunks = 3\nring.chunkLines = 9\n[privacy]\nexclude = ['notes/']\n")
    config, problems = files.read(())
    assert (config.ring.chunks, config.ring.chunk_lines, problems) == (3, 9, ())
    assert "notes/" in config.privacy.exclude


@pytest.mark.parametrize("content", [b"chunks = ", b"\xff\xfe", b"# " + b"x" * 20_000])
def test_a_bad_file_is_a_sentence(home: Path, content: bytes) -> None:
    """Not TOML, not UTF-8, endless or too deep: named with its path, and everything else works."""
    home.write_bytes(content)
    assert files.read(())[1][0].startswith(str(home))


@pytest.mark.parametrize("content", [b"[" + b"a." * 8_000 + b"a]", b"a = '" + b"." * 501 + b"'"])
def test_a_file_that_takes_long_to_read_is_not_read(home: Path, content: bytes) -> None:
    """Keys of thousands of parts are refused before they are parsed, which takes quadratic time."""
    home.write_bytes(content)
    [problem] = files.read(())[1]
    assert problem.startswith(f"{home}: line 1: has more than 500 dots: ")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"ring.chunks = 0x" + b"f" * 9000, "not a huge number"),
        (b"ring.chunks = 07:32:00", "not a date or time"),
    ],
)
def test_values_that_only_toml_has_are_named(tmp_path: Path, content: bytes, why: str) -> None:
    """A project's file with a number of more digits than Python prints does not end the server."""
    (tmp_path / ".fim-lsp.toml").write_bytes(content)
    assert [problem.endswith(why) for problem in files.read((tmp_path,))[1]] == [True]


@pytest.mark.parametrize("root", ["/dev/null", "/no/such/folder", "/\0", "/" + "a" * 5000])
def test_a_root_that_is_no_folder_has_no_file(home: Path, root: str) -> None:
    """Or one that is wrong, of that folder only."""
    config, problems = files.read((Path(root),))
    assert config.ring == Config().ring
    assert config.privacy.why_unknown(home) == ""
    assert len(problems) == ("\0" in root)


def test_a_link_of_the_user_is_followed(home: Path, tmp_path: Path) -> None:
    """The user's other settings stay as they were while the file is wrong."""
    (tmp_path / "mine").write_text("[ring]\nchunks = 3\n", "utf-8")
    home.symlink_to(tmp_path / "mine")
    sources = files.Sources({})
    assert not sources.is_stale()  # it was not read yet
    for text in ("", "[ring"):
        sources.read((), lambda: None)
        assert not sources.is_stale()
        assert sources.config()[0].ring.chunks == 3
        (tmp_path / "mine").write_text(text)
        assert sources.is_stale()
    assert "is empty now" in sources.config()[0].privacy.unknown


@pytest.mark.parametrize(
    ("texts", "is_unknown", "chunks"),
    [
        (["ring.chunks = 3", "ring.chunks = 4"], False, 4),
        (["ring.chunks = 3", "[ring"], True, 3),
        (["[ring"], True, 16),
        (["ring.chunks = 3", ""], True, 3),  # it is being written
        (["ring.chunks = 3", "# nothing"], False, 16),
        (["", ""], False, 16),
        (["ring.chunks = 3", None], False, 16),  # it is deleted
    ],
)
def test_what_a_file_said_counts_while_it_is_wrong(
    home: Path, texts: list[str | None], chunks: int, *, is_unknown: bool
) -> None:
    """Or empty, where it was not; what it may hide is not known then."""
    sources = files.Sources({})
    for text in texts:
        home.unlink() if text is None else home.write_text(text)
        sources.read((), lambda: None)
    config, _ = sources.config()
    assert (bool(config.privacy.unknown), config.ring.chunks) == (is_unknown, chunks)


@pytest.mark.promise("private-if-unsure")
def test_a_file_whose_disk_hangs_is_read_by_one_thread(home: Path, monkeypatch: pytest.MonkeyPatch):
    """However often it changes; once it answers it is read again, for the last change."""
    began = list[Path]()
    answers = threading.Event()
    read = files._read

    def hang(path: Path) -> files._Reading:
        began.append(path)
        answers.wait(10.0)
        return read(path)

    monkeypatch.setattr(files, "_read", hang)
    monkeypatch.setattr(files, "LIMIT_S", 0.01)
    sources = files.Sources({})
    assert sources.list_late()  # nothing is known yet
    for _ in range(5):
        sources.read((), lambda: None)
    assert began == [home]
    assert [str(home) in late for late in sources.list_late()] == [True]
    assert sources.config()[1] == ()  # it is told as late
    answers.set()
    while sources._reading:
        wait(sources._reading.values())
        sources.take()
    assert began == [home] * 2
    assert sources.list_late() == ()


def test_the_page_on_settings_is_in_step() -> None:
    """docs/configuration.md is what scripts/tools/make-config-docs makes now."""
    rendered = runpy.run_path(str(ROOT / "scripts/tools/make-config-docs"))["rendered"]()
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    assert page == rendered, "run sh scripts/docs"


def test_the_settings_of_the_extension_are_in_step() -> None:
    """editors/vscode/package.json is what scripts/tools/make-vscode-settings makes now."""
    made = runpy.run_path(str(ROOT / "scripts/tools/make-vscode-settings"))["manifest"]()
    manifest = (ROOT / "editors/vscode/package.json").read_text("utf-8")
    assert manifest == made, "run sh scripts/docs"


@pytest.mark.parametrize("script", ["make-config-docs", "make-vscode-settings"])
@pytest.mark.parametrize("key", ["newest", "completion.newest", "suggestions.newest"])
def test_a_setting_without_words_is_named(script: str, key: str) -> None:
    """Who adds one writes in docs.toml what it is for."""
    made = runpy.run_path(str(ROOT / "scripts/tools" / script))
    with pytest.raises(SystemExit, match=f"docs.toml has no words for {key}$"):
        made["words"](key)


def test_a_workspace_of_vs_code_cannot_loosen_what_protects() -> None:
    """A cloned repository brings `.vscode/settings.json`, and VS Code lets it win over the user's."""
    manifest = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))
    sections = manifest["contributes"]["configuration"]
    settings = {key: about for each in sections for key, about in each["properties"].items()}
    free = {key for key, about in settings.items() if about["scope"] == "window"}
    assert {about["scope"] for about in settings.values()} == {"machine", "application", "window"}
    for option in SCHEMA.values():
        if f"fim.{option.key}" in free:
            assert option.project in (Project.TUNE, Project.LOWER)
    kept = ("privacy.exclude", "completion.disabledFor", "state.save", "ring.files", "serverPath")
    assert not free & {f"fim.{key}" for key in kept}
