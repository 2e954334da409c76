"""Names into those that a text reads and never binds."""

from __future__ import annotations

import time

import pytest

from fim_lsp.context.free_names import NAMES, FreeName, free_names

# By language: texts in which the names `Aa`, `Bb`, … are asked for, and those that are free.
CASES = [
    ("python", "print(Aa, bb=Cc)\nDd.Ee\nFf: Gg = Hh\n", "Aa Cc Dd Gg Hh"),
    ("python", "import Aa\nfrom m import Bb\nfrom m import Cc as Dd\nAa, Bb, Cc, Dd, Ee\n", "Ee"),
    ("python", "Aa = 1\nAa\ndef Bb(Cc, Dd=Ee): Cc; Dd\nclass Ff(Gg): Bb\n", "Ee Gg"),
    ("python", "def f(a: Aa[Bb] | None = Cc) -> Dd: ...\n", "Aa Bb Cc Dd"),
    ("python", "def f[Aa](x: Aa): ...\nclass G[Bb](Cc[Bb]): ...\n", "Cc"),
    ("python", "[Aa for Bb in Cc if Dd(Bb)]\nlambda Ee: Ee + Ff\n", "Aa Cc Dd Ff"),
    ("python", "try: Aa()\nexcept Bb as Cc: pass\nwith Dd() as Ee: pass\n", "Aa Bb Dd"),
    ("python", "def f():\n    global Aa\n    Aa()\nfor Bb, Cc in Dd: Bb(Cc)\n", "Dd"),
    ("python", "'Aa'  # Bb\nf'{Cc}'\n", "Cc"),
    ("python", "@Aa\n@Bb.bb\ndef f(): ...\n", "Aa Bb"),
    ("python", "match x:\n    case Aa(): pass\n    case Bb: Bb\n", ""),
    ("python", "__all__ = ['Aa']\ndel Bb\n(Cc := 1)\nCc\n", ""),
    ("javascript", "const x = new Aa(Bb, {Cc, dd: Dd})\nAa.Ee\n", "Aa Bb Cc Dd"),
    ("javascript", "import {Aa} from 'a'\nconst {Bb, c: Cc} = Dd\nAa, Bb, Cc\n", "Dd"),
    ("javascript", "function Aa(Bb) { Bb(`${Cc}`) }\nAa()\n// Dd 'Ee'\n", "Cc"),
    ("javascriptreact", "const x = <Aa bb={Bb}><Cc/>Dd</Aa>\n", "Aa Bb Cc"),
    ("typescript", "let x: Aa<Bb>[] = y as Cc\nclass Dd extends Ee implements Ff {}\n", "Aa Bb Cc Ee Ff"),
    ("typescript", "type Aa<Bb> = Bb | Cc\ninterface Dd { e: Aa }\nenum Ee {}\n", "Cc"),
    ("typescript", "export { Aa }\nlet y: Bb.Cc\nfunction f(x: typeof Dd) {}\n", "Bb Dd"),
    ("go", "package p\nfunc f(x aa.Tt) { bb.New(); cc.x = 1; var cc int; dd := ee.Ee{} }\n", "aa bb ee"),
    ("go", 'package p\nimport aa "x/y"\nvar _ = aa.New()\nvar _ = bb.New()\n', "bb"),
    ("java", "class Aa<Bb> extends Cc { @Dd Ee<Ff> x = new Gg(); Bb y; }\n", "Cc Dd Ee Ff Gg"),
    ("java", "import a.Aa;\nclass B { void f(Aa x) { Cc.d(); Dd.E.f(); Ff.Gg h; } }\n", "Cc Dd Ff"),
    ("rust", "fn f<Aa: Bb>(x: &Cc) -> Vec<Dd> { Ee::new(); Ff { a: 1 }; Gg(Aa) }\n", "Bb Cc Dd Ee Ff Gg"),
    ("rust", "use a::Aa;\nstruct Bb; fn f(x: Aa) { Bb::Cc; match x { Dd => 1 } }\n", ""),
    ("rust", "mod tests {\n    use super::*;\n    fn f() { Aa::new(); }\n}\n", ""),
    ("text", "Aa Bb", ""),
]  # fmt: skip
ASKED = [f"{chr(upper)}{chr(lower)}" for upper, lower in zip(b"ABCDEFGH", b"abcdefgh", strict=True)]


@pytest.mark.parametrize(("language", "text", "free"), CASES)
def test_free_names(language: str, text: str, free: str) -> None:
    """A name that any place may bind is not free, whatever the scope."""
    names = [name.lower() if language == "go" else name for name in ASKED]
    assert " ".join(each.name for each in free_names(language, text, names)) == free


def test_where_and_how() -> None:
    """The first line that reads a name counts, and whether all places read it as a type."""
    text = "let x: Aa = 1\nlet y: Bb = new Bb()\n"
    assert free_names("ts", text, ["Bb", "Aa"]) == (
        FreeName("Bb", 1, is_type=False),
        FreeName("Aa", 0, is_type=True),
    )


def test_a_word_is_whole() -> None:
    """What stands inside of another word is none."""
    assert free_names("python", "Aaa, éAa, Aaé, _Aa\n", ["Aa"]) == ()


def test_what_is_broken_says_nothing() -> None:
    """It is not known what is meant there."""
    assert free_names("python", "def (((Aa\n", ["Aa"]) == ()


def test_the_names_are_bounded() -> None:
    """Those of one edit are few."""
    names = [f"name_{n}" for n in range(NAMES + 5)]
    assert len(free_names("python", "\n".join(names), names)) == NAMES


@pytest.mark.timed
def test_a_place_in_a_long_list_is_found_in_time() -> None:
    """A node may have very many children; a text that takes two seconds ends the process that parses."""
    text = f"x = [{', '.join(['other'] * 40_000 + ['Aa'] * 150)}]\n"
    start = time.thread_time()
    assert free_names("python", text, ["Aa"]) == (FreeName("Aa", 0, is_type=False),)
    assert time.thread_time() - start < 2
