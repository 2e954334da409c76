"""
The key is refused: whether an answer says so, by whatever it does.

401 and 403 say it by themselves. Others say it in the body: LiteLLM without a database answers 400,
`no_db_connection`, to each key but its own; FastAPI 422 where the header is missing; Google 400;
some gateways 200. A proxy with a login of its own sends the client to that. The part of a request
that a body repeats is the user's code, and is not read: only names, and the beginning of a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from server_bridge.protocol import BackendUnusable

STATUSES = {401, 403, 407}
BUSY = 429  # whatever it says besides
REDIRECTS = range(300, 400)
INNER = {"error", "detail", "details"}  # where a fault has others in it
DEEPEST = 5
MOST_FAULTS = 8
# Fields that name a fault in OpenAI's errors and in others'.
NAMES = {"type", "code", "status", "reason", "error"}
NAME = re.compile(
    r"(?i)(?=[\w.:-]{1,40}$)[\w.:-]*(?:authenticat|unauthori[sz]ed|auth_error|authorization"
    r"|api_?key|access_?token|no_db_connection|(?:invalid|expired)_(?:token|auth|key)"
    r"|token_not_found|permission_?(?:denied|error)|access_?denied)"
)
SAYS = {"message", "detail", "msg", "error"}
N_READ = 80  # characters of a name or a message: what it repeats of the request stands behind
WORDS = re.compile(
    r"(?i)\b(?:invalid|incorrect|missing|wrong|expired|unknown|no|provide|pass)\b[\w ]{0,20}"
    r"\b(?:(?:api|access|virtual)[ _-]?(?:key|token)|bearer token|credentials|authorization)\b"
    r"|\b(?:api|access)[ _-]?(?:key|token) (?:is |was )?(?:not|invalid|missing|required|expired)\b"
    r"|^\W{0,2}(?:unauthori[sz]ed|not authenticated|authentication (?:error|fail|is required))"
)
LOGIN = re.compile(r"(?i)/(?:log[-_]?in|sign[-_]?in|oauth2?|sso|auth|access)(?:[/?#]|$)")


class Refused(BackendUnusable):
    """The key is not the right one."""

    cause = "key"


def refusal(url: str, status: int, data: Any, headers: Mapping[str, str]) -> Refused | None:
    """
    Return the error for an answer with this *status*, JSON *data* and *headers* that refuses the
    key, or wants one; None where it is about something else.
    """
    if status == BUSY or not _is_about_key(status, data, headers):
        return None
    return Refused(
        f"{url} refused the API key: say where it is in fim.backend.apiKeyEnv, "
        "apiKeyFile or apiKeyCommand"
    )


def _is_about_key(status: int, data: Any, headers: Mapping[str, str]) -> bool:
    if status in STATUSES or "www-authenticate" in headers:
        return True
    if status in REDIRECTS:
        return LOGIN.search(headers.get("location", "")[:1000]) is not None
    return any(_says_key(fault) for fault in _faults(data))


def _faults(data: Any, depth: int = DEEPEST) -> list[dict[str, Any]]:
    """Return the objects of an answer that tell what is wrong."""
    if not depth:
        return []
    if isinstance(data, list):
        return [fault for each in data[:MOST_FAULTS] for fault in _faults(each, depth - 1)]
    if not isinstance(data, dict):
        return []
    return [data, *(fault for name in INNER for fault in _faults(data.get(name), depth - 1))]


def _says_key(fault: dict[str, Any]) -> bool:
    place = fault.get("loc")  # FastAPI: where in the request the fault is
    if isinstance(place, list) and place[:1] == ["header"]:
        return True
    names = [str(fault.get(name))[:N_READ] for name in NAMES]
    if any(NAME.match(name) or name in map(str, STATUSES) for name in names):
        return True
    said = [fault.get(name) for name in SAYS]
    return any(isinstance(each, str) and WORDS.search(each[:N_READ]) for each in said)
