"""Keys from where people keep them, and certificates of their own."""

from __future__ import annotations

import shlex
import ssl
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http import Http
from server_bridge.keys import Key
from server_bridge.llama import LlamaServer
from server_bridge.protocol import BackendUnusable, Request
from tests.fault_proxy import fault_proxy
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import prompt

REQUEST = Request(prompt("    def "), n_predict=4)


def printing(code: str) -> str:
    """A command that runs *code*."""
    return shlex.join([sys.executable, "-c", code])


def test_a_key_is_found_where_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable, a file, a command; none of them is no key."""
    (tmp_path / "key").write_text("from-file\n")
    monkeypatch.setenv("A_KEY", "from-env")

    assert Key(env="A_KEY")() == "from-env"
    assert Key(file=str(tmp_path / "key"))() == "from-file"
    assert Key(command=printing("print('from-command'); print('more')"))() == "from-command"
    assert Key()() == Key(env="NO_SUCH_KEY")() == ""


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
def test_a_key_that_cannot_be_had_names_the_setting(key: Key, says: str) -> None:
    """And nothing of the key, nor what else the command printed."""
    with pytest.raises(BackendUnusable, match=says) as caught:
        key()
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


async def test_an_organisations_certificate_is_trusted_when_it_is_named(
    url: str, tmp_path: Path
) -> None:
    """https with a certificate nobody knows is refused with the fix, and works with it."""
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
