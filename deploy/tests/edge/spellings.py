"""Targets of requests that a proxy reads as one path, and the server behind it perhaps as another."""

from __future__ import annotations

from collections.abc import Iterator


def spelled(path: str) -> Iterator[str]:
    """Ways to write *path*, or to reach it by one that is allowed."""
    name = path.removeprefix("/")
    yield from (
        f"/{path}", f"//{path}", f"{path}/", f"{path}//", f"/.{path}", f"{path}/.", f"/x/..{path}",
        f"{path}?", f"{path}?url=http://192.0.2.1", f"{path};x", f"{path}#x", f"{path}%20",
        f"{path}%00", f"/%2e{path}", f"/v1/%2e%2e{path}", f"/v1/%252e%252e{path}",
        f"/v1%2f..{path}", f"/..{path}", f"/%{ord(name[0]):02x}{name[1:]}",
        f"/%25{ord(name[0]):02x}{name[1:]}", f"/{name.replace('/', '%2f')}", f"/{name.upper()}",
        f"/{name.title()}", f"\\{name}", f"/\\{name}", name, f"*{path}", "*",
    )  # fmt: skip
    for before in ("/v1/models", "/v1/completions", "/health", "/props"):
        yield from (
            f"{before}{path}", f"{before}/..{path}", f"{before}/../..{path}", f"{before}/..;{path}",
            f"{before}%2f..%2f..%2f{name}", f"{before}?{path}", f"{before}#{path}",
            f"{before}%00{path}", f"{before}%0d%0aX:%20{path}",
            f"{before}%20HTTP/1.1%0d%0a{path}", f"{before};{path}",
        )  # fmt: skip


def absolute(path: str) -> Iterator[str]:
    """Yield *path* with a server's name."""
    yield from (
        f"{server}{path}"
        for server in (
            "http://router:8000", "https://127.0.0.1", "http://evil.example", "ws://x",
            "http://u:p@x",
        )
    )  # fmt: skip
