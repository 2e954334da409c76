"""Keys from where people keep them, and certificates of their own."""

from __future__ import annotations

import asyncio
import shlex
import ssl
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.api_key import Key
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import BackendUnusable, Request
from tests.fault_proxy import fault_proxy
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import prompt
from tests.server_bridge.waiting import has_ended, until

pytestmark = [
    pytest.mark.promise("encrypted-or-warned"),
    pytest.mark.promise("readable-by-you-only"),
]

REQUEST = Request(prompt("    def "), n_predict=4)


def printing(code: str) -> str:
    """Return a command that runs *code*."""
    return shlex.join([sys.executable, "-c", code])


async def test_a_key_is_found_where_it_is_kept(tmp_path, monkeypatch) -> None:
    """A variable, a file, a command; none of them is no key."""
    (tmp_path / "key").write_text("from-file\n")
    monkeypatch.setenv("A_KEY", "from-env")

    assert await Key(env="A_KEY")() == "from-env"
    assert await Key(file=str(tmp_path / "key"))() == "from-file"
    assert await Key(command=printing("print('from-command'); print('more')"))() == "from-command"
    assert await Key()() == await Key(env="NO_SUCH_KEY")() == ""


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (Key(file="/no/such/file"), "apiKeyFile cannot be read"),
        (Key(command="no-such-program-anywhere show"), "apiKeyCommand cannot be run"),
        (Key(command=printing("print('s3cret'); exit(3)")), "apiKeyCommand ended with 3"),
        (Key(command=printing("")), "apiKeyCommand ended with 0 and no key"),
        (Key(command="unbalanced 'quote"), "apiKeyCommand cannot be run"),
    ],
)
async def test_a_key_that_cannot_be_had_names_the_setting(key: Key, says: str) -> None:
    """And nothing of the key, nor what else the command printed."""
    with pytest.raises(BackendUnusable, match=says) as caught:
        await key()
    assert "s3cret" not in str(caught.value)


async def test_a_key_that_was_changed_works_without_a_restart(tmp_path: Path) -> None:
    """After a refusal the key is read again."""
    (tmp_path / "key").write_text("wrong")
    with llama_server(BUNDLED, api_keys=["right"]) as url:
        key = Key(file=str(tmp_path / "key"))
        backend = LlamaServer(Http(url, key))
        with pytest.raises(BackendUnusable, match="apiKeyCommand"):
            await backend.connect()
        (tmp_path / "key").write_text("right")
        await backend.connect()
        assert (await backend.complete(REQUEST)).text
        await backend.aclose()


async def test_an_organisations_certificate_is_trusted_when_it_is_named(url, tmp_path) -> None:
    """https with a certificate of an unknown authority is refused with the fix, and works with it."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with fault_proxy(url, context) as proxy:
        settings = BackendSettings("llama-server", proxy.url)
        for ca_file, says in [("", r"fim\.backend\.caFile"), ("/no/such", "caFile cannot be read")]:
            backend = open_backend(replace(settings, ca_file=ca_file))
            with pytest.raises(BackendUnusable, match=says):
                await backend.connect()
            await backend.aclose()
        backend = open_backend(replace(settings, ca_file=str(tmp_path / "ca.pem")))
        assert (await backend.complete(REQUEST)).text
        await backend.aclose()


NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("name", "not_before", "not_after", "says"),
    [
        ("127.0.0.1", NOW - 9 * DAY, NOW - DAY, "has expired: "),
        ("127.0.0.1", NOW + DAY, NOW + 9 * DAY, "not valid yet"),
        ("127.0.0.2", None, None, r"another name: .* fim\.backend\.url"),
        ("llm.example.org", None, None, r"another name: .* fim\.backend\.url"),
    ],
)
async def test_what_is_wrong_with_a_certificate_is_said(
    name: str, not_before: datetime | None, not_after: datetime | None, says: str, url: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    """The authority is known: the file of certificates has nothing to do with it, and is not named."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate = authority.issue_cert(name, not_before=not_before, not_after=not_after)
    certificate.configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    async with fault_proxy(url, context) as proxy:
        settings = BackendSettings("llama-server", proxy.url, ca_file=str(tmp_path / "ca.pem"))
        backend = open_backend(settings)
        with pytest.raises(BackendUnusable, match=says) as refused:
            await backend.connect()
        assert "caFile" not in str(refused.value)
        await backend.aclose()


@pytest.mark.promise("keys-stay")
@pytest.mark.skipif(sys.platform == "win32", reason="groups of processes are Unix's")
async def test_a_command_that_hangs_ends_with_the_connection(tmp_path: Path) -> None:
    """And all that it started, when the backend is closed before it has answered."""
    code = (
        "import os, pathlib, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(tmp_path / 'pids')!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
        "time.sleep(600)"
    )
    backend = LlamaServer(Http("http://127.0.0.1:1", Key(command=printing(code))))
    connecting = asyncio.create_task(backend.connect())
    await until(lambda: (tmp_path / "pids").exists() and " " in (tmp_path / "pids").read_text())
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    await backend.aclose()
    await asyncio.gather(connecting, return_exceptions=True)
    await until(lambda: all(map(has_ended, pids)))
