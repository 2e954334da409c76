"""Which model a server has, as it lists it or does not, and the family that its name tells."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing

import pytest

from server_bridge.fim.tokens import find_by_model
from server_bridge.http.client import Http
from server_bridge.openai.backend import OpenAiServer
from server_bridge.openai.models import short_name
from server_bridge.protocol import BackendRejected, BackendUnusable, Health, Request
from tests.server_bridge.prompts import prompt
from tests.server_bridge.recorder import Heard, events, recorder

pytestmark = pytest.mark.usefixtures("patient")
REQUEST = Request(prompt("    def "), n_predict=4)
QWEN = "qwen2.5-coder-7b"
ANSWER = events({"choices": [{"text": "x", "finish_reason": "stop"}]})

# Answers to `GET /v1/models`: those that tell enough where the user names no model, and the others.
TELLING = [
    b'{"data": [{"id": "%s", "owned_by": "x"}]}',
    b'[{"id": "%s"}]',
    b'["%s"]',
    b'{"models": [{"name": "%s"}]}',
    b'{"models": [], "data": [{"id": 7}, null, {"id": "%s", "owned_by": "x"}]}',
    b'{"data": [{"id": "%s", "owned_by": 7, "meta": [], "max_model_len": "x"}]}',
    b'{"data": [{"id": "%s", "name": "%s", "context_length": 32768}]}',
]
SILENT = [
    (200, b'{"data": [{"id": "unknown", "owned_by": "local"}]}'),  # a gateway that knows no name
    (200, b'{"data": [{"id": "a/b", "name": "a/b"}, {"id": "c", "name": "c"}]}'),  # OpenRouter
    (200, b'{"object": "list", "data": []}'),
    (200, b'{"data": [{"id": 7}]}'),
    (200, b'{"error": "no"}'),
    (200, b"<html>hello</html>"),
    (404, b"<html>"),
    (403, b'{"error": "forbidden"}'),
    (501, b""),
]
LISTS = [*((200, listed.replace(b"%s", QWEN.encode())) for listed in TELLING), *SILENT]


def answering(status: int, listed: bytes, heard: Heard) -> tuple[int, bytes]:
    """Return the answer of a server that lists its models so, and has no other GET."""
    if heard.method == "POST":
        return 200, ANSWER
    return (status, listed) if heard.path == "/v1/models" else (404, b"no")


@pytest.mark.parametrize(("status", "listed"), LISTS)
async def test_what_is_only_needed_to_choose_is_not_required(status: int, listed: bytes) -> None:
    """With the model named by the user each works; without it what tells its name, or the user has to choose."""
    with recorder(answer=lambda heard: answering(status, listed, heard)) as server:
        for wanted in ("", QWEN):
            async with aclosing(OpenAiServer(Http(server.url), wanted)) as backend:
                if not wanted and (status, listed) in SILENT:
                    with pytest.raises(BackendUnusable, match=r"fim\.backend\."):
                        await backend.complete(REQUEST)
                    assert backend.state.health is Health.UNUSABLE
                    assert {heard.method for heard in server.heard} == {"GET"}
                    continue
                assert (await backend.complete(REQUEST)).text == "x"
                assert (backend.state.model, backend.state.second_best) == (QWEN, "")
                assert server.heard[-1].path == "/v1/completions"
                assert json.loads(server.heard[-1].body)["model"] == QWEN
                is_told = b"32768" in listed
                assert (backend.state.n_ctx > 4096) == is_told


HUB = "models--Qwen--Qwen2.5-Coder-7B/snapshots/0396a76181e127dfc13e5c5ec48a8cee09938b02"
DEEP = "/srv/" + "a-folder-with-a-long-name/" * 8
# A name as a server lists it, and what is shown of it, which tells its family.
NAMES = {
    "Qwen/Qwen2.5-Coder-7B": "Qwen2.5-Coder-7B",
    "/models/Qwen2.5-Coder-7B//": "Qwen2.5-Coder-7B",
    "C:\\models\\Qwen2.5-Coder-7B\\model.gguf": "Qwen2.5-Coder-7B",
    f"/root/.cache/huggingface/hub/{HUB}": "Qwen2.5-Coder-7B",
    "Qwen2.5-Coder-7B/ggml-model-q4_k.gguf": "Qwen2.5-Coder-7B",
    "../Qwen2.5-Coder-7B/.": "Qwen2.5-Coder-7B",
    "/mnt/deepseek-coder-6.7b-base/": "deepseek-coder-6.7b-base",
    "https://hub.example.test/Qwen2.5-Coder-7B/": "Qwen2.5-Coder-7B",
    f"{DEEP}Qwen2.5-Coder-7B/": "Qwen2.5-Coder-7B",
    "hf.co/Qwen/Qwen2.5-Coder-7B-GGUF:Q4_K_M": "Qwen2.5-Coder-7B-GGUF:Q4_K_M",
    "Qwen/Qwen2.5-Coder-7B/resolve/main": "Qwen2.5-Coder-7B",
    "Qwen2.5-Coder-7B@main": "Qwen2.5-Coder-7B@main",
    "/models/starcoder2/3b/weights.safetensors": "starcoder2",
}
NO_FAMILY = {
    "Qwen/QwQ-32B/main": "main",  # a publisher's name tells nothing of its other models
    "/models/chat/model.gguf": "model.gguf",
    "/": "/",
    ".": ".",
}


@pytest.mark.parametrize(("name", "shown"), [*NAMES.items(), *NO_FAMILY.items()])
def test_the_family_is_found_in_any_part_of_a_path(name: str, shown: str) -> None:
    """What tells none is shown by its last part, and never as an empty name."""
    assert short_name(name) == shown
    assert (find_by_model(shown) is None) == (name in NO_FAMILY)


@pytest.mark.parametrize("wanted", ["", HUB])
async def test_a_model_is_asked_for_by_the_name_that_the_server_gave_it(wanted: str) -> None:
    """To fill in by its family's tokens."""
    listed = json.dumps({"data": [{"id": HUB, "owned_by": "vllm"}]}).encode()
    with recorder(answer=lambda heard: answering(200, listed, heard)) as server:
        async with aclosing(OpenAiServer(Http(server.url), wanted)) as backend:
            await backend.complete(REQUEST)
            assert (backend.state.model, backend.state.second_best) == ("Qwen2.5-Coder-7B", "")
    asked = json.loads(server.heard[-1].body)
    assert (server.heard[-1].path, asked["model"]) == ("/v1/completions", HUB)
    assert "<|fim_prefix|>" in asked["prompt"]


def listing(listed: list[bytes]) -> Callable[[Heard], tuple[int, bytes]]:
    """Return the answers of a server that lists its models so, one list after the other."""

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.path == "/v1/models":
            return 200, listed.pop(0)
        return 200, ANSWER if heard.method == "POST" else b'{"status": "ok"}'

    return answer


@pytest.mark.parametrize("empty", [b'{"data": []}', b'{"models": null}', b'{"data": [{}]}'])
async def test_a_list_without_a_model_is_read_again(empty: bytes) -> None:
    """A gateway that has started, and its model not yet: nothing is asked of a nameless one."""
    listed = [empty, json.dumps({"data": [{"id": QWEN, "owned_by": "x"}]}).encode()]
    with recorder(answer=listing(listed)) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            with pytest.raises(BackendUnusable, match="lists no models"):
                await backend.complete(REQUEST)
            assert (await backend.complete(REQUEST)).text == "x"
    assert [heard.path for heard in server.heard if heard.method == "POST"] == ["/v1/completions"]


SWAPPED = [
    (404, "Not Found"), (400, "no such model: old"), (422, "old is not loaded"), (410, "gone"),
    (403, "no access to old"),
]  # fmt: skip


@pytest.mark.parametrize(("status", "words"), SWAPPED)
async def test_a_model_that_was_swapped_is_asked_at_once(status: int, words: str) -> None:
    """The refused request finds the new one, in whatever words it is asked; no other is repeated."""
    there = ["starcoder2-3b"]

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, json.dumps({"data": [{"id": there[0], "owned_by": "x"}]}).encode()
        if json.loads(heard.body)["model"] != there[0]:
            return status, json.dumps({"error": {"message": words}}).encode()
        return 200, ANSWER

    with recorder(answer=answer) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            await backend.complete(REQUEST)
            there[0] = QWEN
            assert (await backend.complete(REQUEST)).text == "x"
            assert backend.state.model == QWEN
            assert "<|fim_prefix|>" in json.loads(server.heard[-1].body)["prompt"]
            there[0] = "starcoder2-3b"
            assert (await backend.warm(REQUEST.prompt, 100)).left == 0
            assert (await backend.complete(REQUEST)).text == "x"
        async with aclosing(OpenAiServer(Http(server.url), "deepseek-coder")) as backend:
            with pytest.raises((BackendRejected, BackendUnusable)):
                await backend.complete(REQUEST)


TOLD = json.dumps({"data": [{"id": QWEN, "owned_by": "vllm", "max_model_len": 32768}]}).encode()
OTHER = b'{"data": [{"id": "other", "owned_by": "vllm"}]}'


@pytest.mark.parametrize(
    "odd", [OTHER, *(TOLD.replace(b"32768", n) for n in (b'"x"', b"7")), b"<html>"]
)
@pytest.mark.parametrize("n_odd", [1, 2, 99])
async def test_a_context_that_was_not_listed_is_asked_for_again(odd: bytes, n_odd: int) -> None:
    """While the user rests, some times; a server that never says it is then left alone."""
    listed = [*[odd] * n_odd, *[TOLD] * 9]
    with recorder(answer=listing(listed)) as server:
        async with aclosing(OpenAiServer(Http(server.url), QWEN)) as backend:
            await backend.connect()
            for _ in range(9):
                await backend.warm(REQUEST.prompt, 4096)
            assert backend.state.n_ctx == (4096 if n_odd == 99 else 32768)
    n_asked = sum(heard.path == "/v1/models" for heard in server.heard)
    assert n_asked == 1 + min(n_odd, 3)


MLX = b'{"data": [{"id": "%s", "object": "model"}]}' % QWEN.encode()


@pytest.mark.parametrize("odd", [b"<html>", b'{"data": []}', OTHER, b'{"models": ["other"]}'])
@pytest.mark.parametrize("told", [MLX, TOLD.replace(b"32768", b"4096")])
async def test_a_list_without_the_named_model_forgets_nothing(told: bytes, odd: bytes) -> None:
    """A router lists nothing just then: what it said of the server holds, and what the server holds is there."""
    listed = [told, *[odd] * 9]
    with recorder(answer=listing(listed)) as server:
        async with aclosing(OpenAiServer(Http(server.url), QWEN)) as backend:
            await backend.complete(REQUEST)
            held = (await backend.measure(REQUEST.prompt)).cached
            await backend.warm(REQUEST.prompt, 100)
            assert (await backend.measure(REQUEST.prompt)).cached > held // 2 > 0
            await backend.complete(REQUEST)
            assert ("seed" in json.loads(server.heard[-1].body)) == (told == MLX)


async def test_a_refusal_forgets_nothing_where_the_model_is_the_same() -> None:
    """What the server holds is still there, and need not be evaluated ahead again."""
    refuses = False

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.method == "GET":
            return 200, TOLD
        return (400, b'{"error": "no"}') if refuses else (200, ANSWER)

    with recorder(answer=answer) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            await backend.complete(REQUEST)
            held = (await backend.measure(REQUEST.prompt)).cached
            refuses = True
            with pytest.raises(BackendRejected):
                await backend.complete(REQUEST)
            assert (await backend.measure(REQUEST.prompt)).cached == held > 0


HEADERS = b"Content-type: application/json\r\nAccess-Control-Allow-Origin: *\r\n\r\n"
# mlx_lm.server 0.32.2, started with a folder on a machine without a Hugging Face cache folder: what it says of its models,
# an older one, and one whose list a proxy made.
NO_LISTS = {
    "nothing": b"HTTP/1.0 200 OK\r\nServer: BaseHTTP/0.6 Python/3.11.7\r\n" + HEADERS,
    "a dropped connection": b"HTTP/",
    "a list of its own": json.dumps({"data": [{"id": QWEN, "owned_by": "proxy"}]}).encode(),
}
OF_MLX = b'{"error": "logprobs must be of type bool"}'


@pytest.mark.parametrize("listed", NO_LISTS)
@pytest.mark.parametrize("wanted", ["", QWEN])
async def test_mlx_is_known_by_what_it_does(wanted: str, listed: str) -> None:
    """By its health where it lists nothing, else by what it refuses; each request has a seed then, and no probabilities."""

    def answer(heard: Heard) -> tuple[int, bytes]:
        if heard.path == "/v1/models":
            return 200, NO_LISTS[listed]
        if heard.method == "POST" and "logprobs" in json.loads(heard.body):
            return 400, OF_MLX
        return 200, ANSWER if heard.method == "POST" else b'{"status": "ok"}'

    with recorder(answer=answer) as server:
        template = "" if wanted else "qwen"
        async with aclosing(OpenAiServer(Http(server.url), wanted, template)) as backend:
            for _ in range(2):
                assert (await backend.complete(REQUEST)).text == "x"
        asked = json.loads(server.heard[-1].body)
        assert (asked["seed"], "logprobs" in asked, "stop" in asked) == (0, False, False)
        assert asked["max_tokens"] == REQUEST.n_predict + 1
        assert asked.get("model", "") == (QWEN if wanted or "list of" in listed else "")


HEALTHS = {
    b"": "lists no models",
    b"{}": "lists no models",
    b'{"status": "ok"}': "set fim.backend.model",
}


@pytest.mark.parametrize("health", HEALTHS)
async def test_an_empty_list_of_another_server_is_no_mlx(health: bytes) -> None:
    """The health tells; and without a name of a model nothing is guessed."""
    there = {"/v1/models": NO_LISTS["nothing"], "/health": health}
    with recorder(answer=lambda heard: (200, there[heard.path])) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            with pytest.raises(BackendUnusable, match=HEALTHS[health]):
                await backend.complete(REQUEST)


async def test_a_server_that_has_to_be_started_again_is_named() -> None:
    """The thread of mlx_lm.server that generates has ended, and all else of it goes on."""
    died = b'{"error": "generation thread died"}'
    listed = {"data": [{"id": QWEN, "object": "model", "created": 1}]}
    answers = {"GET": (200, json.dumps(listed).encode()), "POST": (404, died)}
    with recorder(answer=lambda heard: answers[heard.method]) as server:
        async with aclosing(OpenAiServer(Http(server.url))) as backend:
            with pytest.raises(BackendUnusable, match=r"mlx_lm\.server .* has to be started again"):
                await backend.complete(REQUEST)
