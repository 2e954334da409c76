"""The servers that we start, as a page in a browser and another user of the machine meet them."""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import NamedTuple

import psutil
import pytest
import pytest_asyncio

from server_bridge.machine.addresses import port_of
from server_bridge.process import programs
from server_bridge.process.command_line import Plan
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import Request
from tests.llama_server import PROGRAM, free_port
from tests.server_bridge.prompts import short
from tests.server_bridge.serving import running

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.promise("no-web-page"),
    pytest.mark.promise("your-programs-only"),
]

SECRET = "open_sesame"
EVIL = "https://evil.example"
OUTSIDE = pytest.param("llama-server", marks=pytest.mark.server)
KINDS = ["embedded", *([OUTSIDE] if PROGRAM else [])]
# A page as it comes, a page whose name was made to lead here (DNS rebinding), a frame in a sandbox, a
# page from this machine, a program of another user.
ATTACKERS = {
    "page": {"Origin": EVIL},
    "rebound": {"Host": "evil.example", "Origin": "http://evil.example"},
    "sandbox": {"Origin": "null"},
    "local page": {"Origin": "http://localhost:3000"},
    "program": {},
    "guess": {"Authorization": "Bearer ", "X-Api-Key": "", "Cookie": "key=x"},
    "question": {"Authorization": "Bearer s3cret", "X-Api-Key": "s3cret"},
}
OPEN = ("/health", "/v1/health")
TELLING = [
    ("GET", "/props"), ("GET", "/slots"), ("GET", "/metrics"), ("GET", "/models"),
    ("GET", "/v1/models"), ("GET", "/lora-adapters"), ("POST", "/tokenize"),
    ("POST", "/detokenize"),
    ("POST", "/completion"), ("POST", "/completions"), ("POST", "/v1/completions"),
    ("POST", "/v1/chat/completions"), ("POST", "/infill"), ("POST", "/apply-template"),
    ("POST", "/embedding"), ("POST", "/props"), ("POST", "/slots/0?action=save"),
    ("POST", "/slots/0?action=restore"), ("POST", "/slots/0?action=erase"), ("GET", "//props"),
    ("GET", "/props?api_key=x"), ("GET", "/health/../props"), ("GET", "/PROPS"), ("PUT", "/props"),
    ("DELETE", "/slots"),
]  # fmt: skip


class Attacked(NamedTuple):
    """A server that holds a prompt with SECRET in it: its port, its key and its process."""

    port: int
    key: str
    process: psutil.Process


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def attacked(request, tmp_path_factory) -> AsyncIterator[Attacked]:
    """One server of each kind."""
    folder = tmp_path_factory.mktemp("cache")
    if request.param == "embedded":
        async with aclosing(Embedded(EmbeddedSettings(slots_dir=str(folder)))) as backend:
            await (await backend.connect()).complete(Request(short(SECRET), 2))
            key = str(backend._server._link._http._key)
            yield Attacked(port_of(backend.state.url), key, psutil.Process(backend.pid))
        return
    machine = (await asyncio.to_thread(programs.machine, None))._replace(cores=1)
    plan = Plan(port=free_port(), slots_dir=str(folder / "slots"))
    build = await asyncio.to_thread(programs.build, PROGRAM)
    program = programs.outside(PROGRAM, machine, build, plan, folder)
    async with running(program) as (server, pid):
        await server.complete(Request(short(SECRET), 2))
        yield Attacked(program.port, program.key, psutil.Process(pid))


def ask(
    at: Attacked, method: str, path: str, headers: Mapping[str, str], body: object = None
) -> tuple[int, Mapping[str, str], str]:
    """One request as written, down to its Host header; status, headers and body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", at.port, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    content = json.dumps(body or {}).encode()
    fields = {"Host": f"127.0.0.1:{at.port}", "Content-Length": str(len(content)), **headers}
    for name, value in fields.items():
        connection.putheader(name, value)
    connection.endheaders(content)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, text


@pytest.mark.parametrize("attacker", ATTACKERS)
async def test_without_the_key_nothing_is_told(attacked: Attacked, attacker: str) -> None:
    """No path answers with 200 but those that say only that the server is up."""
    for method, path in TELLING:
        body = {"prompt": "def ", "content": "a", "tokens": [1], "n_predict": 1, "filename": "x"}
        status, _, text = ask(attacked, method, path, ATTACKERS[attacker], body)
        assert status in {401, 404, 405, 415}, (method, path, status)
        assert SECRET not in text
        assert "fim-tiny" not in text
    for path in OPEN:
        status, _, text = ask(attacked, "GET", path, ATTACKERS[attacker])
        assert (status, json.loads(text)) == (200, {"status": "ok"})


@pytest.mark.parametrize("attacker", ["page", "rebound", "sandbox"])
@pytest.mark.parametrize("keyed", [False, True])
async def test_no_page_from_elsewhere_may_read(attacked, attacker: str, *, keyed: bool) -> None:
    """The browser is told so for every answer and before every question, even where there is a key."""
    headers = {
        **ATTACKERS[attacker],
        **({"Authorization": f"Bearer {attacked.key}"} if keyed else {}),
    }
    questions = [("GET", "/health"), ("GET", "/props"), ("POST", "/completion")]
    for method, path in [*questions, *(("OPTIONS", path) for _, path in questions)]:
        asked = {"Access-Control-Request-Method": "POST"} if method == "OPTIONS" else {}
        _, told, _ = ask(attacked, method, path, {**headers, **asked}, {"n_predict": 1})
        assert "access-control-allow-origin" not in told, (method, path)


async def test_it_listens_on_this_machine_only(attacked: Attacked) -> None:
    """All of its sockets."""
    at = [
        each.laddr for each in attacked.process.net_connections("inet") if each.status == "LISTEN"
    ]
    assert at == [("127.0.0.1", attacked.port)]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
async def test_the_key_is_nowhere_that_others_can_read(attacked: Attacked) -> None:
    """Arguments are for everybody; the environment is for the same user, who may have the key."""
    seen = repr(attacked.process.cmdline()) + repr(attacked.process.environ())
    assert attacked.key not in seen
    assert len(attacked.key) >= 32
