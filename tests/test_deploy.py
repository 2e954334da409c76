"""What is in deploy/ can be read by the programs it is for, and names what is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fim_lsp.settings.backend import BackendConfig
from tests.test_tidy import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "monitoring/grafana/fim-lsp.json"
SERIES = re.compile(r"vllm:\w+")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def series() -> set[str]:
    """What the dashboard asks Prometheus for."""
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return {name for p in panels for t in p["targets"] for name in SERIES.findall(t["expr"])}


@pytest.mark.parametrize(
    "path", [*DEPLOY.rglob("*.yaml")], ids=lambda path: str(path.relative_to(DEPLOY))
)
def test_yaml_is_yaml(path: Path) -> None:
    """Every file is a mapping."""
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("name", ["vllm", "llama.cpp"])
def test_a_compose_file_names_what_is_there(name: str) -> None:
    """The files it mounts from the repository, the services it waits for, the volumes it keeps."""
    folder = DEPLOY / name
    compose = read(folder / "compose.yaml")
    services = compose["services"]
    local = {"certificate.pem", "key.pem", "keys.txt", "models"}  # the administrator's
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("."):
                assert Path(source).name in local or (folder / source).exists(), volume
            else:
                assert source in compose["volumes"]


@pytest.mark.parametrize("name", ["vllm", "llama.cpp"])
def test_nginx_asks_servers_of_the_compose_file(name: str) -> None:
    """Braces are balanced, and each upstream server is a service."""
    text = re.sub(r"#.*", "", (DEPLOY / name / "nginx.conf").read_text("utf-8"))
    assert text.count("{") == text.count("}")
    services = read(DEPLOY / name / "compose.yaml")["services"]
    asked = re.findall(r"^\s*server ([\w-]+):\d+", text, re.MULTILINE)
    assert asked
    assert set(asked) <= set(services)
    assert "proxy_buffering off;" in text  # a stream comes piece by piece


def test_replicas_say_what_they_reused() -> None:
    """However vLLM is started: with prefix caching, and with the counts that the client shows."""
    compose = read(DEPLOY / "vllm/compose.yaml")
    helm = read(DEPLOY / "vllm/values.yaml")["servingEngineSpec"]["modelSpec"][0]["vllmConfig"]
    for flags in (compose["x-vllm"]["command"], helm["extraArgs"]):
        assert "--enable-prompt-tokens-details" in flags
    assert "--enable-prefix-caching" in compose["x-vllm"]["command"]
    assert helm["enablePrefixCaching"]


def test_prometheus_watches_the_replicas() -> None:
    """Each of them, not the router, which counts nothing that was evaluated."""
    [job] = read(DEPLOY / "monitoring/prometheus.yaml")["scrape_configs"]
    services = read(DEPLOY / "vllm/compose.yaml")["services"]
    watched = {target.partition(":")[0] for target in job["static_configs"][0]["targets"]}
    assert watched == {name for name in services if name.startswith("vllm-")}


def test_the_dashboard_is_what_the_script_makes() -> None:
    """And every panel asks for series."""
    before = DASHBOARD.read_bytes()
    try:
        subprocess.run([sys.executable, str(ROOT / "scripts/make-dashboard")], check=True)
        assert DASHBOARD.read_bytes() == before
    finally:
        DASHBOARD.write_bytes(before)
    assert "vllm:prompt_tokens_cached_total" in series()


def test_the_page_and_the_files_name_the_same_settings() -> None:
    """`sessionHeader` and `cacheSalt` exist; the header is the one that the files read."""
    page = (ROOT / "docs/scaling.md").read_text("utf-8")
    assert {"session_header", "cache_salt"} <= set(BackendConfig.__dataclass_fields__)
    assert read(DEPLOY / "vllm/values.yaml")["routerSpec"]["sessionKey"].title() == "X-Session-Id"
    assert "$http_x_session_id" in (DEPLOY / "llama.cpp/nginx.conf").read_text("utf-8")
    assert 'sessionHeader = "X-Session-ID"' in page
