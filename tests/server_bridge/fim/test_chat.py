"""What a template puts around a question, read off what servers write with it."""

from __future__ import annotations

import pytest

from server_bridge.fim.chat import ANSWER, QUESTION, Turn, parse_turn

# Templates of 2025 and 2026, as rendered: (what comes next with thinking off, an answer before another question, turn).
CHATML = "<|im_start|>user\n"
CHATML_ANSWER = "<|im_end|>\n<|im_start|>assistant\n"
NO_THOUGHT = CHATML_ANSWER + "<think>\n\n</think>\n\n"
GEMMA = "<start_of_turn>user\n"
GEMMA_ANSWER = "<end_of_turn>\n<start_of_turn>model\n"
OSS = "<|start|>user<|message|>"
OSS_ANSWER = "<|end|><|start|>assistant"
OSS_FINAL = OSS_ANSWER + "<|channel|>final<|message|>"
RENDERED = {
    "chatml": (
        CHATML + QUESTION + CHATML_ANSWER,
        f"{CHATML}{QUESTION}{CHATML_ANSWER}{ANSWER}<|im_end|>\n{CHATML}{QUESTION}…",
        Turn(CHATML, CHATML_ANSWER, "<|im_end|>\n" + CHATML),
    ),
    "gemma": (
        GEMMA + QUESTION + GEMMA_ANSWER,
        f"{GEMMA}{QUESTION}{GEMMA_ANSWER}{ANSWER}<end_of_turn>\n…",
        Turn(GEMMA, GEMMA_ANSWER),
    ),
    "qwen3, which can be told not to think": (
        CHATML + QUESTION + NO_THOUGHT,
        f"{CHATML}{QUESTION}{CHATML_ANSWER}{ANSWER}<|im_end|>\n…",
        Turn(CHATML, NO_THOUGHT),
    ),
    "one that always thinks": (
        f"<｜User｜>{QUESTION}<｜Assistant｜><think>\n",
        f"<｜User｜>{QUESTION}<｜Assistant｜>{ANSWER}<｜end▁of▁sentence｜>…",
        Turn("<｜User｜>", "<｜Assistant｜>"),
    ),
    "gpt-oss, which names a channel": (
        OSS + QUESTION + OSS_ANSWER,
        f"{OSS}{QUESTION}{OSS_FINAL}{ANSWER}<|end|>…",
        Turn(OSS, OSS_FINAL),
    ),
    "one that takes no second question": (
        f"[INST] {QUESTION} [/INST]",
        "",
        Turn("[INST] ", " [/INST]"),
    ),
    "one that drops the question": ("nothing", "nothing", None),
}


@pytest.mark.parametrize("name", RENDERED)
def test_a_turn_is_read_off_what_the_server_writes(name: str) -> None:
    """The answer begins where the model would say what counts, and not in a thought."""
    asked, answered, expected = RENDERED[name]
    assert parse_turn(asked, answered) == expected
