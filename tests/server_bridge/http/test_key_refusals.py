"""Each way in which a server, a gateway or a login in front of it refuses a key; and what is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Literal

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.client import Http
from server_bridge.http.key_refusals import Refused, refusal
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import BackendError, Request
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import Heard, events, recorder

REQUEST = Request(prompt("    x = "), n_predict=4)
QWEN = {"data": [{"id": "qwen2.5-coder-7b", "owned_by": "x"}]}


def says(message: str, kind: Any = None, **more: Any) -> dict[str, Any]:
    """Return an error as OpenAI has it."""
    return {"error": {"message": message, "type": kind, **more}}


GOOGLE = says(
    "API key not valid. Please pass a valid API key.", code=400, status="INVALID_ARGUMENT"
)
REASON = {"@type": "type.example/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
HEADER = {"type": "missing", "loc": ["header", "x-api-key"], "msg": "Field required"}
REFUSED: dict[str, tuple[int, Any]] = {
    "llama.cpp": (401, says("Invalid API Key", "authentication_error", code=401)),
    "vLLM": (401, {"error": "Unauthorized"}),
    "a page": (403, "<html>"),
    "nothing": (401, ""),
    "a proxy on the way": (407, "<html>"),
    "LiteLLM without a database": (400, says("No connected db.", "no_db_connection", code="400")),
    "LiteLLM with one": (400, says("not in the table", "token_not_found_in_db", code="400")),
    "LiteLLM, a key of the wrong form": (500, says("Authentication Error, LiteLLM", "auth_error")),
    "LiteLLM, an old key": (400, says("the key is too old", "expired_key")),
    "by its code": (400, says("no", "invalid_request_error", code="invalid_api_key")),
    "by its number": (400, says("no", code=401)),
    "DeepSeek": (400, says("Authentication Fails (no such user)", "invalid_request_error")),
    "Google": (400, GOOGLE),
    "Google in a list": (400, [GOOGLE]),
    "Google in other words": (400, says("no", status="INVALID_ARGUMENT", details=[REASON])),
    "RPC": (400, {"code": 16, "status": "UNAUTHENTICATED"}),
    "FastAPI, no header": (422, {"detail": [HEADER]}),
    "FastAPI, not logged in": (400, {"detail": "Not authenticated"}),
    "TabbyAPI": (400, {"detail": "Please provide an API key"}),
    "a gateway": (400, {"message": "No API key found in request"}),
    "another": (404, {"message": "Missing access token"}),
    "OAuth": (400, {"error": "invalid_token", "error_description": "expired"}),
    "credentials": (400, says("Incorrect credentials")),
    "with status 200": (200, says("Invalid API key provided")),
    "with status 200, a number": (200, says("no", code="403")),
}
CODE = "    api_key = load('missing api key')  # invalid_token, authentication error"
OTHER: dict[str, tuple[int, Any]] = {
    "a prompt that is repeated": (400, says(f"This server cannot parse the following prompt, which it was sent: {CODE}")),
    "a prompt as a whole": (422, {"detail": [{"loc": ["body", "prompt"], "input": CODE, "msg": "no"}]}),
    "a field": (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"]}]}),
    "a token of a model": (400, says("Invalid token at position 7", "invalid_request_error")),
    "a context": (400, says("too many tokens", "exceed_context_size_error", code=400)),
    "a budget": (422, says("Budget has been exceeded!", "budget_exceeded")),
    "too many at once": (429, says("Authentication Error, too many requests", "auth_error")),
    "a model": (404, says("the model x does not exist", "NotFoundError", code=404)),
    "a server that died": (500, says("no permission to read the file", "server_error")),
    "no fault": (400, None),
    "deep": (400, [[[[[[{"code": 401}]]]]]]),
}  # fmt: skip


def body(said: Any) -> bytes:
    return said.encode() if isinstance(said, str) else json.dumps(said).encode()


@pytest.mark.parametrize("row", REFUSED)
@pytest.mark.parametrize("kind", ["openai", "llama-server"])
async def test_a_key_that_is_refused_is_named(
    row: str, kind: Literal["openai", "llama-server"]
) -> None:
    """The message says where the key is set, whatever the server says, and at its list, too."""
    status, said = REFUSED[row]
    with recorder(status, body(said)) as server:
        async with aclosing(open_backend(BackendSettings(kind, server.url))) as backend:
            with pytest.raises(BackendError, match=r"refused the API key.*apiKeyEnv"):
                await backend.complete(REQUEST)


@pytest.mark.parametrize("row", REFUSED)
@pytest.mark.parametrize("streams", [False, True])
async def test_it_is_named_where_only_completions_need_it(row: str, streams: bool) -> None:
    """llama.cpp lists its models without a key."""
    status, said = REFUSED[row]

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, json.dumps(QWEN).encode()
        return status, events(said) if streams and status == 200 else body(said)

    with recorder(answer=answer) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            with pytest.raises(Refused, match=r"refused the API key.*apiKeyEnv"):
                await backend.complete(REQUEST)


@pytest.mark.parametrize("row", OTHER)
def test_other_refusals_are_not_about_the_key(row: str) -> None:
    """What a server repeats of the prompt may look like it."""
    status, said = OTHER[row]
    assert refusal("it", status, said, {}) is None


async def test_an_answer_may_have_a_fault_that_is_none() -> None:
    """Servers write all fields of their classes."""
    said = {"error": None, "type": "unauthorized", **QWEN}
    with recorder(200, body(said)) as server:
        async with aclosing(Http(server.url)) as http:
            assert await http.get("/v1/models") == said


WAYS: list[tuple[int, Mapping[str, str], bool]] = [
    (302, {"location": "https://sso.example/oauth2/start?rd=%2Fv1%2Fmodels"}, True),
    (303, {"location": "/login?next=/v1/models"}, True),
    (302, {"location": "https://x.example/cdn-cgi/access/login/llm.example"}, True),
    (307, {"location": "/users/sign_in"}, True),
    (301, {"location": "https://llm.example/v1/models"}, False),
    (308, {"location": "/blog/index"}, False),
    (302, {}, False),
    (400, {"www-authenticate": "Bearer"}, True),
    (404, {}, False),
]


@pytest.mark.parametrize(("status", "headers", "is_key"), WAYS)
def test_a_login_in_front_of_the_server_asks_for_a_key(
    status: int, headers: Mapping[str, str], is_key: bool
) -> None:
    """It sends its clients to another page, or says how to come in."""
    assert (refusal("it", status, None, headers) is not None) is is_key
