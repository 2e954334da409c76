"""Prompts as text: each family's own control tokens, and none from a user's file; those of other programs, read back."""

from __future__ import annotations

import re
from collections.abc import Collection

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server_bridge.fim import tokens
from server_bridge.fim.layout import neutral, render
from server_bridge.fim.reading import read
from server_bridge.fim.tokens import (
    FAMILIES,
    PLAIN,
    PLAIN_HEAD,
    Family,
    families,
    find_by_model,
    find_by_name,
)
from server_bridge.protocol import Chunk, Prompt
from tests.server_bridge.fim.controls import CONTROLS, OTHERS
from tests.server_bridge.fim.templates import NO_ROW, PROMPT, TEMPLATES

pytestmark = pytest.mark.promise("no-control-tokens")

NAMES = {
    "Qwen/Qwen2.5-Coder-7B": "qwen",
    "fim-tiny-q8_0.gguf": "fim",
    "codeqwen-1_5-7b": "codeqwen",
    "bigcode/starcoder2-3b": "starcoder2",
    "ibm-granite/granite-8b-code-base": "starcoder",
    "granite-4.1-3b-base-Q8_0.gguf": "granite-4",
    "deepseek-coder:6.7b-base": "deepseek",
    "codellama/CodeLlama-7b-hf": "codellama",
    "JetBrains/Mellum-4b-base": "mellum",
    "zai-org/GLM-4-9B": "glm-4",
    "ByteDance-Seed/Seed-Coder-8B-Base": "seed-coder",
    "stable-code-3b": "stablecode",
    "google/codegemma-2b": "codegemma",
    "bigcode/santacoder": "santacoder",
    "THUDM/codegeex4-all-9b": "codegeex",
    "tiiuae/Falcon-H1-Tiny-Coder-90M": "falcon-h1",
    "codestral-2508": "codestral",
    "gpt-oss-20b": None,
}
# What a user's file may hold: special tokens whole, in halves and in each other.
SPELLINGS = sorted({s for family in FAMILIES for s in family.spellings})
EVERY = sorted({token for tokens in CONTROLS.values() for token in tokens})
HALVES = ["<|", "|>", "fim_prefix", ">>TITLE", "<", ">", ">>", "<<", "[", "/", "x", "\n"]
TEXTS = st.lists(st.sampled_from([*SPELLINGS, *EVERY, *OTHERS, *HALVES]), max_size=8).map("".join)


def written(prompt: Prompt, name: str) -> str:
    family = find_by_name(name)
    assert family is not None
    return "".join(part.text for part in render(prompt, family))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_is_written_as_it_was_trained(family: Family) -> None:
    """Stable parts first, special tokens spelled out, what is typed at the end."""
    shown = TEMPLATES.get(family.name, NO_ROW)
    if family.name == "codellama":  # a piece that begins with U+2581 begins with a space
        shown = shown.replace("▁", " ")
    assert written(PROMPT, family.name).replace("\n", "↵") == shown


@pytest.mark.parametrize(("model", "family"), NAMES.items())
def test_the_name_of_a_model_tells_its_family(model: str, family: str | None) -> None:
    """Names as their makers write them, on Hugging Face and in Ollama; of others nothing is guessed."""
    found = find_by_model(model)
    assert (found and found.name) == family


@pytest.mark.parametrize(("model", "family"), NAMES.items())
def test_a_family_without_names_has_no_models(
    model: str, family: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stands, and though an empty pattern is in every text."""
    monkeypatch.setattr(tokens, "FAMILIES", (PLAIN, PLAIN._replace(alike=True), *FAMILIES))
    found = find_by_model(model)
    assert (found and found.name) == family
    assert [each.alike for each in families(model) if each.name == PLAIN.name] == [False]


@pytest.mark.parametrize(("model", "name"), [row for row in NAMES.items() if row[1]])
def test_each_family_is_chosen_for_its_models(model: str, name: str) -> None:
    """By a server that has its tokens and no others, the first of `families` is taken whose tokens it has."""
    family = find_by_name(name)
    assert family is not None
    own = set(family.spellings)
    first = next(each.name for each in families(model) if own.issuperset(each.spellings))
    assert first == name, (
        f"families.toml: put {name} above {first}; of two with the same tokens, the upper one "
        f"has `alike = true`"
    )


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ({"sufix": "<b>"}, "unexpected keyword argument 'sufix'"),
        ({}, "missing 1 required positional argument: 'suffix'"),
        ({"suffix": "<b>", "controls": "starcoder gema"}, "KeyError('gema')"),
    ],
)
def test_a_wrong_row_is_named(row: dict[str, str], error: str) -> None:
    """A field or a pattern that there is not, and a token that is missing."""
    with pytest.raises(ValueError, match=re.escape("[families.new]: ")) as raised:
        tokens._family("new", {"prefix": "<a>", "middle": "<c>", **row})
    assert error in str(raised.value)


@given(st.sampled_from(FAMILIES), TEXTS, TEXTS, TEXTS, TEXTS)
def test_no_text_becomes_a_special_token(family, chunk, prefix, suffix, middle) -> None:
    """Whatever a user's files hold, the prompt has exactly the control tokens that we put there."""
    evil = Prompt("repo", (Chunk("a.py", chunk), Chunk("b.py", "")), "c.py", prefix, suffix, middle)
    whole = written(evil, family.name)
    plain = written(PROMPT, family.name)
    for token in (*family.spellings, *CONTROLS.get(family.name, ()), *OTHERS):
        assert whole.count(token.lstrip("▁")) == plain.count(token.lstrip("▁"))


@pytest.mark.parametrize(
    ("table", "file"),
    [(TEMPLATES, "templates.py"), (CONTROLS, "controls.py"), (NAMES.values(), "test_text.py")],
    ids=["templates", "controls", "names"],
)
def test_each_family_has_a_row(table: Collection[str | None], file: str) -> None:
    """Also one that has no control tokens besides its own; by no name a family is found that `models` leaves out."""
    wanted = [family.name for family in FAMILIES if family.models or file != "test_text.py"]
    missing = [name for name in wanted if name not in table]
    assert not missing, f"tests/server_bridge/fim/{file} has no row of {missing}"


def test_each_control_token_is_broken_wherever_it_stands() -> None:
    """In the repository's name, in names and texts of files, and in what is typed."""
    for name, token in [(name, token) for name, row in CONTROLS.items() for token in row]:
        evil = Prompt(token, (Chunk(token, token),) * 2, token, token, token, token)
        n_ours = written(PROMPT, name).count(token)
        assert written(evil, name).count(token) == n_ours, (name, token)


@example(FAMILIES[0], "<[/INST]>")
@given(st.sampled_from(FAMILIES), TEXTS)
def test_text_is_changed_by_spaces_only(family, text) -> None:
    """A neutral text is the text with some spaces more, and stays as it is the second time."""
    once = neutral(text, family)
    assert once.replace(" ", "") == text.replace(" ", "")
    assert neutral(once, family) == once


def test_ordinary_code_is_left_alone() -> None:
    """Comparisons, generics, HTML and list indices are no special tokens."""
    code = (
        "if a<b and c>d: x[PREFIX_LEN]; List<String> <s>old</s> a || b <| f |> g #include <file.h>"
    )
    for name in ("qwen", "starcoder2", "deepseek"):
        assert neutral(code, find_by_name(name)) == code


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_is_rendered_is_read_back(family: Family) -> None:
    """For every family of the table: the same text on both sides of the cursor, and the files where they are marked."""
    found = read(written(PROMPT, family.name))
    assert found.prefix + found.middle == PROMPT.prefix + PROMPT.middle
    assert found.suffix == PROMPT.suffix
    if family.file and family.head != PLAIN_HEAD and family.head[:1] not in ("#", "+"):
        assert found.path == PROMPT.path
        assert [each.name for each in found.chunks] == [each.name for each in PROMPT.chunks]


@pytest.mark.parametrize(
    ("text", "prefix", "suffix"),
    [
        ("<|fim_prefix|>a = <|fim_suffix|>\nb<|fim_middle|>", "a = ", "\nb"),
        ("<PRE> a = <SUF>\nb <MID>", "a =", "\nb"),
        ("<PRE> a = <SUF>\nb<MID>", "a =", "\nb"),
        ("[SUFFIX]\nb[PREFIX]a = ", "a = ", "\nb"),
        ("<｜fim▁begin｜>a = <｜fim▁hole｜>\nb<｜fim▁end｜>", "a = ", "\nb"),
    ],
)
def test_templates_of_editors(text: str, prefix: str, suffix: str) -> None:
    """As minuet's recipes and Zed write them."""
    found = read(text)
    assert (found.prefix, found.suffix) == (prefix, suffix)


@pytest.mark.parametrize("text", ["", "def add(", "<|fim_prefix|> alone", "a <MID> b"])
def test_other_text_is_none(text: str) -> None:
    """A prompt without all three tokens is some other request."""
    assert read(text) is None
