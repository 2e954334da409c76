"""
The model of an OpenAI-style server, and the fields of every request to it.

Servers of several models name their owner (`owned_by`), and need the name of the model to use.
mlx_lm.server does neither: it has one model, and would load any other it is asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from server_bridge.fim.tokens import FAMILIES, PLAIN, Family, find_by_model, find_by_name
from server_bridge.http.client import Http, Unproven
from server_bridge.http.responses import Object, UnexpectedAnswer, label, optional, read
from server_bridge.openai import completion
from server_bridge.protocol import BackendRejected, BackendUnusable

# tokens, where the server does not say: Ollama's default, and it cuts silently
SMALL_CONTEXT = 4096
UNKNOWN = "unknown"  # what SGLang's gateway calls a model of which it was not told
N_NAMES = 8  # models that a message lists
TEMPLATES = ", ".join(family.name for family in (*FAMILIES, PLAIN, completion.MESSAGE))

Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class ListedModel(Struct):
    """
    One of `GET /v1/models`. All but the name is sent by some servers only, in shapes of their own.
    """

    id: str = ""
    owned_by: object = None
    max_model_len: object = None  # vLLM, SGLang
    meta: object = None  # llama.cpp


class ModelList(Struct):
    """`GET /v1/models`."""

    data: list[ListedModel]


class LlamaMeta(Struct):
    """`meta` of llama.cpp."""

    n_ctx: Positive


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """
    A server's model as it is used: *fields* is what every request says besides the prompt.

    *owner* is the engine's name, of most engines; "" where the server does not say.
    """

    model: str
    family: Family
    n_ctx: int
    fields: Object
    is_mlx: bool
    owner: str

    @property
    def is_chat(self) -> bool:
        """Return whether it is asked in words."""
        return self.family == completion.MESSAGE


async def choose_model(http: Http, wanted: str, template: str) -> ModelInUse:
    """
    Choose the model called *wanted* ("" for the only one) of the server at *http*.

    Raises BackendUnusable where the user has to choose, or where there is no such *template*.
    """
    model = _choose_entry(await list_models(http), wanted, http.url)
    if model.id == UNKNOWN and not template:
        raise BackendUnusable(
            f"{http.url} does not say which model it has (SGLang's gateway does not ask vLLM): set "
            "fim.backend.model to the model's name, and fim.backend.contextTokens to its context"
        )
    name = wanted or re.split(r"[/\\]", model.id)[-1]
    is_mlx = not model.owned_by
    # A seed makes mlx_lm.server take requests one by one, where an error ends one, not all.
    family = _family(label(name), template)
    fields: Object = (
        {"seed": 0} if is_mlx else {} if family == completion.MESSAGE else {"logprobs": 1}
    )
    if wanted or not is_mlx:
        fields["model"] = wanted or model.id
    return ModelInUse(
        model=label(re.split(r"[/\\]", name)[-1]),
        family=family,
        n_ctx=_context(model),
        fields=fields,
        is_mlx=is_mlx,
        owner=label(model.owned_by) if isinstance(model.owned_by, str) else "",
    )


async def list_models(http: Http) -> list[ListedModel]:
    """Return the models that the server has; none where it is healthy but cannot list them."""
    try:
        return read(ModelList, await http.get("/v1/models"), f"{http.url}/v1/models").data
    except (BackendRejected, Unproven, UnexpectedAnswer):
        # mlx_lm.server drops the connection where there is no Hugging Face cache to list.
        try:
            await http.get("/health")
        except BackendRejected:
            raise BackendUnusable(
                f"{http.url} lists no models (/v1/models): check fim.backend.url"
            ) from None
        return []


def _choose_entry(listed: list[ListedModel], wanted: str, url: str) -> ListedModel:
    """Return the entry of the model to ask for."""
    for model in listed:
        if model.id == wanted:
            return model
    if wanted or not listed:
        # A router may not list what its replicas have; it is no mlx_lm.server all the same.
        return ListedModel(owned_by=listed[0].owned_by if listed else None)
    if len(listed) > 1 and listed[0].owned_by:
        names = ", ".join(label(model.id) for model in listed[:N_NAMES])
        raise BackendUnusable(f"{url} has several models: set fim.backend.model to one of {names}")
    return listed[-1]  # mlx_lm.server names the one it runs after those it found on disk


def _context(model: ListedModel) -> int:
    """Return how many tokens fit, as far as the server says."""
    meta = optional(LlamaMeta, model.meta)
    return optional(Positive, model.max_model_len) or (meta.n_ctx if meta else SMALL_CONTEXT)


def _family(model: str, template: str) -> Family:
    """
    Return the family of that name of ours, else that of the model's; else it has to be asked in
    words.
    """
    if template in ("", completion.MESSAGE.name):
        return (find_by_model(model) if not template else None) or completion.MESSAGE
    if family := find_by_name(template):
        return family
    raise BackendUnusable(
        f"there is no template {template}: set fim.backend.template to one of {TEMPLATES}"
    )
