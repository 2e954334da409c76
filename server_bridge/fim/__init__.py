"""
Fill-in-the-middle prompts: special tokens by model family, order, rendering. Pure.

tokens: the special tokens of each model family: a table with sources, `families.toml`
layout: orders a prompt's parts, and makes token ids or text of them
chat: the prompt for a chat model in words, and the turns of its template
thoughts: what a chat model thinks before it answers
reading: reads a prompt that another program wrote as text
"""
