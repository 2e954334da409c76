"""
The head of a request into whether it may be answered. Pure.

A browser lets every page send requests to this machine, and a name that is looked up again may lead a page's own
address here (DNS rebinding). But it says in the headers `Host`, `Origin` and `Sec-Fetch-Site` for whom it asks, and no
page can change these (Fetch standard, "forbidden request-header"; W3C Fetch Metadata). Programs send none of the last two.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

NAMES = ("127.0.0.1", "localhost", "[::1]")
OWN_SITES = ("same-origin", "none")  # none: the user typed the address, or a program opened it


def why_refused(target: str, headers: Mapping[str, str], port: int) -> str:
    """Return why a request for *target* with *headers* (lower case) is not answered at all, "" if it is."""
    if not target.startswith("/") or target.startswith("//"):
        return "it is not an origin-form target"
    hosts = {f"{name}:{port}" for name in NAMES}
    if headers.get("host", "").lower() not in hosts:
        return "the Host is not this machine's own name"
    if (origin := headers.get("origin")) is not None and origin not in {
        f"http://{h}" for h in hosts
    }:
        return "a web page asks"
    if headers.get("sec-fetch-site", "none") not in OWN_SITES:
        return "a web page asks"
    return ""


def knows(headers: Mapping[str, str], token: str) -> bool:
    """Return whether a request carries the secret *token*, as `Authorization: Bearer`."""
    scheme, _, said = headers.get("authorization", "").partition(" ")
    as_said = said.strip().encode("utf-8", "surrogateescape")
    is_right = hmac.compare_digest(as_said, token.encode())
    return bool(token) and scheme.lower() == "bearer" and is_right
