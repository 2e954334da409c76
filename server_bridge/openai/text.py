"""
A text for a model to continue, through `/v1/completions` of any server that has it: models for next edits.

The prompt is sent as it is, with the marks of the model's own format in it.
"""

from __future__ import annotations

import json
from contextlib import aclosing

from server_bridge.http.client import Http
from server_bridge.http.shapes import label
from server_bridge.openai import stream
from server_bridge.openai.completion import MOST_STOPS
from server_bridge.openai.models import listed


class TextServer:
    """One server that the user named, and one of its models."""

    def __init__(self, http: Http, model: str) -> None:
        self._http = http
        self._model = model

    async def continued(self, text: str, n_predict: int, stops: tuple[str, ...]) -> str | None:
        """What follows *text* until one of *stops*; None where it was cut off. Raises BackendError."""
        body = {
            "model": self._model,
            "prompt": text,
            "max_tokens": n_predict,
            "temperature": 0,
            "stop": list(stops[:MOST_STOPS]),
            "stream": True,
        }
        events = self._http.stream("/v1/completions", json.dumps(body).encode())
        growing = stream.growing(events, self._http.url)
        async with aclosing(events), aclosing(growing) as answers:
            answer = [each async for each in answers][-1]
        return answer.text if answer.ended == "stop" else None

    async def models(self) -> list[str]:
        """The names of the models that the server lists. Raises BackendError."""
        return [label(model.id) for model in await listed(self._http)]

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.aclose()
