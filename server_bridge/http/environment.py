"""
What the environment says of proxies and certificates; every error names the variable to change.

httpx reads all of it for every client, and fails at an entry that no request needs: a SOCKS proxy
for another scheme, an address in NO_PROXY. So only what an address needs is read here.
"""

from __future__ import annotations

import importlib.util
import os
import ssl
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from server_bridge.machine.addresses import is_loopback
from server_bridge.protocol import BackendUnusable

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")  # what Python's ssl reads


def find_proxy(url: str) -> httpx.Proxy | None:
    """
    Return the proxy for *url*, None without one, as for this machine. Raises BackendUnusable.
    """
    try:
        scheme, host = urlsplit(url).scheme, urlsplit(url).netloc.rpartition("@")[2]
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
            trust, proxy = certificates(url), find_proxy(url)
            self._transports[host] = httpx.HTTPTransport(verify=trust, proxy=proxy)
        return self._transports[host].handle_request(request)

    def close(self) -> None:
        """Close the connections."""
        for transport in self._transports.values():
            transport.close()


def _bypasses(host: str) -> bool:
    """Return whether NO_PROXY, or the system, has *host*; what is no host there is passed over."""
    try:
        return bool(proxy_bypass(host))
    except (OSError, ValueError):
        return False
