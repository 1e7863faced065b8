"""The manifests of Kubernetes: valid by their schemas, with commands that exist."""

import copy
from typing import Any

import pytest
from processes import ROOT

from mndmst.cli.main import parser

yaml = pytest.importorskip("yaml", reason="PyYAML is in the extra 'test'")
kubernetes_validate = pytest.importorskip(
    "kubernetes_validate", reason="kubernetes-validate is in the extra 'site'"
)
jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
MANIFESTS = ROOT / "docker/kubernetes"
MPI_REPLICA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["template"],
    "properties": {
        "replicas": {"type": "integer", "minimum": 1},
        "restartPolicy": {"enum": ["Never", "OnFailure"]},
        "template": {"type": "object"},
    },
}
# MPIJobSpec of the MPI Operator's API v2beta1; Kubernetes itself has the pods' schema
MPI_JOB_SPEC = {
    "type": "object",
    "additionalProperties": False,
    "required": ["mpiReplicaSpecs"],
    "properties": {
        "slotsPerWorker": {"type": "integer", "minimum": 1},
        "sshAuthMountPath": {"type": "string"},
        "launcherCreationPolicy": {"enum": ["AtStartup", "WaitForWorkersReady"]},
        "mpiImplementation": {"enum": ["OpenMPI", "Intel", "MPICH"]},
        "runPolicy": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "cleanPodPolicy": {"enum": ["All", "Running", "None"]},
                "ttlSecondsAfterFinished": {"type": "integer"},
                "activeDeadlineSeconds": {"type": "integer"},
                "backoffLimit": {"type": "integer"},
                "schedulingPolicy": {"type": "object"},
                "suspend": {"type": "boolean"},
            },
        },
        "mpiReplicaSpecs": {
            "type": "object",
            "required": ["Launcher", "Worker"],
            "additionalProperties": False,
            "properties": {"Launcher": MPI_REPLICA, "Worker": MPI_REPLICA},
        },
    },
}


def resources(name: str = "service") -> dict[str, dict[str, Any]]:
    found = yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text())
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


def check_volumes(pod: dict[str, Any]) -> None:
    declared = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} == declared


def check_command(words: list[str]) -> None:
    """Check that the scripts of a command exist, and that mndmst takes its options."""
    assert all((ROOT / word).exists() for word in words if word.endswith(".sh"))
    assert parser().parse_args(words[words.index("solve") :]).outputs


def test_a_probe_asks_the_http_server_of_the_service() -> None:
    pod = resources()["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    (http,) = (word for word in container["args"] if word.startswith("--http="))
    probes = [
        container[f"{kind}Probe"] for kind in ("startup", "readiness", "liveness")
    ]
    asked = {probe["httpGet"]["path"] for probe in probes}
    assert asked == {"/readyz", "/healthz"}
    assert all(probe["httpGet"]["scheme"] == "HTTPS" for probe in probes)
    assert http.endswith(f":{ports['http']}")


def test_the_job_on_one_node_is_valid() -> None:
    (job,) = resources("job").values()
    validate(job)
    pod = job["spec"]["template"]["spec"]
    check_volumes(pod)
    (container,) = pod["containers"]
    check_command(container["command"] + container["args"])


def test_the_job_of_the_mpi_operator_is_valid() -> None:
    (job,) = resources("mpijob").values()
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v2beta1", "MPIJob")
    spec = job["spec"]
    jsonschema.validate(spec, MPI_JOB_SPEC)
    replicas = spec["mpiReplicaSpecs"]
    for replica in replicas.values():
        pod = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}}
        validate({**pod, "template": replica["template"]})
    check_volumes(replicas["Worker"]["template"]["spec"])
    (launcher,) = replicas["Launcher"]["template"]["spec"]["containers"]
    words = launcher["command"] + launcher["args"]
    check_command(words)
    ranks = replicas["Worker"]["replicas"] * spec["slotsPerWorker"]
    assert words[:3] == ["mpirun", "-n", str(ranks)]


def test_workers_listen_where_the_launcher_connects() -> None:
    (job,) = resources("mpijob").values()
    replicas, keys = job["spec"]["mpiReplicaSpecs"], job["spec"]["sshAuthMountPath"]
    (worker,) = replicas["Worker"]["template"]["spec"]["containers"]
    words, settings = worker["command"], (ROOT / "docker/ssh_config").read_text()
    port = words[words.index("-p") + 1]
    assert f"Port {port}\n" in settings
    assert worker["readinessProbe"]["tcpSocket"]["port"] == int(port)
    assert words[words.index("-h") + 1] == f"{keys}/id_rsa"
    assert f"-oAuthorizedKeysFile={keys}/authorized_keys" in words
    assert "IdentityFile ~/.ssh/id_rsa\n" in settings and keys.endswith("/.ssh")


@pytest.mark.parametrize("wrong", ["mpiimplementation", "workers"])
def test_an_unknown_field_of_the_job_is_not_valid(wrong: str) -> None:
    (job,) = resources("mpijob").values()
    with pytest.raises(jsonschema.ValidationError, match=wrong):
        jsonschema.validate({**job["spec"], wrong: 1}, MPI_JOB_SPEC)
