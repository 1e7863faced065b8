"""The manifest of the service: valid by its schema, with options that `serve` takes."""

import copy
from typing import Any

import pytest
from processes import ROOT

from mndmst.cli.main import parser

yaml = pytest.importorskip("yaml", reason="PyYAML is in the extra 'dev'")
kubernetes_validate = pytest.importorskip(
    "kubernetes_validate", reason="needs kubernetes-validate"
)
MANIFEST = ROOT / "docker/kubernetes/service.yaml"


def resources() -> dict[str, dict[str, Any]]:
    found = yaml.safe_load_all(MANIFEST.read_text())
    return {resource["kind"]: resource for resource in found}


def validate(resource: dict[str, Any]) -> None:
    version = kubernetes_validate.latest_version()
    kubernetes_validate.validate(resource, version, strict=True)


def test_each_resource_is_valid() -> None:
    assert set(resources()) == {"Service", "StatefulSet"}
    for resource in resources().values():
        validate(resource)


def test_an_unknown_field_is_not_valid() -> None:
    wrong = copy.deepcopy(resources()["StatefulSet"])
    wrong["spec"]["template"]["spec"]["containers"][0]["comand"] = ["bash"]
    with pytest.raises(kubernetes_validate.ValidationError):
        validate(wrong)


def test_the_pod_runs_a_service_with_token_and_tls() -> None:
    pod = resources()["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    shell, script, ranks, *command = container["command"] + container["args"]
    assert shell == "bash" and (ROOT / script).exists() and int(ranks) >= 1
    options = parser().parse_args(command)
    port = container["ports"][0]["containerPort"]
    assert options.listen.endswith(f":{port}")
    assert options.token_file and options.tls_cert and options.tls_key
    assert not options.insecure


def test_the_service_reaches_the_pod() -> None:
    service, pods = resources()["Service"]["spec"], resources()["StatefulSet"]["spec"]
    labels = pods["template"]["metadata"]["labels"]
    assert service["selector"].items() <= labels.items()
    names = {
        port["name"]
        for container in pods["template"]["spec"]["containers"]
        for port in container["ports"]
    }
    assert {port["targetPort"] for port in service["ports"]} <= names


def test_every_mounted_volume_is_declared() -> None:
    pods = resources()["StatefulSet"]["spec"]
    pod = pods["template"]["spec"]
    declared = {volume["name"] for volume in pod["volumes"]}
    declared |= {claim["metadata"]["name"] for claim in pods["volumeClaimTemplates"]}
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert {mount["name"] for mount in container["volumeMounts"]} <= declared
