"""
The prompt for a chat model in words, and the turns of its template. Pure.

A chat model that has no tokens for a gap is asked in words. All that is frozen is the question. The
answer is begun for the model, with the code from the anchor to the cursor in an open block, and it
goes on from there: so nothing has to be parsed out of what it says, what is typed comes at the end,
as for other families, and an answer ends where the block does. The text between a question and
an answer is that of the model's template. It is read off a dialogue that the server writes with it,
twice: as what comes next, thinking switched off, and as what came before a later question.
"""

from __future__ import annotations

from typing import NamedTuple

from server_bridge.fim.tokens import PLAIN_HEAD, Family

GAP = "<GAP/>"
OPEN = "```\n"
CLOSE = "```"
TASK = f"In the last one of these files the code is missing that belongs where {GAP} stands."
ASK = (
    f"\n\nWrite the code that belongs where {GAP} stands, in one block, and nothing else. "
    "Begin and end it exactly where it is missing: repeat nothing of what stands before it or after it."
)
CHAT = Family("chat", "", GAP, ASK, head=PLAIN_HEAD, stop=CLOSE)

# Templates of models that may think ask for one of these, and ignore the others.
NO_THINKING = {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}
# Words that a template hands on as they are
QUESTION = "qqQuestionqq"
ANSWER = "qqAnswerqq"


class Turn(NamedTuple):
    """
    The text that a model's template puts before a question, between it and the answer, and before a
    further one ("" where it takes none).
    """

    before: str
    between: str
    again: str = ""


def dialogues() -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """
    Return the two dialogues to have written: a question, and one that was answered before another.
    """
    question = {"role": "user", "content": QUESTION}
    answer = {"role": "assistant", "content": ANSWER}
    return [question], [question, answer, question]


def parse_turn(question: str, answered: str) -> Turn | None:
    """
    Return the turn in what the server made of the `dialogues`; None where the question is not in
    it.

    The text before an answer of long ago (`answered`) counts where it says more, as the channel
    of gpt-oss, or where the model would think first.
    """
    before, is_there, between = question.partition(QUESTION)
    if not is_there:
        return None
    then, is_there, rest = answered.partition(QUESTION)[2].partition(ANSWER)
    # Or it ends inside a thought.
    thinks = between.rfind("<think>") > between.rfind("</think>")
    if is_there and (then.startswith(between) or thinks):
        between = then
    again, is_known, _ = rest.partition(QUESTION)
    return Turn(before, between, again if is_known else "")
