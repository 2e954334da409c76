"""Which backend the settings get."""

from __future__ import annotations

from pathlib import Path

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.api_key import Key
from server_bridge.protocol import BackendUnavailable, BackendUnusable, Health, Request
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import short
from tests.server_bridge.recorder import recorder

pytestmark = pytest.mark.engine  # it has half a second to tell what it is

NO_SERVER = "http://127.0.0.1:1"
REQUEST = Request(short("    def "), n_predict=4)


def test_settings_that_cannot_work_say_what_to_set() -> None:
    """A kind without its address names the setting to change, also in a list of endpoints."""
    llama = BackendSettings("llama-server")
    openai = BackendSettings("openai")
    for settings in (llama, openai, BackendSettings(endpoints=(openai,))):
        with pytest.raises(BackendUnusable, match=r"fim\.backend"):
            open_backend(settings)


async def test_a_backend_starts_nothing_before_it_is_asked() -> None:
    """Opening is free."""
    for kind in ("auto", "embedded"):
        backend = open_backend(BackendSettings(kind))
        assert backend.state.health is Health.UNKNOWN
        await backend.aclose()


async def test_auto_takes_what_is_there(url: str, no_fim_model: Path) -> None:
    """First the named server, then a usual port with llama.cpp and a fitting model, then our own."""
    with recorder() as other, llama_server(no_fim_model) as chat:
        for settings, expected in [
            (BackendSettings(url=url, usual_urls=(other.url,)), url),
            (BackendSettings(url=NO_SERVER, usual_urls=(NO_SERVER, other.url, chat, url)), url),
            (BackendSettings(usual_urls=(NO_SERVER, other.url, chat)), "embedded"),
        ]:
            backend = open_backend(settings)
            assert (await backend.complete(REQUEST)).text
            assert expected in (backend.state.url, backend.state.kind)
            await backend.aclose()
    assert {(method, path) for method, path, *_ in other.heard} == {("GET", "/props")}


@pytest.mark.parametrize("model", ["", "coder", str(BUNDLED)])
async def test_only_a_chosen_model_stands_in_for_the_named_server(model: str) -> None:
    """Else every member's machine would show the toy's texts while their server is away."""
    backend = open_backend(BackendSettings(url=NO_SERVER, model=model, usual_urls=()))
    if model.endswith(".gguf"):
        assert (await backend.complete(REQUEST)).text
        assert "the embedded engine is used meanwhile" in backend.state.message
    else:
        with pytest.raises(BackendUnavailable, match="cannot connect"):
            await backend.complete(REQUEST)
        assert (backend.state.health, backend.state.url) == (Health.DOWN, NO_SERVER)
    await backend.aclose()


async def test_auto_does_not_hide_that_the_named_server_is_wrong() -> None:
    """A server that the user named and that cannot do the work is a message, not a silent detour."""
    with recorder() as other:
        backend = open_backend(BackendSettings(url=other.url))
        with pytest.raises(BackendUnusable, match=r"not a llama\.cpp server"):
            await backend.connect()
        assert backend.state.health is Health.UNUSABLE
        await backend.aclose()


async def test_a_named_server_is_used_whatever_its_model(no_fim_model: Path) -> None:
    """Without tokens for a gap it is second best, and that is said."""
    with llama_server(no_fim_model) as plain:
        backend = open_backend(BackendSettings(url=plain))
        assert (await backend.complete(REQUEST)).text
        assert (backend.state.url, backend.state.message) == (plain, "")
        assert "not trained to fill in a gap" in backend.state.second_best
        await backend.aclose()


async def test_auto_sends_the_key_to_the_named_server_only(tmp_path: Path) -> None:
    """A key belongs to its url; servers on the usual ports never see it."""
    (tmp_path / "key").write_text("s3cret\n")
    key = Key(file=str(tmp_path / "key"))
    with recorder(503) as named, recorder() as other:
        settings = BackendSettings(
            url=named.url, model=str(BUNDLED), key=key, usual_urls=(other.url,)
        )
        backend = open_backend(settings)
        await backend.connect()
        await backend.aclose()
    assert {key for *_, key in named.heard} == {"Bearer s3cret"}
    assert {key for *_, key in other.heard} == {None}


async def test_auto_waits_for_a_server_that_loads() -> None:
    """A llama.cpp on a usual port that is still loading is waited for: no toy is started meanwhile."""
    loading = b'{"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}'
    with recorder(503, loading) as server:
        backend = open_backend(BackendSettings(usual_urls=(NO_SERVER, server.url)))
        with pytest.raises(BackendUnavailable):
            await backend.connect()
        assert backend.state.health is Health.LOADING
        await backend.aclose()
