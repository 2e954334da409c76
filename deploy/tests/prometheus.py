"""
A real Prometheus and its exporters on loopback, with a configuration of deploy/monitoring/ and other addresses.

    with prometheus("llama", {"llama-0:8012": address}, folder) as watched: watched.ask("up")
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from deploy.tests.test_deploy import MONITORING, read
from tests.llama_server import free_port

PROGRAMS = os.environ.get("FIM_TEST_PROMETHEUS", "")  # the folder where they lie
START_S = 30.0
RATE = "20s"  # the interval that Grafana would choose; it looks each second here


@dataclass(frozen=True)
class Watched:
    """A Prometheus at *url*."""

    url: str

    def ask(self, expression: str) -> list[float]:
        """Return the values of *expression* now, one for each of its series."""
        query = urllib.parse.quote(expression.replace("$__rate_interval", RATE))
        result = self._get(f"/api/v1/query?query={query}")["result"]
        return [float(each["value"][1]) for each in result]

    def rules(self) -> dict[str, tuple[str, str]]:
        """Return the state and the health of each alert."""
        [group] = self._get("/api/v1/rules")["groups"]
        return {rule["name"]: (rule["state"], rule["health"]) for rule in group["rules"]}

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self.url + path, timeout=START_S) as answer:
            return json.load(answer)["data"]


@contextmanager
def prometheus(name: str, addresses: Mapping[str, str], folder: Path) -> Iterator[Watched]:
    """Watch with the configuration *name*, what is not in *addresses* left out, until the block ends."""
    config = read(MONITORING / f"{name}.yaml")
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(MONITORING / "alerts.yaml")]
    for job in config["scrape_configs"]:
        [one] = job["static_configs"]
        one["targets"] = [addresses[each] for each in one["targets"] if each in addresses]
        if "authorization" in job:
            job["authorization"]["credentials_file"] = str(folder / "server_key")
        if "params" in job:
            job["params"]["target"] = [addresses[each] for each in job["params"]["target"]]
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config), "utf-8")
    port = free_port()
    options = [f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data"]
    with program("prometheus", port, *options):
        yield Watched(f"http://127.0.0.1:{port}")


@contextmanager
def program(name: str, port: int, *options: str) -> Iterator[str]:
    """Run one of Prometheus' programs until the block ends; yields its address."""
    address = f"127.0.0.1:{port}"
    command = [f"{PROGRAMS}/{name}", f"--web.listen-address={address}", *options]
    null = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=null, stderr=null) as process:
        try:
            deadline = time.monotonic() + START_S
            while time.monotonic() < deadline and process.poll() is None:
                with suppress(OSError):
                    urllib.request.urlopen(f"http://{address}/metrics", timeout=1).close()
                    break
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()
