"""
The model of an OpenAI-style server, and the fields of every request to it.

Servers of several models name their owner (`owned_by`), and need the name of the model to use.
mlx_lm.server does neither: it has one model, and would load any other it is asked for. On a machine
without a Hugging Face cache folder it lists nothing, with status 200, or drops the connection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Annotated

from msgspec import Meta, Struct

from server_bridge.fim.tokens import (
    FAMILIES,
    FILLS_ONLY,
    PLAIN,
    Family,
    find_by_model,
    find_by_name,
    is_base_model,
)
from server_bridge.http.client import Http
from server_bridge.http.key_refusals import Refused
from server_bridge.http.responses import (
    Compressed,
    EmptyAnswer,
    Object,
    UnexpectedAnswer,
    Unproven,
    answer_error,
    label,
    optional,
)
from server_bridge.openai import completion
from server_bridge.protocol import BackendRejected, BackendUnusable

# tokens, where the server does not say: Ollama's default, and it cuts silently
SMALL_CONTEXT = 4096
Context = Annotated[int, Meta(ge=64, le=2**31 - 1)]  # tokens; a list that says less is wrong
# Engines that do not say their name.
MLX = "mlx_lm.server"
LLAMA_CPP_PYTHON = "llama-cpp-python"
LISTS = ("data", "models", "list")  # where a list stands; `http.responses` calls a bare one so
MLX_SAYS = {"id", "object", "created"}  # of each model, in mlx_lm.server; others name an owner
MLX_HEALTH = {"status": "ok"}
WEIGHTS = re.compile(r"\.(?:gguf|safetensors|bin|pth?)/?$", re.IGNORECASE)  # the end of a file
MLX_FIELDS: Object = {"seed": 0}  # requests one by one, where an error ends one, not all
LONGEST = 1000  # characters of a path
PUBLISHERS = {"qwen", "deepseek-ai"}  # called like a family; their other models are none of it
COMPLETIONS = "/v1/completions"
CHATS = "/v1/chat/completions"
UNKNOWN = "unknown"  # what SGLang's gateway calls a model of which it was not told
N_NAMES = 8  # models that a message lists
TEMPLATES = ", ".join(family.name for family in (*FAMILIES, PLAIN, completion.MESSAGE))


class ListedModel(Struct):
    """
    One of `GET /v1/models`, by whatever key its name stands under. All else is sent by some servers
    only, in shapes of their own.
    """

    id: object = None
    name: object = None
    owned_by: object = None
    max_model_len: object = None  # vLLM, SGLang
    context_length: object = None  # OpenRouter
    meta: object = None  # llama.cpp
    permissions: object = None  # llama-cpp-python's server, which calls the owner of all `me`
    is_mlx: bool = False  # it says what mlx_lm.server says, and no more

    @property
    def known_as(self) -> str:
        """The name to ask for it by, "" where there is none."""
        return next((name for name in (self.id, self.name) if isinstance(name, str)), "")


@dataclass(frozen=True, slots=True)
class ModelInUse:
    """
    A server's model as it is used: *fields* is what every request says besides the prompt.

    *engine* is its name, of most engines; "" where the server does not say. *says_context*: the
    server or the user does.
    """

    model: str
    family: Family = PLAIN
    n_ctx: int = SMALL_CONTEXT
    fields: Object = field(default_factory=dict)
    is_mlx: bool = False
    engine: str = ""
    says_context: bool = False

    @property
    def is_chat(self) -> bool:
        """Return whether it is asked in words."""
        return self.family == completion.MESSAGE

    def as_mlx(self) -> ModelInUse:
        """Return it as mlx_lm.server has to be asked."""
        fields = {name: value for name, value in self.fields.items() if name != "logprobs"}
        return replace(self, fields=MLX_FIELDS | fields, is_mlx=True, engine=MLX)

    @property
    def second_best(self) -> str:
        """The reason why it is not the right one, as far as its name tells."""
        if self.is_chat:
            return (
                f"{self.model} is asked in words to fill in the gap, because no tokens for that are known by its name "
                "(if it has them, name them by fim.backend.template)"
            )
        return f"{self.model} sees only the text above the cursor" if self.family == PLAIN else ""

    @property
    def fills_only(self) -> str:
        """The reason why it cannot follow an instruction, as far as its name tells."""
        return FILLS_ONLY.format(self.model) if is_base_model(self.model) else ""

    @property
    def shortest(self) -> tuple[str, Object]:
        """The path and the fields of a request for one token, with nothing in it."""
        named = {name: self.fields[name] for name in ("model",) if name in self.fields}
        if self.is_chat:
            return CHATS, {**named, "messages": [{"role": "user", "content": "."}], "max_tokens": 1}
        return COMPLETIONS, {**named, "prompt": " ", "max_tokens": 1}


async def choose_model(
    http: Http, wanted: str, template: str, n_ctx: int, known: ModelInUse | None = None
) -> ModelInUse:
    """
    Choose the model called *wanted* ("" for the only one) of the server at *http*; *n_ctx* as in
    `OpenAiServer`. A model that is *known* stays while the server does not list it.

    Raises BackendUnusable where the user has to choose, or where there is no such *template*.
    """
    try:
        listed = await list_models(http)
    except (BackendRejected, BackendUnusable, UnexpectedAnswer):
        if not wanted:
            raise
        listed = []  # a list that is only needed to choose is not required
    if wanted and known and all(model.known_as != wanted for model in listed):
        return known
    entry = _choose_entry(listed, wanted, http.url)
    if not template:
        _require_name(entry, wanted, http.url)
    return _use(entry, wanted, template, n_ctx)


async def list_models(http: Http) -> list[ListedModel]:
    """
    Return the models that the server has, those that it lists under another name than `data`, too.
    Raises BackendError, BackendUnusable where there is no list.
    """
    try:
        return _read_list(await http.get("/v1/models"), http.url)
    except (Refused, Compressed):
        raise
    except (EmptyAnswer, Unproven):
        if await _health(http) != MLX_HEALTH:
            raise _no_models(http.url) from None
        return [ListedModel(is_mlx=True)]
    except UnexpectedAnswer:
        raise _no_models(http.url) from None
    except (BackendRejected, BackendUnusable):
        if await _health(http) is None:
            raise _no_models(http.url) from None
        return [ListedModel()]


async def _health(http: Http) -> Object | None:
    """Return what the server says of its health, None where it says nothing of it."""
    try:
        return await http.get("/health")
    except (BackendRejected, UnexpectedAnswer):
        return None


def _no_models(url: str) -> BackendUnusable:
    return BackendUnusable(
        f"{url} lists no models (/v1/models): check fim.backend.url, or name the model by "
        "fim.backend.model"
    )


def _read_list(answer: Object, url: str) -> list[ListedModel]:
    """Return the entries that name a model. Raises UnexpectedAnswer where there is no such list."""
    lists = ((name, answer[name]) for name in LISTS if isinstance(answer.get(name), list))
    where, listed = next((each for each in lists if each[1]), ("data", answer.get("data")))
    if not isinstance(listed, list):
        raise answer_error(f"{url}/v1/models", "no list")
    models = [_read_entry(each, is_usual=where == "data") for each in listed]
    if listed and not any(model.known_as for model in models):
        raise answer_error(f"{url}/v1/models", "no names")
    return [model for model in models if model.known_as]


def _read_entry(listed: object, *, is_usual: bool = True) -> ListedModel:
    """Return an entry of a list, without a name where it is none of a model."""
    if isinstance(listed, str):
        return ListedModel(listed)
    entry = optional(ListedModel, listed) or ListedModel()
    entry.is_mlx = is_usual and isinstance(listed, dict) and listed.keys() <= MLX_SAYS
    return entry


def _choose_entry(listed: list[ListedModel], wanted: str, url: str) -> ListedModel:
    """Return the entry of the model to ask for."""
    if wanted and (named := [model for model in listed if model.known_as == wanted]):
        return named[0]
    if not (listed or wanted):
        raise _no_models(url)  # there may be one later
    is_mlx = bool(listed) and all(model.is_mlx for model in listed)
    if wanted:
        # A router may not list what its replicas have; it is no mlx_lm.server all the same.
        return ListedModel(owned_by=listed[0].owned_by if listed else None, is_mlx=is_mlx)
    if len(listed) > 1 and not is_mlx:
        names = ", ".join(label(model.known_as) for model in listed[:N_NAMES])
        raise BackendUnusable(f"{url} has several models: set fim.backend.model to one of {names}")
    return listed[-1]  # mlx_lm.server names the one it runs after those it found on disk


def _require_name(entry: ListedModel, wanted: str, url: str) -> None:
    """Raise BackendUnusable where no name tells the family of a model."""
    if entry.known_as == UNKNOWN:
        raise BackendUnusable(
            f"{url} does not say which model it has (SGLang's gateway does not ask vLLM): set "
            "fim.backend.model to the model's name, and fim.backend.contextTokens to its context"
        )
    if entry.is_mlx and not (entry.known_as or wanted):
        raise BackendUnusable(
            f"{url} (mlx_lm.server) does not say which model it has, because there is no "
            "Hugging Face cache folder: set fim.backend.model to what it was started with"
        )


def _use(entry: ListedModel, wanted: str, template: str, n_ctx: int) -> ModelInUse:
    """Return the model of *entry* as it is used; the arguments are those of `choose_model`."""
    name = wanted or entry.known_as
    family = _family(name, template)
    scores: Object = {} if family == completion.MESSAGE else {"logprobs": 1}
    names: Object = {"model": name} if wanted or not entry.is_mlx else {}
    told = n_ctx or _context(entry)
    return ModelInUse(
        model=label(short_name(name)),
        family=family,
        n_ctx=told or SMALL_CONTEXT,
        fields=(MLX_FIELDS if entry.is_mlx else scores) | names,
        is_mlx=entry.is_mlx,
        engine=_engine(entry),
        says_context=bool(told),
    )


def short_name(path: str) -> str:
    """
    Return the part of *path* that names the model: of folders and files the last one that a family
    is known by, but no publisher's name.
    """
    parts = [part for part in re.split(r"[/\\]", path[:LONGEST]) if part not in ("", ".", "..")]
    is_file = path[:1] in ("/", ".", "\\") or WEIGHTS.search(path)
    likely = [part for part in parts[:-1] if is_file or part.lower() not in PUBLISHERS] + parts[-1:]
    names = (part.rpartition("--")[2] for part in reversed(likely) if find_by_model(part))
    return next(names, parts[-1] if parts else path)


def _context(model: ListedModel) -> int:
    """Return how many tokens fit, 0 where the server does not say."""
    of_llama = model.meta.get("n_ctx") if isinstance(model.meta, dict) else None
    told = (model.max_model_len, of_llama, model.context_length)
    return next((n for each in told if (n := optional(Context, each))), 0)


def _engine(model: ListedModel) -> str:
    """Return the name of the program that serves *model*, as far as the list tells."""
    if model.is_mlx:
        return MLX
    if model.owned_by == "me" and model.permissions is not None:
        return LLAMA_CPP_PYTHON
    return label(model.owned_by) if isinstance(model.owned_by, str) else ""


def _family(model: str, template: str) -> Family:
    """
    Return the family of that name of ours, else that of the model's; else it has to be asked in
    words.
    """
    if template in ("", completion.MESSAGE.name):
        return (find_by_model(short_name(model)) if not template else None) or completion.MESSAGE
    if family := find_by_name(template):
        return family
    raise BackendUnusable(
        f"there is no template {template}: set fim.backend.template to one of {TEMPLATES}"
    )
