"""The images and the cluster of containers, as far as can be told without an engine."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from processes import ROOT, finish, start

yaml = pytest.importorskip("yaml", reason="PyYAML is in the extra 'test'")

DOCKERFILE = ROOT / "docker/Dockerfile"
LIMIT = 200


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile and what they are given."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line[:1] != "#"]
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    pairs = [line.split(maxsplit=1) for line in text.splitlines() if line]
    return [(name, given) for name, given in pairs]


def all_of(name: str) -> list[str]:
    return [given for found, given in instructions() if found == name]


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is in the extra 'site'")
    found = subprocess.run(
        [hadolint, DOCKERFILE], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "")


def test_what_is_installed_is_pinned_to_versions_that_will_do() -> None:
    pins = {}
    for line in (ROOT / "docker/constraints.txt").read_text().splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            pins[requirement.name] = str(requirement.specifier).removeprefix("==")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (install, *_) = [run for run in all_of("RUN") if "pip install" in run]
    extras = re.findall(r"\[(.*)\]", install)[0].split(",")
    needed = [*project["dependencies"], *project["optional-dependencies"]["cuda"]]
    for extra in extras:
        needed += project["optional-dependencies"][extra]
    for requirement in map(Requirement, needed):
        assert requirement.specifier.contains(pins[requirement.name]), requirement


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    allowed = (ROOT / ".dockerignore").read_text().split()
    for given in all_of("COPY"):
        if not given.startswith("--from"):
            words = [word for word in given.split() if not word.startswith("--")]
            for source in words[:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source.split('/')[0]}" in allowed


def test_the_cluster_is_consistent() -> None:
    cluster = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
    services = cluster["services"]
    nodes = (ROOT / "docker/hosts").read_text().split()
    assert set(services) == {*nodes, "job", "serve"}
    assert all(services[node]["hostname"] == node for node in nodes)
    assert set(services["job"]["depends_on"]) == set(nodes)
    stages = [given.split()[-1] for given in all_of("FROM")]
    for service in services.values():
        build = service["build"]
        assert (ROOT / "docker" / build["context"]).resolve() == ROOT
        assert (ROOT / build["dockerfile"]) == DOCKERFILE
        assert build["target"] in stages
        volumes = {volume.split(":")[0] for volume in service["volumes"]}
        assert volumes == set(cluster["volumes"])
        command = service["command"]
        words = command.split() if isinstance(command, str) else command
        scripts = [word for word in words if word.endswith(".sh")]
        assert scripts
        assert all((ROOT / script).exists() for script in scripts)
    # Among the nodes, the scripts and the health check meet at one port and key.
    settings = dict(
        line.split()
        for line in (ROOT / "docker/ssh_config").read_text().splitlines()
        if line.startswith(" ")
    )
    node = (ROOT / "docker/node.sh").read_text()
    assert re.findall(r"sshd .* -p (\d+)", node) == [settings["Port"]]
    assert re.findall(r"^key=(\S+)", node, re.M) == [settings["IdentityFile"]]


def do(*command: object, where: Path = ROOT) -> None:
    subprocess.run(list(map(str, command)), cwd=where, check=True, timeout=LIMIT)


def copy_for_the_build(target: Path) -> None:
    """Copy what the first stage of the Dockerfile copies."""
    stage = DOCKERFILE.read_text().split("FROM")[1]
    for names in re.findall(r"^COPY (.+) \S+$", stage, re.MULTILINE):
        for name in names.split():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / name, target / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, target / name)


def test_the_steps_of_the_first_stage_replayed(tmp_path: Path) -> None:
    """In a fresh environment, and by way of a source archive."""
    source, prefix = tmp_path / "source", tmp_path / "venv"
    copy_for_the_build(source)
    do(sys.executable, "-m", "venv", prefix)
    pip = (prefix / "bin/python", "-m", "pip", "--disable-pip-version-check")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    do(*pip, "install", "-q", *needed["requires"])
    make = "import setuptools.build_meta as build; build.build_sdist('..')"
    do(prefix / "bin/python", "-c", make, where=source)
    (archive,) = tmp_path.glob("mndmst-*.tar.gz")
    (install, *_) = [run for run in all_of("RUN") if "pip install" in run]
    extras = re.findall(r"\[.*\]", install)[0]
    pins = source / "docker/constraints.txt"
    do(*pip, "install", "-q", "-c", pins, f"{archive}{extras}")

    kernels = "**/cuda/kernels/*.cu"
    (package,) = prefix.glob("lib/python*/site-packages/mndmst")
    installed = {path.name for path in package.glob(kernels)}
    assert installed == {path.name for path in (ROOT / "mndmst").glob(kernels)}
    command = [f"{prefix}/bin/mpirun", "-n", "2", f"{prefix}/bin/mndmst", "info"]
    run = finish(start(command, PYTHONPATH=""), LIMIT)
    assert run.returncode == 0, run
    assert len(re.findall(r"^rank [01] .*$", run.stdout, re.MULTILINE)) == 2
