"""
What deploy/vllm/values.yaml makes of vLLM production-stack's chart, rendered by Helm's own library.

Each row is a finding of an operator that our values mend. The chart is
in no package registry: FIM_TEST_CHART names its folder (`helm pull vllm/vllm-stack --version 0.1.12 --untar`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.tests.test_deploy import DEPLOY, read

PYTHON = os.environ.get("FIM_TEST_HELM", "")
CHART = os.environ.get("FIM_TEST_CHART", "")
pytestmark = [
    pytest.mark.edge,
    pytest.mark.skipif(not (PYTHON and CHART), reason="needs the chart: FIM_TEST_CHART"),
]
VALUES = DEPLOY / "vllm/values.yaml"
KINDS_OF_KUBERNETES = {"v1", "apps/v1", "batch/v1", "networking.k8s.io/v1", "policy/v1",
                       "rbac.authorization.k8s.io/v1"}  # fmt: skip
Objects = list[dict[str, Any]]


def render(values: dict[str, Any]) -> Objects:
    command = [PYTHON, str(Path(__file__).parent / "render.py"), CHART]
    done = subprocess.run(
        command, input=json.dumps(values), stdout=subprocess.PIPE, text=True, check=True
    )
    return [each for each in yaml.safe_load_all(done.stdout) if each]


@pytest.fixture(scope="module")
def objects() -> Objects:
    return render(read(VALUES))


def of_kind(objects: Objects, kind: str) -> Objects:
    return [each for each in objects if each["kind"] == kind]


def pods(objects: Objects) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each workload with the template of its pods."""
    for each in objects:
        if template := each.get("spec", {}).get("template"):
            yield each, template


def containers(objects: Objects) -> Objects:
    return [each for _, pod in pods(objects) for each in pod["spec"]["containers"]]


def engine(objects: Objects) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the workload that needs GPUs, and its pods."""
    [found] = [(one, pod) for one, pod in pods(objects) if "nvidia.com/gpu" in str(pod)]
    return found


def selects(selector: dict[str, str], pod: dict[str, Any]) -> bool:
    return selector.items() <= pod.get("metadata", {}).get("labels", {}).items()


def environment(container: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each for each in container.get("env", ())}


def claims_can_be_mounted_by_all_replicas(objects: Objects) -> bool:
    modes = {
        claim["metadata"]["name"]: claim["spec"]["accessModes"]
        for claim in of_kind(objects, "PersistentVolumeClaim")
    }
    used = {
        volume["persistentVolumeClaim"]["claimName"]
        for one, pod in pods(objects)
        if one["spec"].get("replicas", 1) > 1
        for volume in pod["spec"].get("volumes", ())
        if "persistentVolumeClaim" in volume
    }
    return all(modes[name] == ["ReadWriteMany"] for name in used)


def an_upgrade_needs_no_more_gpus(objects: Objects) -> bool:
    update = engine(objects)[0]["spec"]["strategy"]["rollingUpdate"]
    return bool(update == {"maxSurge": 0, "maxUnavailable": 1})


def every_image_is_pinned(objects: Objects) -> bool:
    return all(
        re.search(r":v?\d", each["image"]) and each.get("imagePullPolicy") != "Always"
        for each in containers(objects)
    )


def no_pod_with_the_key_may_change_pods(objects: Objects) -> bool:
    with_key = {
        pod["spec"].get("serviceAccountName", "default")
        for _, pod in pods(objects)
        if any("API_KEY" in str(environment(each)) for each in pod["spec"]["containers"])
    }
    roles = {each["metadata"]["name"]: each["rules"] for each in of_kind(objects, "Role")}
    granted = {
        verb
        for binding in of_kind(objects, "RoleBinding")
        if {each["name"] for each in binding["subjects"]} & with_key
        for rule in roles[binding["roleRef"]["name"]]
        for verb in rule["verbs"]
    }
    return granted <= {"get", "watch", "list"}


def replicas_report_no_usage(objects: Objects) -> bool:
    [container] = engine(objects)[1]["spec"]["containers"]
    return environment(container).get("VLLM_NO_USAGE_STATS", {}).get("value") == "1"


def no_pod_with_code_has_a_way_out(objects: Objects) -> bool:
    """The replicas none, nginx and the router only to what they need."""
    policies = [each["spec"] for each in of_kind(objects, "NetworkPolicy")]
    return all(
        any(
            "Egress" in policy["policyTypes"] and selects(policy["podSelector"]["matchLabels"], pod)
            for policy in policies
        )
        for one, pod in pods(objects)
        if one["kind"] == "Deployment"
    )


def kubernetes_alone_knows_every_kind(objects: Objects) -> bool:
    return {each["apiVersion"] for each in objects} <= KINDS_OF_KUBERNETES


def the_runtime_is_named_among_what_is_needed(objects: Objects) -> bool:
    runtimes = {pod["spec"].get("runtimeClassName") for _, pod in pods(objects)} - {None}
    return all(f"the RuntimeClass {name}" in VALUES.read_text("utf-8") for name in runtimes)


def the_download_does_not_stop_an_upgrade(objects: Objects) -> bool:
    """A finished job cannot be changed, so it must be gone by then."""
    return all("ttlSecondsAfterFinished" in each["spec"] for each in of_kind(objects, "Job"))


def a_changed_key_reaches_its_pod(objects: Objects) -> bool:
    [edge] = [pod for one, pod in pods(objects) if one["metadata"]["name"] == "fim-edge"]
    container, _ = edge["spec"]["containers"]
    [mount] = [each for each in container["volumeMounts"] if each["name"] == "secrets"]
    return "subPath" not in mount


@pytest.mark.parametrize(
    "holds",
    [
        claims_can_be_mounted_by_all_replicas, an_upgrade_needs_no_more_gpus,
        every_image_is_pinned, no_pod_with_the_key_may_change_pods, replicas_report_no_usage,
        no_pod_with_code_has_a_way_out, kubernetes_alone_knows_every_kind,
        the_runtime_is_named_among_what_is_needed, the_download_does_not_stop_an_upgrade,
        a_changed_key_reaches_its_pod,
    ],
)  # fmt: skip
def test_a_finding_is_mended(holds: Callable[[Objects], bool], objects: Objects) -> None:
    """Each is one of an operator, of the chart's own defaults."""
    assert holds(objects)


def test_selectors_find_the_pods_of_the_chart(objects: Objects) -> None:
    """Every Service and every network policy of ours selects pods that are rendered."""
    ours = [
        each["spec"].get("selector") or each["spec"]["podSelector"]["matchLabels"]
        for each in objects
        if each["kind"] in ("Service", "NetworkPolicy")
    ]
    assert all(any(selects(labels, pod) for _, pod in pods(objects)) for labels in ours)


def test_the_router_keeps_a_session_on_its_replica(objects: Objects) -> None:
    """By the header that nginx passes on, and replicas are found by their labels."""
    [router] = [each for each in containers(objects) if each["name"] == "router-container"]
    words = router["args"]
    assert words[words.index("--routing-logic") + 1] == "session"
    assert words[words.index("--session-key") + 1] == "x-session-id"
    labels = dict(
        pair.split("=") for pair in words[words.index("--k8s-label-selector") + 1].split(",")
    )
    assert selects(labels, engine(objects)[1])


def test_the_chart_is_of_the_version_that_the_values_name() -> None:
    """Another one may have other templates."""
    chart = yaml.safe_load((Path(CHART) / "Chart.yaml").read_text("utf-8"))
    assert f"--version {chart['version']} " in VALUES.read_text("utf-8")
