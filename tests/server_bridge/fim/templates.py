"""
The prompt of each family as its makers publish it, for a repository with two other files; `↵` is a line end.

The source of each stands in the table itself (`server_bridge/fim/families.toml`). What stands before the file at work is
ours where a family was shown one file at a time, or none is named: it must not look like a token.
"""

from __future__ import annotations

from server_bridge.protocol import Chunk, Prompt

PROMPT = Prompt("repo", (Chunk("a.py", "A"), Chunk("b.py", "B")), "c.py", "PRE", "SUF", "MID")
PLAIN = "↵↵--- a.py ---↵A↵↵--- b.py ---↵B↵↵--- c.py ---↵"
NO_ROW = "a row of tests/server_bridge/fim/templates.py: how its makers write a prompt"
TEMPLATES = {
    "fim": "<|repo_name|>repo↵<|file_sep|>a.py↵A<|file_sep|>b.py↵B<|file_sep|>c.py↵"
    "<|fim_prefix|>PRE<|fim_suffix|>SUF<|fim_middle|>MID",
    "qwen": "<|repo_name|>repo↵<|file_sep|>a.py↵A<|file_sep|>b.py↵B<|file_sep|>c.py↵"
    "<|fim_prefix|>PRE<|fim_suffix|>SUF<|fim_middle|>MID",
    "codegemma": "<|file_separator|>a.py↵A<|file_separator|>b.py↵B<|file_separator|>c.py↵"
    "<|fim_prefix|>PRE<|fim_suffix|>SUF<|fim_middle|>MID",
    "granite-4": PLAIN + "<|fim_prefix|>PRE<|fim_suffix|>SUF<|fim_middle|>MID",
    "mellum": "<filename>a.py↵A<filename>b.py↵B<filename>c.py↵"
    "<fim_suffix>SUF<fim_prefix>PRE<fim_middle>MID",
    "codeqwen": "<repo_name>repo↵<file_sep>a.py↵A<file_sep>b.py↵B<file_sep>c.py↵"
    "<fim_prefix>PRE<fim_suffix>SUF<fim_middle>MID",
    "starcoder2": "<repo_name>repo<file_sep>a.py↵A<file_sep>b.py↵B<file_sep>"
    "<fim_prefix>c.py↵PRE<fim_suffix>SUF<fim_middle>MID",
    "starcoder": "<reponame>repo↵<filename>a.py↵A<filename>b.py↵B<filename>c.py↵"
    "<fim_prefix>PRE<fim_suffix>SUF<fim_middle>MID",
    "stablecode": PLAIN + "<fim_prefix>PRE<fim_suffix>SUF<fim_middle>MID",
    "santacoder": PLAIN + "<fim-prefix>PRE<fim-suffix>SUF<fim-middle>MID",
    "deepseek": "#a.py↵A#b.py↵B#c.py↵<｜fim▁begin｜>PRE<｜fim▁hole｜>SUF<｜fim▁end｜>MID",
    "codellama": PLAIN + "▁<PRE> PRE▁<SUF>SUF▁<MID>MID",
    "codegeex": "###PATH:a.py↵A###PATH:b.py↵B###PATH:c.py↵"
    "<|code_suffix|>SUF<|code_prefix|>PRE<|code_middle|>MID",
    "glm-4": PLAIN + "<|code_prefix|>PRE<|code_suffix|>SUF<|code_middle|>MID",
    "seed-coder": PLAIN + "<[fim-suffix]>SUF<[fim-prefix]>PRE<[fim-middle]>MID",
    "falcon-h1": PLAIN + "<|prefix|>PRE<|suffix|>SUF<|middle|>MID",
    "codestral": "+++++ a.py↵A+++++ b.py↵B+++++ c.py↵[SUFFIX]SUF[PREFIX]PREMID",
}
