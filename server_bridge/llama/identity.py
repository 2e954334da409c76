"""
The identity of a llama.cpp server, as it says it: asked over a connection that is open now.

llama.cpp's router, which has several models and hands on to a server for each, has two `/props`:
its own, and behind `?model=` those of one model, which that loads (its README, "Using multiple
models").
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from server_bridge.http.client import Http, Tags
from server_bridge.http.key_refusals import Refused
from server_bridge.http.responses import Loading, Object, UnexpectedAnswer, label, read
from server_bridge.llama.answers import Props, RouterModels
from server_bridge.protocol import BackendError, BackendRejected, BackendTimeout, BackendUnusable

ROUTER = "router"  # the role of a server that hands on to others
PAGE = "https://page.invalid"  # where a web page might come from
N_NAMES = 8  # models that a message lists


class Identity(NamedTuple):
    """The identity of a server. *n_ctx* are the tokens of one slot."""

    build: str
    model_path: str
    n_slots: int
    n_ctx: int

    @property
    def model(self) -> str:
        """The name of the model's file."""
        return label(re.split(r"[/\\]", self.model_path)[-1])


async def properties(http: Http, on_sleep: Callable[[], None] = lambda: None) -> Identity:
    """Return the server of our model, once it proves that it is llama.cpp; see `proof`."""
    proved = await proof(http, on_sleep)
    if isinstance(proved, Identity):
        return proved
    state_of = await _models(http)
    if http.model not in state_of:
        names = ", ".join(label(name) for name in [*state_of][:N_NAMES])
        raise BackendUnusable(
            f"{http.url} has several models: set fim.backend.model to one of {names}"
        )
    try:
        return identity(await http.get("/props"), http.url)  # which loads it, if it must
    except BackendTimeout:
        if (await _models(http)).get(http.model) == "loading":
            raise Loading(f"{http.url} loads {http.model}") from None
        raise


async def proof(http: Http, on_sleep: Callable[[], None] = lambda: None) -> Identity | None:
    """
    Return the server at the other end of the connection that is open now; None for llama.cpp's
    router.

    Calls *on_sleep* where it has put its model out of memory (`--sleep-idle-seconds`), which this
    does not change. Raises BackendUnusable where it is not llama.cpp.
    """
    try:
        props = await http.get("/props", named=False)
        if props.get("is_sleeping") is True:
            on_sleep()
        return None if props.get("role") == ROUTER else identity(props, http.url)
    except (BackendRejected, UnexpectedAnswer):
        raise BackendUnusable(
            f"{http.url} is not a llama.cpp server (it has no /props of one): "
            "check fim.backend.url, or set fim.backend.kind to openai"
        ) from None


async def open_to_pages(url: str) -> bool:
    """
    Return whether every page in a browser on this machine may read what the server at *url*
    answers.

    It cannot where the server asks for a key. llama.cpp by default lets all origins in
    (`--cors-origins`), and so does vLLM (`--allowed-origins`).
    """
    http = Http(url, tags=Tags({"Origin": PAGE}))
    try:
        await http.get("/props", named=False)  # llama.cpp answers /health without the key
    except Refused:
        return False
    except BackendError:
        pass
    finally:
        await http.aclose()
    return http.readers in {"*", PAGE}


def identity(props: Object, url: str) -> Identity:
    """
    Return the server that has these properties. Raises UnexpectedAnswer if they are not
    llama.cpp's.
    """
    facts = read(Props, props, f"{url}/props")
    n_ctx = facts.default_generation_settings.n_ctx
    return Identity(facts.build_info, facts.model_path, facts.total_slots, n_ctx)


async def _models(http: Http) -> dict[str, str]:
    """Return the models of a router, and the state of each."""
    listed = read(RouterModels, await http.get("/models", named=False), f"{http.url}/models")
    return {model.id: model.status.value for model in listed.data}
