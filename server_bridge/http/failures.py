"""
What went wrong with an exchange: the errors of httpx as those of `protocol`, in the user's words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server_bridge.protocol import BackendTimeout, BackendUnavailable, BackendUnusable

BAD_KEY = (
    "the API key has invalid characters: check fim.backend.apiKeyEnv, apiKeyFile or apiKeyCommand"
)
# What is wrong with a certificate, by a word of OpenSSL's; the last one is for all others.
_UNTRUSTED = {
    "expired": "has expired: who runs the server has to renew it",
    "not yet valid": "is not valid yet: check the clock of this machine",
    "mismatch": "is for another name: put the name that it is for into fim.backend.url",
    "": "is not signed by a trusted authority: name the file of your organisation's certificates "
    "in fim.backend.caFile",
}


class Unproven(BackendUnavailable):
    """A `post` would have needed a new connection: `get` a proof of identity first, then repeat."""


@contextmanager
def map_errors(httpx: Any, url: str) -> Iterator[None]:
    """Raise the errors of the library, *httpx*, from the server at *url* as ours."""
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
        raise BackendUnavailable(f"cannot connect to {url}: {error}") from error
    except (httpx.RemoteProtocolError, httpx.NetworkError) as error:
        # The server closed an idle connection just as we wrote (or died): prove it again.
        raise Unproven(f"{url} closed the connection") from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise BackendTimeout(f"{url} did not answer in time") from error
    except httpx.HTTPError as error:
        raise BackendUnavailable(f"the connection to {url} failed: {error}") from error
