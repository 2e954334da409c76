"""The marks at which a text ends, of every family: cut, and kept where they are text."""

from __future__ import annotations

from itertools import product

import pytest

from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish
from server_bridge.fim.tokens import FAMILIES
from tests.suggest.golden_cases import parsed

ENDS = [
    "</s>", "<unk>", "<pad>", "<eos>", "<bos>", "<end_of_turn>", "<start_of_turn>",
    "<|eot_id|>", "<|EOT|>", "<|endoftext|>", "<|im_end|>", "<|end_of_text|>", "<|end|>",
    "<|user|>", "<|assistant|>", "<|start_header_id|>", "<|fim_pad|>", "<|file_separator|>",
    "<｜end▁of▁sentence｜>", "<｜User｜>", "<[end▁of▁sentence]>", "[INST]", "[/INST]",
    "[TOOL_CALLS]", "[gMASK]", "<sop>", "<eop>", "</think>", " <EOT>", "<END>", "<PRE>",
    "<tool_call>", "</tool_call>", "<tool_response>", "<function_call>", "<function_calls>",
    "<function=get_weather>", "<start_function_call>", "<minimax:tool_call>", "[TOOL_CALL]",
    "[TOOL_REQUEST]", "[END_TOOL_REQUEST]", "<thinking>", "<|tool_call|>", "<｜tool▁calls▁begin｜>",
    "<｜end of sentence｜>", "<start_of_image>", "<unused0>", "<extra_id_0>", "<gh_stars>", "[THINK]",
    "<empty_output>", "<jupyter_code>", "<issue_start>", "[MIDDLE]", "[/THINK]", "<seed:think>",
    "◁/think▷", "</arg_key>",
]  # fmt: skip
SPELLINGS = sorted({s.strip("▁") for family in FAMILIES for s in family.spellings})


@pytest.mark.parametrize("language", ["python", "yaml", "sql", "plaintext", "html"])
def test_a_mark_ends_the_text(language: str) -> None:
    """With all that is written behind it; the reason says which it was."""
    cursor, _ = parsed("first = 1\nkey = ▮\n", language)
    for mark, behind in product((*ENDS, *SPELLINGS), ("", "{}", "\nand more")):
        polished = polish(Candidate(f"value_three{mark}{behind.format(mark)}"), cursor)
        assert polished.text == "value_three", (mark, behind)
        assert polished.cuts[0].filter == "special_tokens", mark
        assert mark.strip() in polished.cuts[0].why


KEPT = [
    ("html", "▮\n", "<s>old</s> new"),
    ("html", "<p><s>▮\n", "old</s></p>"),
    ("html", "<s>a</s>\n▮\n", "<s>b</s>"),
    ("rust", "fn f() {\n    let x: ▮\n}\n", "Vec<s> = y;"),
    ("python", "▮\n", 'TOKENS = ["<pad>", "<unk>", "</s>", "<|endoftext|>"]'),
    ("python", "▮\n", "usage = 'tool [ARGS] [OPTIONS] <NAME> <KEY> <commit_hash> [MASK]'"),
    ("python", "PAD = '<pad>'\n▮\n", "text = text + '<pad>' * 2 + x.replace('a<pad>', '')"),
    ("xml", "▮\n", "<mask>1</mask>"),
    ("xml", "▮\n", "<answer>1</answer>"),
    ("python", "▮\n", "usage = 'tool <commit_msg> <issue_comment>'"),
    ("cpp", "▮\n", "std::vector<pr> x;"),
]


@pytest.mark.parametrize(("language", "file", "said"), KEPT)
def test_what_is_text_stays(language: str, file: str, said: str) -> None:
    """Struck text in HTML, whole strings, what the file has already, the user's own words."""
    cursor, _ = parsed(file, language)
    assert polish(Candidate(said), cursor).text == said
