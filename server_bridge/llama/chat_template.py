"""
Whether a llama.cpp server's model was made for chats, and what its template puts around a question.

A server has a template in any case: for a model without one of its own it takes ChatML. It is the model's if the marks
in it are single tokens there.
"""

from __future__ import annotations

import json

from server_bridge.fim import chat
from server_bridge.http.responses import ServerError
from server_bridge.llama import answers
from server_bridge.llama.link import Link
from server_bridge.llama.slot_client import WITHOUT
from server_bridge.llama.tokenizer import Tokenizer


async def turn(link: Link, tokenizer: Tokenizer) -> chat.Turn | None:
    """Return the turn of the model's template, None where it is not for chats or the server cannot tell."""
    asked, answered = chat.dialogues()
    try:
        found = chat.turn(await _apply_template(link, asked), await _apply_template(link, answered))
    except (*WITHOUT, ServerError):  # an old build, or a template that fails
        return None
    return found if found and await tokenizer.has_marks(found.before + found.between) else None


async def _apply_template(link: Link, messages: list[dict[str, str]]) -> str:
    question = {"messages": messages, "chat_template_kwargs": chat.NO_THINKING}
    return (await link.post(answers.Dialogue, "/apply-template", json.dumps(question))).prompt
