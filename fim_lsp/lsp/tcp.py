"""
One client over a socket, and who may be it.

A client can name files and have commands run, so it must be the user's editor, and no other
program or web page that can reach the port. The server listens on this machine only, and takes
the first connection from a process of its own user that begins with an `initialize` of LSP. Where
the system does not tell whose process it is, that request must carry a secret, and so it must
wherever one was set: `initializationOptions: {"fim": {"token": "…"}}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import json
import logging
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator

from fim_lsp.lsp.transport import BadFrame, Client, Frame, frames
from server_bridge.machine import sockets
from server_bridge.machine.addresses import is_loopback_host

log = logging.getLogger(__name__)

FIRST_MESSAGE_S = 10.0  # clients send `initialize` at once; the next one waits for this long


class NotAdmitted(Exception):
    """The connection is not taken; the text says why."""


async def tcp_client(host: str, port: int, token: str, left: Callable[[], None]) -> Client:
    """
    Wait for the client, then listen no more. Port 0 takes a free one and says which.

    *token* is the secret the client must know, "" for none where the system tells whose it is.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        listener.setblocking(False)
        if not is_loopback_host(listener.getsockname()[0]):
            raise OSError(f"{host} is not an address of this machine alone")
        _say(f"fim-lsp listens on {_format_address(*listener.getsockname()[:2])}")
        if not token and not sockets.can_tell():
            token = secrets.token_urlsafe()
            _say(f'the client must send initializationOptions {{"fim": {{"token": "{token}"}}}}')
        while True:
            connection, address = await asyncio.get_running_loop().sock_accept(listener)
            check = asyncio.to_thread(_admit, connection, token)
            try:
                received = await asyncio.wait_for(check, FIRST_MESSAGE_S)
                return Client(received, connection.makefile("wb"), left)
            except (TimeoutError, NotAdmitted, BadFrame, OSError) as error:
                why = str(error) or "it did not send initialize"
                log.warning("refused a connection from %s: %s", _format_address(*address[:2]), why)
                _close(connection)


def _admit(connection: socket.socket, token: str) -> Iterator[Frame]:
    """
    Return the messages of a client that may be served. Blocks; raises NotAdmitted and BadFrame.
    """
    connection.setblocking(True)
    uid = sockets.peer_uid(connection)
    if sys.platform != "win32" and uid is not None and uid != os.getuid():
        raise NotAdmitted(f"it is a process of user {uid}, and this server is one of {os.getuid()}")
    if uid is None and not token:
        raise NotAdmitted("the system does not tell whose process it is; set FIM_LSP_TOKEN")
    received = frames(connection.makefile("rb"))
    first = next(received, b"")
    client_token = _token(first) if isinstance(first, bytes) else None
    if client_token is None:
        raise NotAdmitted("it did not send initialize")
    tokens = (text.encode("utf-8", "surrogatepass") for text in (client_token, token))
    if token and not hmac.compare_digest(*tokens):
        raise NotAdmitted("its fim.token is missing or wrong")
    return itertools.chain((first,), received)


def _token(body: bytes) -> str | None:
    """Return the token in an `initialize`, "" for none; None if *body* is no such request."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    match message:
        case {
            "method": "initialize",
            "params": {
                "initializationOptions": {"fim": {"token": str(token)}}
                | {"fim.token": str(token)}
                | {"token": str(token)}
            },
        }:
            return token
        case {"method": "initialize"}:
            return ""
    return None


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed at the other end already
        connection.shutdown(socket.SHUT_RDWR)  # ends a thread that reads from it
    connection.close()


def _format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 (clients wait for the address)
