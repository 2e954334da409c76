"""
A real nginx with the configuration, the script and the key file of deploy/; only addresses and folders are others.

    with edge("vllm", "127.0.0.2:8000", folder) as front: front.ask("GET", "/v1/models", headers)
"""

from __future__ import annotations

import http.client
import os
import re
import secrets
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import trustme

from tests.llama_server import free_port
from tests.test_tidy import ROOT

PROGRAM = os.environ.get("FIM_TEST_NGINX", "")
SERVER_KEY = secrets.token_hex(32)  # what the servers behind nginx know
MEMBERS = ("ada", "grace", "joan", "mary", "edith", "karen")
KEYS = [secrets.token_hex(32) for _ in MEMBERS]
KEY, OTHER_KEY, *_ = KEYS
LOGIN = {"Authorization": f"Bearer {KEY}"}
START_S = 20.0
PATIENCE_S = 20.0


@dataclass(frozen=True)
class Edge:
    """A running nginx: its *port* on 127.0.0.1, that of its *counts*, its process and its *folder*."""

    port: int
    counts: int
    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        """Return where editors find it."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def authority(self) -> str:
        """The file of the certificates that they trust."""
        return str(self.folder / "ca.pem")

    @property
    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority)

    @property
    def log(self) -> str:
        """All that it has written, at a level more talkative than the deployment's."""
        return (self.folder / "error.log").read_text("utf-8")

    def connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=PATIENCE_S, context=self.context
        )

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] = LOGIN,
        body: bytes | None = None,
    ) -> tuple[int, bytes]:
        """Status and body of the answer."""
        with closing(self.connection()) as connection:
            connection.request(method, target, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()

    def exchange(self, raw: bytes, patience_s: float = PATIENCE_S) -> bytes:
        """Return all that comes back for *raw*, which is no request of a well-behaved client."""
        plain = socket.create_connection(("127.0.0.1", self.port), patience_s)
        found = b""
        with self.context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(raw)
            with suppress(ssl.SSLError, ConnectionError, TimeoutError):
                while piece := connection.recv(65536):
                    found += piece
        return found


@contextmanager
def edge(
    deployment: str, upstream: str, folder: Path, *others: str, stdout: int | None = None
) -> Iterator[Edge]:
    """
    nginx of *deployment* (or of another folder), with its servers at the address *upstream*, and *others* if
    they have addresses of their own; its files are in *folder*.
    """
    port = free_port()
    counts = free_port()
    _write_secrets(folder)
    configuration = _configuration(deployment, [upstream, *others], port, folder)
    configuration = configuration.replace("listen 8080", f"listen 127.0.0.1:{counts}")
    log = "/dev/stdout" if stdout is None else "/var/log/nginx/fim.log"
    configuration = configuration.replace(log, f"{folder}/access.log")
    (folder / "nginx.conf").write_text(configuration, "utf-8")
    options = ["-p", str(folder), "-c", "nginx.conf", "-e", "error.log"]
    here = "daemon off; pid nginx.pid; error_log error.log info;"
    here += " user root;" if os.geteuid() == 0 else ""
    with subprocess.Popen([PROGRAM, *options, "-g", here], stdout=stdout) as process:
        try:
            _wait(process, port, folder)
            yield Edge(port, counts, folder, process)
        finally:
            process.terminate()


def _write_secrets(folder: Path) -> None:
    """Certificates, and the tables that deploy/keys.sh makes of a key file."""
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "certificate.pem"))
    lines = [f"{name} {key}\n" for name, key in zip(MEMBERS, KEYS, strict=True)]
    write_keys(folder, "# an editor\n" + "".join(lines))


def write_keys(folder: Path, text: str, server_key: str = SERVER_KEY) -> None:
    """Write a key file, and the tables that deploy/keys.sh makes of it."""
    (folder / "keys.txt").write_text(text, "utf-8")
    environment = {**os.environ, "SERVER_KEY": server_key}
    subprocess.run(["sh", *_script(folder)], check=True, env=environment)


def _script(folder: Path) -> list[str]:
    return [str(ROOT / "deploy/keys.sh"), str(folder / "keys.txt"), str(folder / "keys.conf")]


@contextmanager
def watching(folder: Path) -> Iterator[None]:
    """Run deploy/keys.sh as nginx's image does: from now on it looks at the files, and tells this nginx to reload."""
    tools = folder / "tools"
    tools.mkdir()
    arguments = f"-p {folder} -c nginx.conf -e error.log -g 'pid nginx.pid;'"
    (tools / "nginx").write_text(f'#!/bin/sh\nexec {PROGRAM} {arguments} "$@"\n', "utf-8")
    (tools / "nginx").chmod(0o755)
    environment = {"PATH": f"{tools}:{os.defpath}", "SERVER_KEY": SERVER_KEY}
    with subprocess.Popen(
        ["sh", *_script(folder), "watch"], env=environment, start_new_session=True
    ) as process:
        process.wait(START_S)
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def _configuration(deployment: str, servers: list[str], port: int, folder: Path) -> str:
    text = (ROOT / "deploy" / deployment / "nginx.conf").read_text("utf-8")
    addresses = cycle(servers)
    text = re.sub(
        r"(?m)^(\s+server) [\w.-]+:\d+", lambda found: f"{found[1]} {next(addresses)}", text
    )
    text = text.replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("/secrets/", f"{folder}/").replace("/run/", f"{folder}/")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    return text.replace("http {\n", f"http {{\n{places}", 1)


def _wait(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise TimeoutError((folder / "error.log").read_text("utf-8"))
