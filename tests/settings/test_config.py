"""Where code goes, as the settings say it."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from fim_lsp.settings.config import BackendConfig, remote_servers
from fim_lsp.settings.merge import SCHEMA
from server_bridge.bridge import BackendSettings

pytestmark = pytest.mark.promise("encrypted-or-warned")


@pytest.mark.parametrize(
    ("urls", "hosts"),
    [
        ("", []),
        ("HTTP://127.0.0.1:8012", []),
        ("http://me:pw@127.0.0.1:8012", []),
        ("http://foo.localhost", []),
        ("http://localhost.:8012", []),
        ("http://[::ffff:127.0.0.1]:8012", []),
        ("http://[::ffff:10.0.0.7]:1", ["::ffff:10.0.0.7"]),
        ("http://0.0.0.0:8012", []),  # systems connect to it as to 127.0.0.1
        ("http://127.0.0.1@big:8012", ["big"]),
        ("http://127.0.0.1.example.org", ["127.0.0.1.example.org"]),
        ("http://me:pw@10.0.0.7", ["10.0.0.7"]),
        ("https://llm.corp", []),
        ("http://a:1 https://b http://c", ["a", "c"]),
    ],
)
def test_code_that_would_travel_unencrypted_is_warned_of(urls: str, hosts: list[str]) -> None:
    """By the rule that decides about proxies, too, with the way out and no password."""
    one, *others = urls.split() or [""]
    servers = tuple(BackendConfig(url=url) for url in (one, *others)) if others else ()
    ways = remote_servers(BackendConfig(url=one, endpoints=servers))
    warnings = [way.warning for way in ways if way.warning]
    assert [warning.split()[4] for warning in warnings] == hosts
    assert all("ssh -L" in warning for warning in warnings)
    assert "pw" not in "".join(warnings)


def test_the_kinds_of_the_settings_are_those_of_the_bridge() -> None:
    """A kind that only one of them knows cannot be chosen, or is asked as a llama.cpp server."""
    assert SCHEMA["backend.kind"].choices == get_args(get_type_hints(BackendSettings)["kind"])
