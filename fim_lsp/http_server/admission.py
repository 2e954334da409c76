"""
Who may ask at the port: this user's programs, and the page.

A browser lets every page send requests to this machine, and a name that is looked up again may
lead a page's own address here (DNS rebinding). But it says in the headers `Host`, `Origin` and
`Sec-Fetch-Site` for whom it asks, and no page can change these (Fetch standard, "forbidden
request-header"; W3C Fetch Metadata). Programs send none of the last two.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
from collections.abc import Mapping
from pathlib import Path

from server_bridge.machine import private_files

NAMES = ("127.0.0.1", "localhost", "[::1]")
OWN_SITES = ("same-origin", "none")  # none: the user typed the address, or a program opened it


def why_refused(target: str, headers: Mapping[str, str], port: int) -> str:
    """
    Return why a request for *target* with *headers* (lower case) is not answered at all, "" if it
    is.
    """
    first = target.removeprefix("//").partition("/")[0] if target.startswith("//") else ""
    if not target.startswith("/") or set(".:@") & set(first):  # `//infill` has a slash too many
        return "it is not an origin-form target"
    hosts = {f"{name}:{port}" for name in NAMES}
    if headers.get("host", "").lower() not in hosts:
        return "the Host is not this machine's own name"
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_own = origin is None or origin in {f"http://{host}" for host in hosts}
    return "" if is_own and site in OWN_SITES else "a web page asks"


def knows(headers: Mapping[str, str], token: str) -> bool:
    """Return whether a request carries the secret *token*, as `Authorization: Bearer`."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    shown = secret.strip().encode("utf-8", "surrogateescape")
    is_right = hmac.compare_digest(shown, token.encode())
    return bool(token) and scheme.lower() == "bearer" and is_right


def own_key(path: Path) -> str:
    """
    Return the key that the file *path* has; another one where it has none, or one that another user
    could have read.
    """
    with contextlib.suppress(OSError):
        if key := _read_key(path):
            return key
    fresh = secrets.token_urlsafe()
    try:
        private_files.write(path, f"{fresh}\n".encode())
        return _read_key(path)  # another process may have written one at the same time
    except OSError:
        return fresh  # for as long as this process runs


def _read_key(path: Path) -> str:
    return private_files.read(path).decode("ascii", "replace").strip()
