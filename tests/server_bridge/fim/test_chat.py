"""What a template puts around a question, read off what servers write with it."""

from __future__ import annotations

import pytest

from server_bridge.fim.chat import ANSWER, QUESTION, Turn, dialogues, parse_turn

# Templates of 2025 and 2026, as rendered: (what comes next with thinking off, an answer before another question, turn).
RENDERED = {
    "chatml": (
        f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n",
        (
            f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n"
            f"{ANSWER}<|im_end|>\n<|im_start|>user\n{QUESTION}…"
        ),
        Turn(
            "<|im_start|>user\n",
            "<|im_end|>\n<|im_start|>assistant\n",
            "<|im_end|>\n<|im_start|>user\n",
        ),
    ),
    "gemma": (
        f"<start_of_turn>user\n{QUESTION}<end_of_turn>\n<start_of_turn>model\n",
        (
            f"<start_of_turn>user\n{QUESTION}<end_of_turn>\n<start_of_turn>model\n"
            f"{ANSWER}<end_of_turn>\n…"
        ),
        Turn("<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n"),
    ),
    "qwen3, which can be told not to think": (
        f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n{ANSWER}<|im_end|>\n…",
        Turn("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"),
    ),
    "one that always thinks": (
        f"<｜User｜>{QUESTION}<｜Assistant｜><think>\n",
        f"<｜User｜>{QUESTION}<｜Assistant｜>{ANSWER}<｜end▁of▁sentence｜>…",
        Turn("<｜User｜>", "<｜Assistant｜>"),
    ),
    "gpt-oss, which names a channel": (
        f"<|start|>user<|message|>{QUESTION}<|end|><|start|>assistant",
        (
            f"<|start|>user<|message|>{QUESTION}<|end|><|start|>assistant<|channel|>final<|"
            f"message|>{ANSWER}<|end|>…"
        ),
        Turn("<|start|>user<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
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


def test_a_template_hands_the_sentinels_on_as_they_are() -> None:
    """No template trims, splits or escapes them."""
    assert (QUESTION + ANSWER).isalpha()
    assert [m["content"] for dialogue in dialogues() for m in dialogue] == [
        QUESTION, QUESTION, ANSWER, QUESTION,
    ]  # fmt: skip
