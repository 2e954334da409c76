"""Addresses: whether they lead to this machine, and what may be seen of them."""

from __future__ import annotations

import pytest

from server_bridge.machine.addresses import (
    is_loopback,
    is_loopback_host,
    port_of,
    redact_url,
    without_login,
)

pytestmark = pytest.mark.promise("encrypted-or-warned")

HERE = [
    "http://127.0.0.1:8012", "HTTP://127.0.0.1:8012", "http://127.8.9.10", "https://localhost/v1",
    "http://LOCALHOST:8012", "http://localhost.:8012", "http://foo.localhost",
    "http://a.b.LocalHost.",
    "http://user@127.0.0.1", "http://user:pw@localhost:8012", "http://a@b@127.0.0.1",
    "http://[::1]:8012", "http://[0:0:0:0:0:0:0:1]", "http://[::ffff:127.0.0.1]:8012",
    "http://[::ffff:7f00:1]", "http://0.0.0.0:8012", "http://[::]:8012", "http://[::ffff:0.0.0.0]",
    "http://127.1:8012", "http://0x7f.0.0.1", "http://2130706433", "http://0177.0.0.1",
]  # fmt: skip
ELSEWHERE = [
    "http://10.0.0.7", "http://128.0.0.1", "http://localhost.example.org", "http://notlocalhost",
    "http://127.0.0.1.example.org", "http://127.0.0.1@example.org", "http://[::2]", "http://10.1",
    "http://example.org/127.0.0.1", "http://[::ffff:10.0.0.7]", "http://1270.0.0.1", "http://0x",
    "", "nonsense", "127.0.0.1:8012", "http://", "http://[::1", "http://a:b", "http://127.0.0.1:b",
]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "here"), [*((url, True) for url in HERE), *((url, False) for url in ELSEWHERE)]
)
def test_this_machine_is_known_however_it_is_written(url: str, *, here: bool) -> None:
    """No proxy, no warning and saved state for these, and for no others."""
    assert is_loopback(url) is here


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("LOCALHOST", True), ("::1", True), ("::ffff:127.0.0.1", True),
     ("0.0.0.0", False), ("::", False), ("::ffff:0.0.0.0", False), ("10.0.0.7", False),
     ("", False)],
)  # fmt: skip
def test_what_listens_for_all_machines_is_not_local(host: str, *, alone: bool) -> None:
    """One connects to 0.0.0.0 as to oneself, but a server that listens there is reached by others."""
    assert is_loopback_host(host) is alone


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("http://127.0.0.1:8012/a", "http://127.0.0.1:8012/a"),
        ("https://me:s3cret@host:8012/a", "https://***@host:8012/a"),
        ("https://me:s3@cret@host", "https://***@host"),
        ("https://me:s3/cret@host", "https://***@host"),
        ("https://me:s3\ncret@host", "https://***@host"),
        ("me:s3cret@host:8012", "***@host:8012"),
        ("http://me:s3cret@[::1", "http://***@[::1"),
        ("https://host/v1?key=s3cret", "https://host/v1"),
        ("", ""),
    ],
)
def test_a_password_is_not_seen(url: str, seen: str) -> None:
    """Nor what may be one: users forget to escape the characters in it."""
    assert redact_url(url) == seen


@pytest.mark.parametrize(
    ("url", "rest", "login"),
    [
        ("http://host:1/a?b", "http://host:1/a?b", ""),
        ("http://me:pw@host:1/a?b", "http://host:1/a?b", "Basic bWU6cHc="),
        ("http://me%40x:p%2Fw@host", "http://host", "Basic bWVAeDpwL3c="),
        ("http://token@host", "http://host", "Basic dG9rZW46"),
        ("http://[::1", "http://[::1", ""),
    ],
)
def test_a_login_is_taken_out_of_the_address(url: str, rest: str, login: str) -> None:
    """It travels in a header, so that no library writes it into a log."""
    assert without_login(url) == (rest, login)


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://a:8012", 8012), ("http://a", 80), ("HTTPS://a", 443), ("http://a:b", 0), ("", 0)],
)
def test_ports(url: str, port: int) -> None:
    """The one in the address, else the scheme's."""
    assert port_of(url) == port
