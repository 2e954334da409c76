"""
The clients of httpx, with the proxies and certificates of the environment; its errors as ours.

httpx reads all that the environment says for every client, and fails at an entry that no request
needs: a SOCKS proxy for another scheme, an address in NO_PROXY. So only what an address needs is
read here, and every error names the variable to change. It takes 0.1 s to import.
"""

from __future__ import annotations

import importlib.util
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from server_bridge.http.responses import Unproven
from server_bridge.machine.addresses import is_loopback
from server_bridge.protocol import BackendTimeout, BackendUnavailable, BackendUnusable

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")  # what Python's ssl reads
# Seconds. A server on this machine is there in a millisecond, one across the world in 0.3 s; a
# prompt is below a megabyte.
TIMES: dict[str, float | None] = {"connect": 2.0, "write": 10.0, "pool": None}
KEEP_S = 60.0  # llama.cpp closes after 5 s without a request; others keep longer
BAD_KEY = (
    "the API key has invalid characters: check fim.backend.apiKeyEnv, apiKeyFile or apiKeyCommand"
)
# Faults of a certificate, by a word of OpenSSL's; the last one is for all others.
_UNTRUSTED = {
    "expired": "has expired: who runs the server has to renew it",
    "not yet valid": "is not valid yet: check the clock of this machine",
    "mismatch": "is for another name: put the name that it is for into fim.backend.url",
    "": "is not signed by a trusted authority: name the file of your organisation's certificates "
    "in fim.backend.caFile",
}


def new_client(address: str, headers: Mapping[str, str], ca_file: str) -> httpx.AsyncClient:
    """Return a client for one connection to *address*. Raises BackendUnusable."""
    if not all(value.isascii() and value.isprintable() for value in headers.values()):
        raise BackendUnusable(BAD_KEY)
    return httpx.AsyncClient(
        headers=headers,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # no cookie is kept
        limits=httpx.Limits(max_connections=1, keepalive_expiry=KEEP_S),
        proxy=find_proxy(address),
        trust_env=False,
        verify=certificates(address, ca_file),
    )


@contextmanager
def map_errors(url: str) -> Iterator[None]:
    """Raise the errors of httpx from the server at *url* as ours, in the user's words."""
    try:
        yield
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise BackendUnusable(  # not chained: the original may show a password
            f"{url!r} is not a valid address: fim.backend.url should look like http://127.0.0.1:8012"
        ) from None
    except httpx.LocalProtocolError:
        raise BackendUnusable(BAD_KEY) from None  # the original would show the key
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        if "CERTIFICATE_VERIFY_FAILED" in (why := str(error)):
            fault = next(says for part, says in _UNTRUSTED.items() if part in why)
            raise BackendUnusable(f"the certificate of {url} {fault}") from error
        raise BackendUnavailable(f"cannot connect to {url}: {why or 'no answer'}") from error
    except (httpx.RemoteProtocolError, httpx.NetworkError) as error:
        # The server closed an idle connection just as we wrote (or died): prove it again.
        raise Unproven(f"{url} closed the connection") from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise BackendTimeout(f"{url} did not answer in time") from error
    except httpx.HTTPError as error:
        raise BackendUnavailable(f"the connection to {url} failed: {error}") from error


def find_proxy(url: str) -> httpx.Proxy | None:
    """
    Return the proxy for *url*, None without one, as for this machine. Raises BackendUnusable.
    """
    try:
        scheme = urlsplit(url).scheme
        host = urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:  # the client says what is wrong with it
        return None
    address = getproxies().get(scheme) or getproxies().get("all")
    if not address or is_loopback(url) or _bypasses(host):
        return None
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "all_proxy", "ALL_PROXY")
    name = next((name for name in names if os.environ.get(name)), "the proxy of the system")
    if address.lower().startswith("socks") and importlib.util.find_spec("socksio") is None:
        raise BackendUnusable(
            f"{name} is a SOCKS proxy, which is not supported: set {scheme.upper()}_PROXY to an "
            f"HTTP proxy, or name the server in NO_PROXY ({host})"
        )
    try:
        proxy = httpx.Proxy(address if "://" in address else f"http://{address}")
        _ = urlsplit(str(proxy.url)).port  # raises beyond 65535
        return proxy
    except (httpx.InvalidURL, ValueError):  # not chained: it may show a password
        raise BackendUnusable(
            f"{name} is not the address of a proxy: it should look like http://proxy:8080"
        ) from None


def certificates(url: str, ca_file: str = "") -> ssl.SSLContext | bool:
    """
    Return the certificates to trust at *url*: httpx's, this machine's (a company's own are only
    there), the user's; False where none is needed. It takes 25 ms. Raises BackendUnusable.
    """
    if url.lower().startswith("http://"):
        return False
    try:
        context = httpx.create_ssl_context()
        context.load_default_certs()
    except (OSError, ValueError) as error:  # ssl.SSLError is one
        names = [name for name in CERTIFICATES if os.environ.get(name)]
        missing = [name for name in names if not Path(os.environ[name]).exists()]
        raise BackendUnusable(
            f"the certificates of this machine cannot be read ({error}): correct or unset "
            f"{' or '.join(missing or names) or 'the variables of OpenSSL'}"
        ) from error
    if ca_file:
        try:
            context.load_verify_locations(Path(ca_file).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            raise BackendUnusable(f"fim.backend.caFile cannot be read: {error}") from error
    return context


class RoutedTransport(httpx.BaseTransport):
    """Requests to several hosts, each through the proxy that is set for it."""

    def __init__(self) -> None:
        self._transports: dict[tuple[str, str], httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send *request*. Raises BackendUnusable besides httpx's errors."""
        host = (request.url.scheme, request.url.host)
        if host not in self._transports:
            url = str(request.url)
            trust = certificates(url)
            proxy = find_proxy(url)
            self._transports[host] = httpx.HTTPTransport(verify=trust, proxy=proxy)
        return self._transports[host].handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            transport.close()


def _bypasses(host: str) -> bool:
    """Return whether NO_PROXY, or the system, has *host*; entries that are no hosts are skipped."""
    try:
        return bool(proxy_bypass(host))
    except (OSError, ValueError):
        return False
