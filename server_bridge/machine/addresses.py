"""
Addresses of model servers: which of them lead to this machine, and how they may be shown.

Both packages need the same verdicts: the bridge decides about proxies and saved state by them, the
editor side about what it warns of. Pure; no name is looked up.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import socket
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# llama.vim and llama.cpp's FIM presets, llama-server's default, Ramalama and llama-swap
USUAL_PORTS = (8012, 8080, 9931)
# Texts that the C library reads as an IPv4 address besides four decimal numbers: 127.1, 0x7f.1,
# 2130706433
SHORT_IPV4 = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}")
ENDPOINT = re.compile(r"(?:/v1)?(?:/(?:chat/)?completions|/models)?$")


def is_loopback(url: str) -> bool:
    """
    Return whether *url* leads to this machine, however it is written. False where it is no address.

    Systems connect to 0.0.0.0 and :: as to 127.0.0.1.
    """
    parts = _split(url)
    host = (parts.hostname or "") if parts else ""
    address = _ip(host)
    return is_loopback_host(host) or (address is not None and address.is_unspecified)


def is_loopback_host(host: str) -> bool:
    """
    Return whether *host*, a name or an address without brackets, can be reached from this machine
    alone.

    `localhost` and all below it (RFC 6761, 6.3), 127.0.0.0/8 and ::1, also written as an IPv4
    address in IPv6; not 0.0.0.0: what listens there listens for all machines.
    """
    name = host.lower().rstrip(".")
    address = _ip(host)
    is_named = name == "localhost" or name.endswith(".localhost")
    return is_named or (address is not None and address.is_loopback)


def port_of(url: str) -> int:
    """Return the port that *url* leads to, 0 where it is no address."""
    parts = _split(url)
    if parts is None:
        return 0
    return parts.port or (443 if parts.scheme == "https" else 80)


def without_login(url: str) -> tuple[str, str]:
    """
    Return *url* without its `user:password@`, and that as HTTP's basic authentication, "" for none.
    """
    parts = _split(url)
    if parts is None or "@" not in parts.netloc:
        return url, ""
    login, _, place = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    word = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()
    return urlunsplit(parts._replace(netloc=place)), f"Basic {word}"


def base_of(url: str) -> str:
    """
    Return *url* without the path of an endpoint, which users copy along; a query stays behind it.
    """
    place, mark, query = url.partition("?")
    return ENDPOINT.sub("", place.rstrip("/")).rstrip("/") + mark + query


def redact_url(url: str) -> str:
    """
    Return *url* as it may stand in a message, a log or a statistic: without a password or a query.

    All before the last `@` may be one: users forget to escape what a password has in it.
    """
    hidden = re.sub(r"(?is)^([a-z][a-z0-9+.-]*://)?.*@", r"\1***@", url)
    return re.split(r"[?#]", hidden, maxsplit=1)[0]


def plain(address: Address) -> Address:
    """Return an IPv4 address in an IPv6 one as itself."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # it is read, and may be wrong, only now
    except ValueError:
        return None
    return parts if parts.hostname else None


def _ip(host: str) -> Address | None:
    """Return the address that *host* is; an IPv4 address in an IPv6 one as itself."""
    name = host.lower().rstrip(".")
    try:
        return plain(ipaddress.ip_address(name))
    except ValueError:
        pass
    if not SHORT_IPV4.fullmatch(name):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(name))
    except OSError:
        return None
