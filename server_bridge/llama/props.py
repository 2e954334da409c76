"""
Who answers at an address: is it llama.cpp, which model does it have, is it still the same one?

A server proves itself by its `/props`. llama.cpp's router, which has several models and hands on to a
server for each, has two of them: its own, and behind `?model=` those of one model, which that loads
(its README, "Using multiple models").
"""

from __future__ import annotations

from server_bridge.answers import Loading, NotJson, Object, Refused
from server_bridge.http import Http, Tags
from server_bridge.protocol import BackendError, BackendRejected, BackendTimeout, BackendUnusable

ROUTER = "router"  # the role of a server that hands on to others
PAGE = "https://page.invalid"  # where a web page might come from


async def properties(http: Http) -> Object:
    """The properties of our model, once its server proves that it is llama.cpp."""
    found = await proof(http)
    if found.get("role") != ROUTER:
        return found
    state_of = await _models(http)
    if http.model not in state_of:
        names = ", ".join(state_of)
        raise BackendUnusable(
            f"{http.url} has several models: set fim.backend.model to one of {names}"
        )
    try:
        return await http.get("/props")  # which loads it, if it must
    except BackendTimeout:
        if (await _models(http)).get(http.model) == "loading":
            raise Loading(f"{http.url} loads {http.model}") from None
        raise


async def proof(http: Http) -> Object:
    """What shows that the connection that is open now leads to llama.cpp: its own properties."""
    try:
        found = await http.get("/props", named=False)
        if found.get("role") != ROUTER:
            identity(found)
    except (BackendRejected, NotJson, LookupError, TypeError, ValueError):
        raise BackendUnusable(
            f"{http.url} is not a llama.cpp server (it has no /props of one): "
            "check fim.backend.url, or set fim.backend.kind to openai"
        ) from None
    return found


async def open_to_pages(url: str) -> bool:
    """
    Whether every page in a browser on this machine may use the server at *url*.

    llama.cpp by default lets all origins in (`--cors-origins`), and so does vLLM (`--allowed-origins`).
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


def identity(props: Object) -> tuple[str, str, int, int]:
    """Build, model, slots, context: tells servers apart. Fails if not llama.cpp's."""
    n_ctx = int(props["default_generation_settings"]["n_ctx"])
    return str(props["build_info"]), str(props["model_path"]), int(props["total_slots"]), n_ctx


async def _models(http: Http) -> dict[str, str]:
    """What a router has, and in which state each is."""
    models = (await http.get("/models", named=False))["data"]
    return {model["id"]: model["status"]["value"] for model in models}
