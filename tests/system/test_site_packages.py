"""Package recipes for clusters, checked by the tools that read them."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from processes import ROOT

from mndmst.cli.main import parse

PACKAGES = ROOT / "launch/packages"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REQUIRED = {r.name: r for r in map(Requirement, PROJECT["dependencies"])}


def least(requirement: Requirement) -> Version:
    return Version(next(iter(requirement.specifier)).version)


def test_versions_agree_with_the_project() -> None:
    version = PROJECT["version"]
    assert (PACKAGES / "modulefiles/mndmst" / version).is_file()
    for name in ("spack/package.py", "conda/recipe.yaml"):
        assert f'"{version}"' in (PACKAGES / name).read_text()
    (easyconfig,) = (PACKAGES / "easybuild").glob("*.eb")
    assert easyconfig.name.startswith(f"mndmst-{version}-")


def spack_dependencies() -> Iterator[tuple[str, Version]]:
    """Yield name and least version of each `depends_on` of the package."""
    tree = ast.parse((PACKAGES / "spack/package.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "depends_on":
            spec = ast.literal_eval(node.args[0])
            name, least_version = re.fullmatch(r"([\w-]+)@([\d.]+):.*", spec).groups()
            yield name.removeprefix("py-"), Version(least_version)


def test_spack_depends_on_what_the_project_requires() -> None:
    found = dict(spack_dependencies())
    for name, requirement in REQUIRED.items():
        assert found[name] == least(requirement)
    optional = PROJECT["optional-dependencies"]
    for requirement in map(Requirement, [*optional["formats"], *optional["plot"]]):
        assert found[requirement.name] == least(requirement)


# EasyBuild itself reads and validates the file; a tool for modules is not needed.
READ_EASYCONFIG = """
import sys
from easybuild.tools.options import set_up_configuration
set_up_configuration(args=[], silent=True)
from easybuild.framework.easyconfig import easyconfig
from easybuild.tools.modules import NoModulesTool
easyconfig.modules_tool = lambda: NoModulesTool(testing=True)
config = easyconfig.EasyConfig(sys.argv[1])
print(config.name, config.version, config["easyblock"])
for needed in config.dependencies():
    print("needs", needed["name"], needed["version"])
"""


def test_easybuild_reads_the_easyconfig(tmp_path: Path) -> None:
    pytest.importorskip(
        "easybuild.framework", reason="EasyBuild is in the extra 'site'"
    )
    (easyconfig,) = (PACKAGES / "easybuild").glob("*.eb")
    done = subprocess.run(
        [sys.executable, "-c", READ_EASYCONFIG, str(easyconfig)], cwd=tmp_path,
        capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {
            "HOME": str(tmp_path), "EASYBUILD_PREFIX": str(tmp_path),
            # Parsing builds and installs nothing.
            "EASYBUILD_ALLOW_USE_AS_ROOT_AND_ACCEPT_CONSEQUENCES": "1",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mndmst 1.0.0 PythonPackage" in done.stdout
    needs = dict(re.findall(r"needs (\S+) (\S+)", done.stdout))
    for name in ("numba", "h5py", "mpi4py"):
        assert Version(needs[name]) >= least(REQUIRED[name])


def test_rattler_build_renders_the_conda_recipe() -> None:
    rattler = pytest.importorskip(
        "rattler_build", reason="rattler-build is in the extra 'site'"
    )
    recipe = rattler.Stage0Recipe.from_file(str(PACKAGES / "conda/recipe.yaml"))
    (variant,) = recipe.render()
    package = variant.recipe.to_dict()
    assert package["package"]["name"] == "mndmst"
    (script,) = package["build"]["python"]["entry_points"]
    assert script == f"mndmst = {PROJECT['scripts']['mndmst']}"
    run = [Requirement(str(item)) for item in package["requirements"]["run"]]
    found = {requirement.name: least(requirement) for requirement in run}
    assert found.pop("python") == Version("3.11")
    assert found == {name: least(required) for name, required in REQUIRED.items()}


UNIT = PACKAGES / "systemd/mndmst@.service"


def test_systemd_accepts_the_unit_file(tmp_path: Path) -> None:
    if (verify := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd-analyze reads unit files, and is not installed")
    unit = shutil.copyfile(UNIT, tmp_path / "mndmst@city.service")
    done = subprocess.run(
        [verify, "verify", unit], capture_output=True, text=True, timeout=100,
        check=False,
    )  # fmt: skip
    # It ignores a setting that it does not know, and says so
    said = [line for line in done.stderr.splitlines() if "mndmst@" in line]
    assert (done.returncode, said) == (0, [])


def test_the_unit_file_starts_a_command_that_exists(tmp_path: Path) -> None:
    text = UNIT.read_text().replace("\\\n", " ")
    (start,) = re.findall(r"^ExecStart=(.*)$", text, re.M)
    for name, value in re.findall(r"^Environment=(\w+)=(.*)$", text, re.M):
        start = start.replace(f"${{{name}}}", value).replace(f"${name}", value)
    for specifier, value in {"%i": "city", "%S": "/var/lib", "%t": "/run"}.items():
        start = start.replace(specifier, value)
    shell, script, ranks, *words = start.split()
    assert shell == "/bin/bash" and int(ranks) == 2
    assert (ROOT / Path(script).relative_to("/opt/mndmst")).is_file()
    arguments = parse(words)
    assert arguments.graphs == ["city=/srv/mndmst/city"]
    assert arguments.journal == Path("/var/lib/mndmst/city/journal")


def test_the_module_file_sets_paths() -> None:
    tclsh = shutil.which("tclsh")
    if tclsh is None:
        pytest.skip("tclsh is not installed")
    commands = ("module-whatis", "conflict", "prepend-path", "setenv")
    stubs = "".join(
        f"proc {name} args {{puts [join [linsert $args 0 {name}] |]}}\n"
        for name in commands
    )
    file = PACKAGES / "modulefiles/mndmst" / PROJECT["version"]
    assert file.read_text().startswith("#%Module1.0\n")
    done = subprocess.run(
        [tclsh], input=f"{stubs}source {file}\n", capture_output=True, text=True,
        timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        "conflict|mndmst",
        "prepend-path|PATH|/opt/mndmst/.venv/bin",
        "setenv|MNDMST_KERNELS|/opt/mndmst/kernels",
    ]


@pytest.mark.mpi
def test_reframe_runs_the_demo(tmp_path: Path) -> None:
    pytest.importorskip("reframe", reason="ReFrame is in the extra 'site'")
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [Path(sys.executable).with_name("reframe"), "--prefix", str(tmp_path),
         "-C", str(PACKAGES / "reframe/settings.py"),
         "-c", str(PACKAGES / "reframe/demo.py"), "-r"],
        cwd=tmp_path, capture_output=True, text=True, timeout=280, check=False,
        env=os.environ | {"PATH": search, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Ran 2/2 test case\(s\).*0 failure", done.stdout), done.stdout
