"""
A prompt that another program wrote as text, into a `Prompt`: the way back of `text`. Pure.

Editors' plugins send fill-in-the-middle prompts with the special tokens spelled out. Read is what
stands between them, in either order (prefix or suffix first), and the files before them where the
family marks those.
"""

from __future__ import annotations

from server_bridge.fim.tokens import FAMILIES, PLAIN_HEAD, Family
from server_bridge.protocol import Chunk, Prompt


def read(text: str) -> Prompt | None:
    """
    Return *text* as a prompt with an empty tape; None where it is not a fill-in-the-middle prompt.
    """
    families = [family for family in FAMILIES if _is_in(text, family)]
    marked = (family for family in families if family.file and family.file in text)
    family = next(marked, families[0] if families else None)
    return _parts(text, family) if family else None


def _is_in(text: str, family: Family) -> bool:
    return all(token.lstrip("▁") in text for token in (family.prefix, family.suffix, family.middle))


def _parts(text: str, family: Family) -> Prompt:
    at_prefix, prefix_ends = _find_last(text, family.prefix)
    at_suffix, suffix_ends = _find_last(text, family.suffix)
    at_middle, middle_ends = _find_last(text, family.middle) if family.middle else (len(text),) * 2
    if at_prefix < at_suffix:
        prefix = text[prefix_ends:at_suffix]
        suffix = text[suffix_ends:at_middle]
    else:
        suffix = text[suffix_ends:at_prefix]
        prefix = text[prefix_ends:at_middle]
    if family.prefix.startswith("▁"):
        prefix = prefix.removeprefix(" ")  # programs write one behind CodeLlama's token
    head = text[: min(at_prefix, at_suffix)]
    repo, chunks, path = _files(head, family)
    # StarCoder2 has the path behind the prefix token.
    if family.file and head.endswith(family.file):
        path, _, prefix = prefix.partition("\n")
    return Prompt(repo, chunks, path, prefix, suffix, text[middle_ends:])


def _find_last(text: str, token: str) -> tuple[int, int]:
    """
    Return the place of the last *token*; a token that begins with U+2581 takes the space before it
    along.
    """
    bare = token.lstrip("▁")
    at = text.rfind(bare)
    return at - (bare != token and text[:at].endswith(" ")), at + len(bare)


def _files(head: str, family: Family) -> tuple[str, tuple[Chunk, ...], str]:
    """
    Return the repository, the other files and the path of this one, as far as *head* has them.
    """
    if not family.file or family.head == PLAIN_HEAD:
        return "", (), ""
    first, *named = head.split(family.file)
    repo = first.rpartition(family.repo)[2].strip() if family.repo and family.repo in first else ""
    files = [
        Chunk(name.strip(), text) for name, _, text in (file.partition("\n") for file in named)
    ]
    *others, last = files or [Chunk("", "")]
    if last.text.strip():  # the file at work is not named
        return repo, tuple(files), ""
    return repo, tuple(others), last.name
