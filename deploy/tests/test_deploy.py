"""What is in deploy/ can be read by the programs it is for, and names what is there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from ipaddress import ip_address, ip_network
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from fim_lsp.settings.config import BackendConfig
from tests.test_tidy import ROOT

pytestmark = pytest.mark.promise("a-team-server")

DEPLOY = ROOT / "deploy"
MONITORING = DEPLOY / "monitoring"
BOARDS = {path.stem: path for path in (MONITORING / "grafana/boards").glob("*.json")}
ALLOWED = {
    "vllm": {"POST /v1/completions", "GET /v1/models", "GET /health"},
    "llama.cpp": {
        "POST /completion", "POST /tokenize", "POST /detokenize",
        "GET /props", "GET /slots", "GET /health",
    },
}  # fmt: skip
ISOLATED = {"com.docker.network.bridge.gateway_mode_ipv4": "isolated"}
SERVER_KEY = "${SERVER_KEY:?set it in .env}"
OTHER = "${OTHER_SERVER_KEY:-${SERVER_KEY}}"
KEYS_OF_ENV = {SERVER_KEY, f"{SERVER_KEY},{OTHER}", "${OTHER_SERVER_KEY:-}"}
SERIES = re.compile(r"vllm:\w+")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def nginx(name: str) -> str:
    """Return a deployment's nginx.conf without its comments."""
    return re.sub(r"#.*", "", (DEPLOY / name / "nginx.conf").read_text("utf-8"))


def services_of(name: str) -> dict[str, Any]:
    """Return a deployment's services, with what those of `monitoring/` have that they take over."""
    services: dict[str, Any] = read(DEPLOY / name / "compose.yaml")["services"]
    others = read(MONITORING / "compose.yaml")["services"]
    for each, service in services.items():
        if base := service.pop("extends", None):
            assert base == {"file": "../monitoring/compose.yaml", "service": each}
            volumes = [
                re.sub(r"^\./", "../monitoring/", volume)
                for volume in others[each].get("volumes", ())
            ]
            services[each] = {
                **others[each], **service, "volumes": volumes + service.get("volumes", []),
            }  # fmt: skip
    return services


def expressions(board: str) -> list[str]:
    """Return what a dashboard asks Prometheus."""
    panels = json.loads(BOARDS[board].read_text("utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def series() -> set[str]:
    """Return what dashboard and alerts want to know of vLLM."""
    asked = expressions("vllm") + [rule["expr"] for rule in alerts()]
    return {name for expression in asked for name in SERIES.findall(expression)}


def alerts() -> list[dict[str, Any]]:
    [group] = read(DEPLOY / "monitoring/alerts.yaml")["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


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
    services = services_of(name)
    local = {"secrets", "models"}  # the administrator's
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith("."):
                assert Path(source).name in local or (folder / source).exists(), volume
            else:
                assert source in compose["volumes"]


@pytest.mark.parametrize("name", ALLOWED)
def test_nginx_asks_servers_of_the_compose_file(name: str) -> None:
    """Braces are balanced, and each upstream server is a service."""
    text = nginx(name)
    assert text.count("{") == text.count("}")
    services = services_of(name)
    asked = re.findall(r"^\s*server ([\w-]+):\d+", text, re.MULTILINE)
    assert asked
    assert set(asked) <= set(services)
    assert "proxy_buffering off;" in text  # a stream comes piece by piece


@pytest.mark.parametrize("name", ALLOWED)
def test_nginx_passes_on_the_requests_of_an_editor_and_no_other(name: str) -> None:
    """One place asks a server, for a path out of a table; what is not in the table is 404."""
    text = nginx(name)
    table = re.search(r'map "\$request_method \$request_uri" \$path \{(.*?)\}', text, re.DOTALL)
    assert table is not None
    rows = [line.split(maxsplit=2) for line in table[1].split(";") if line.strip()]
    assert {" ".join(row) for row in rows if row[0] != "default"} == {
        f'"~^{request}$" {request.partition(" ")[2]}' for request in ALLOWED[name]
    }
    assert ["default", '""'] in rows
    assert re.findall(r"\bproxy_pass [^;]+", text) == ["proxy_pass http://servers$path"]
    counts, _, rest = text.partition("listen 8080;")[2].partition("listen 443 ssl;")
    assert re.findall(r"\blocation [^}]+", counts) == [
        "location = /stub_status { stub_status; ", "location / { return 404; ",
    ]  # fmt: skip
    assert re.findall(r"\blocation [^{]+", rest) == ["location / "]
    assert re.search(
        r'if \(\$path = ""\) \{ return 404; \}\s+if \(\$key = ""\) \{ return 401; \}', text
    )
    assert not re.search(
        r"\b(rewrite|alias|root|try_files|error_page|include (?!/run/(keys|members)))\b", text
    )


@pytest.mark.parametrize("name", ALLOWED)
def test_nginx_wants_tls_and_a_key(name: str) -> None:
    """It listens nowhere else; the key is that of a file, and is neither sent on nor logged."""
    text = nginx(name)
    assert re.findall(r"\blisten [^;]+", text) == ["listen 8080", "listen 443 ssl"]
    assert "ssl_protocols TLSv1.2 TLSv1.3;" in text
    assert re.search(
        r'map \$http_authorization \$key \{\s+include /run/keys.conf;\s+default "";', text
    )
    assert "proxy_pass_request_headers off;" in text
    assert "proxy_set_header Authorization $key;" in text
    for table in ("$key", "$member"):
        text = text.replace(f"map $http_authorization {table}", "")
    assert "$http_authorization" not in text
    [logged] = re.findall(r"log_format ([^;]+);", text)
    assert {*re.findall(r"\$\w+", logged)} == {
        "$time_iso8601", "$member", "$path", "$status", "$request_time", "$bytes_sent",
    }  # fmt: skip
    assert re.findall(r"access_log [^;]+", text) == [
        "access_log off",
        "access_log /dev/stdout members",
    ]


@pytest.mark.parametrize("name", ALLOWED)
def test_only_nginx_is_reached_from_other_machines(name: str) -> None:
    """The rest publishes no port, and lives in networks that have no way out and none in."""
    services = services_of(name)
    networks = read(DEPLOY / name / "compose.yaml")["networks"]
    published = {
        each: service.get("ports") for each, service in services.items() if "ports" in service
    }
    assert published.pop("tls") == ["443:443"]
    assert published == {"grafana": ["127.0.0.1:3000:3000"]}
    inside = {each for each, network in networks.items() if network}
    for each in inside:
        assert networks[each]["internal"]
        assert ISOLATED.items() <= networks[each]["driver_opts"].items()
    outside = {each for each, service in services.items() if {*service["networks"]} - inside}
    assert outside == {"tls", "grafana", "download"} & {*services}
    assert not any("network_mode" in service for service in services.values())


def test_nginx_alone_reaches_the_router() -> None:
    """It listens on an address of the network that the two share, and no other part is there."""
    compose = read(DEPLOY / "vllm/compose.yaml")
    services = services_of("vllm")
    assert {each for each, service in services.items() if "front" in service["networks"]} == {
        "tls",
        "router",
    }
    words = services["router"]["command"].split()
    address = services["router"]["networks"]["front"]["ipv4_address"]
    assert words[words.index("--host") + 1] == address
    counts = services["router"]["networks"]["back"]["ipv4_address"]
    assert words[words.index("--prometheus-host") + 1] == counts
    for each, network in (("tls", "front"), ("router", "front"), ("router", "back")):
        [subnet] = compose["networks"][network]["ipam"]["config"]
        at = ip_address(services[each]["networks"][network]["ipv4_address"])
        assert at in ip_network(subnet["subnet"])


def test_helm_lets_nginx_alone_reach_the_router() -> None:
    """No ingress; a policy for each kind of pod; nginx with the files of the Compose deployment."""
    values = read(DEPLOY / "vllm/values.yaml")
    assert not values["routerSpec"]["ingress"]["enabled"]
    objects = {(each["kind"], each["metadata"]["name"]): each for each in values["extraObjects"]}
    [pod] = [
        each["spec"]["template"] for (kind, _), each in objects.items() if kind == "Deployment"
    ]
    [rule] = objects["NetworkPolicy", "fim-router"]["spec"]["ingress"]
    [who] = rule["from"]
    assert who == {"podSelector": {"matchLabels": pod["metadata"]["labels"]}}
    router = objects["Service", "router"]["spec"]["selector"]
    assert objects["NetworkPolicy", "fim-router"]["spec"]["podSelector"] == {"matchLabels": router}
    [rule] = objects["NetworkPolicy", "fim-replicas"]["spec"]["ingress"]
    assert {"podSelector": {"matchLabels": router}} in rule["from"]
    open_to_all = [each["spec"] for each in objects.values() if each.get("spec", {}).get("type")]
    assert [(each["selector"], each["ports"]) for each in open_to_all] == [
        (pod["metadata"]["labels"], [{"port": 443}])
    ]
    container, _ = pod["spec"]["containers"]
    compose = services_of("vllm")["tls"]
    assert container["image"] == compose["image"]
    assert {each["mountPath"] for each in container["volumeMounts"]} == {
        *(volume.split(":")[1] for volume in compose["volumes"]),
        *compose["tmpfs"],
    }


def test_helm_deploys_and_upgrades_on_the_gpus_there_are() -> None:
    """
    Findings of an operator, each a row: one claim for replicas on many nodes, no surge, nothing `latest`, no report
    and no way out, no resource of an operator that may be missing, no key beside a right to patch, keys that arrive.
    """
    text = (DEPLOY / "vllm/values.yaml").read_text("utf-8")
    values = yaml.safe_load(text)
    engine = values["servingEngineSpec"]
    router = values["routerSpec"]
    [spec] = engine["modelSpec"]
    assert spec["replicaCount"] == 1 or spec["pvcAccessMode"] == ["ReadWriteMany"]
    assert engine["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}
    images = [*re.findall(r"image: (\S+)", text), f"{router['repository']}:{router['tag']}"]
    images.append(f"{spec['repository']}:{spec['tag']}")
    assert len(images) == 5
    assert not [image for image in images if not re.search(r":v?\d", image)]
    assert re.search(r"helm install .* --version \d+\.\d+\.\d+ ", text)
    assert {"name": "VLLM_NO_USAGE_STATS", "value": "1"} in spec["env"]
    objects = {(each["kind"], each["metadata"]["name"]): each for each in values["extraObjects"]}
    replicas = objects["NetworkPolicy", "fim-replicas"]["spec"]
    assert "Egress" in replicas["policyTypes"]
    assert "egress" not in replicas
    [job] = [each for (kind, _), each in objects.items() if kind == "Job"]
    assert spec["modelURL"] in job["spec"]["template"]["spec"]["containers"][0]["command"]
    assert not engine["serviceMonitor"]["enabled"]
    assert not router["serviceMonitor"]["enabled"]
    assert "monitoring.coreos.com" not in text
    [rule] = objects["Role", router["serviceAccountName"]]["rules"]
    assert rule == {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "watch", "list"]}
    container, _ = objects["Deployment", "fim-edge"]["spec"]["template"]["spec"]["containers"]
    secret = [each for each in container["volumeMounts"] if each["name"] == "secrets"]
    assert secret == [{"name": "secrets", "mountPath": "/secrets"}]


def test_helm_counts_what_nginx_does() -> None:
    """By the exporter of the Compose deployment, in nginx's pod; only Prometheus reaches it, and no part nginx's own counts."""
    objects = {
        (each["kind"], each["metadata"]["name"]): each["spec"]
        for each in read(DEPLOY / "vllm/values.yaml")["extraObjects"]
        if "spec" in each
    }
    nginx, exporter = objects["Deployment", "fim-edge"]["template"]["spec"]["containers"]
    compose = services_of("vllm")["nginx-exporter"]
    assert exporter["image"] == compose["image"]
    assert exporter["args"] == [compose["command"][0].replace("//tls:", "//127.0.0.1:")]
    public, counts = objects["NetworkPolicy", "fim-edge"]["ingress"]
    assert public == {"ports": [{"port": port["containerPort"]} for port in nginx["ports"]]}
    assert counts["ports"] == [{"port": port["containerPort"]} for port in exporter["ports"]]
    replicas = objects["NetworkPolicy", "fim-replicas"]["ingress"][0]["from"]
    assert counts["from"] == [each for each in replicas if "namespaceSelector" in each]


@pytest.mark.parametrize("name", ALLOWED)
def test_no_key_is_in_an_argument(name: str) -> None:
    """Nor in the file itself: they come from keys.txt and from .env, which must be there."""
    services = services_of(name)
    for service in services.values():
        assert "KEY" not in str(service.get("command"))
        for variable, value in service.get("environment", {}).items():
            assert not variable.endswith("_KEY") or value in KEYS_OF_ENV
    assert "SERVER_KEY" in services["tls"]["environment"]


def test_replicas_say_what_they_reused() -> None:
    """However vLLM is started: with prefix caching, and with the counts that the client shows."""
    compose = read(DEPLOY / "vllm/compose.yaml")
    helm = read(DEPLOY / "vllm/values.yaml")["servingEngineSpec"]["modelSpec"][0]["vllmConfig"]
    for flags in (compose["x-vllm"]["command"], helm["extraArgs"]):
        assert "--enable-prompt-tokens-details" in flags
    assert "--enable-prefix-caching" in compose["x-vllm"]["command"]
    assert helm["enablePrefixCaching"]


@pytest.mark.parametrize(("name", "config"), [("vllm", "vllm"), ("llama.cpp", "llama")])
def test_prometheus_watches_every_part(name: str, config: str) -> None:
    """Replicas, router and nginx by the services' names, and the certificate that nginx shows."""
    services = services_of(name)
    volume = f"../monitoring/{config}.yaml:/etc/prometheus/prometheus.yml:ro"
    assert volume in services["prometheus"]["volumes"]
    jobs = {
        job["job_name"]: [
            target.partition(":")[0] for one in job["static_configs"] for target in one["targets"]
        ]
        for job in read(MONITORING / f"{config}.yaml")["scrape_configs"]
    }
    assert jobs.pop("nginx") == ["nginx-exporter"]
    assert jobs.pop("certificate") == ["blackbox"]
    assert {*chain(*jobs.values())} == {
        each for each in services if each.startswith(("vllm-", "llama-", "router"))
    }
    watch = {each for each, service in services.items() if "watch" in service["networks"]}
    assert watch == {"tls", "prometheus", "nginx-exporter", "blackbox", "grafana"}


@pytest.mark.parametrize("config", ["vllm", "llama"])
def test_prometheus_reads_the_alerts(config: str) -> None:
    """Each says for how long, and what to do; those of vLLM ask for series of its dashboard."""
    [file] = read(MONITORING / f"{config}.yaml")["rule_files"]
    prometheus = read(MONITORING / "compose.yaml")["services"]["prometheus"]
    assert f"./alerts.yaml:{file}:ro" in prometheus["volumes"]
    assert all(rule["for"] and rule["annotations"]["summary"] for rule in alerts())
    asked = {name for rule in alerts() for name in SERIES.findall(rule["expr"])}
    assert asked <= set(SERIES.findall(BOARDS["vllm"].read_text("utf-8")))


def test_the_dashboards_are_what_the_script_makes() -> None:
    """And every panel asks for series."""
    before = {path: path.read_bytes() for path in BOARDS.values()}
    try:
        subprocess.run([sys.executable, str(ROOT / "scripts/tools/make-dashboard")], check=True)
        assert {path: path.read_bytes() for path in before} == before
    finally:
        for path, content in before.items():
            path.write_bytes(content)
    assert {*BOARDS} == {"vllm", "llama", "router", "nginx"}
    assert "vllm:prompt_tokens_cached_total" in series()


def test_the_page_and_the_files_name_the_same_settings() -> None:
    """`headers` and `body` exist; the header is the one that the files read."""
    page = (ROOT / "docs/scaling.md").read_text("utf-8")
    assert {"headers", "body"} <= set(BackendConfig.__dataclass_fields__)
    assert read(DEPLOY / "vllm/values.yaml")["routerSpec"]["sessionKey"].title() == "X-Session-Id"
    assert "$http_x_session_id" in (DEPLOY / "llama.cpp/nginx.conf").read_text("utf-8")
    assert 'headers = { X-Session-ID = "{session}" }' in page
