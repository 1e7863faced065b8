"""The scripts that start ranks, and what all ranks say before MPI has started."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import ROOT, finish, start

import mndmst

LIMIT = 150
GRAPH = ROOT / "partitions/demo"

pytestmark = pytest.mark.mpi


def script(name: str, *arguments: object) -> list[str]:
    return ["bash", str(ROOT / "launch" / name), *map(str, arguments)]


def test_one_machine(tmp_path: Path, demo_digest: str) -> None:
    forest = tmp_path / "forest.h5"
    command = script("mpirun.sh", 2, "solve", GRAPH, "-o", forest)
    run = finish(start(command, MNDMST_VENV=sys.prefix), LIMIT)
    assert run.returncode == 0, run
    assert run.result["digest"] == demo_digest
    assert forest.exists()


def test_a_host_file_without_hosts(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# none yet\n\n")
    command = script("hosts.sh", tmp_path / "hosts", 2, "info")
    run = finish(start(command, MNDMST_VENV=sys.prefix), LIMIT)
    assert run.returncode == 1
    assert "names no machine" in run.stderr


def test_a_host_file_that_is_missing(tmp_path: Path) -> None:
    command = script("hosts.sh", tmp_path / "nowhere", 2, "info")
    run = finish(start(command, MNDMST_VENV=sys.prefix), LIMIT)
    assert run.returncode == 1
    message = f"mndmst: error: {tmp_path}/nowhere is not a readable file"
    assert run.stderr.startswith(message)
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("mpirun.sh",), ("hosts.sh", "hosts")])
def test_the_number_of_ranks_is_missing(arguments: tuple) -> None:
    command = script(*arguments, "solve", "city")
    run = finish(start(command, MNDMST_VENV=sys.prefix), LIMIT)
    assert run.returncode == 1
    assert "'solve' is not a number of ranks" in run.stderr


RUNS = """#!/bin/sh
case "$1 $2" in "-m pip") ;; *) exec {python} "$@" ;; esac
"""


def test_the_demo_keeps_its_forest_where_it_says(
    tmp_path: Path, demo_digest: str
) -> None:
    for name in ("launch", "partitions", "pyproject.toml", "mndmst"):
        (tmp_path / name).symlink_to(ROOT / name)
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(RUNS.format(python=sys.executable))
    python.chmod(0o755)
    demo = ["bash", str(tmp_path / "launch" / "demo.sh")]
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    run = finish(start(demo, MNDMST_VENV=str(tmp_path / "venv"), PATH=search), LIMIT)
    assert run.returncode == 0, run
    last = run.stdout.split("The forest is in ")[1].splitlines()
    forest = Path(last[0].removesuffix(". Next:"))
    assert forest == tmp_path / "demo.forest.h5"
    assert mndmst.Forest.read(forest).digest == demo_digest
    assert [line.split()[:2] for line in last[2:]] == [
        ["mndmst", "convert"],
        ["mndmst", "partition"],
        ["less", "mndmst/docs/tutorial.md"],
    ]
    convert = f"cd {tmp_path} && {python} -m {last[2].strip()}"
    assert finish(start(["bash", "-c", convert]), LIMIT).returncode == 0
    assert (tmp_path / "demo.forest.csv").read_text().startswith("source,")


PYTHON = """#!/bin/sh
case $1 in -m) echo "$@" >>{log} ;; *) exec {python} "$@" ;; esac
"""


def test_an_extra_that_a_larger_one_has_is_not_installed_again(tmp_path: Path) -> None:
    log, python = tmp_path / "log", tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(PYTHON.format(log=log, python=sys.executable))
    python.chmod(0o755)
    for extra in ("test", "mpi", "dev", "test", "mpi", "cuda", "dev", "test", "cuda"):
        run = finish(start(script("venv.sh", extra), MNDMST_VENV=str(tmp_path)), LIMIT)
        assert (run.returncode, run.stdout) == (0, f"{tmp_path}\n"), run.stderr
    installed = [line.rpartition("[")[2] for line in log.read_text().splitlines()]
    assert installed == ["test]", "dev]", "cuda]"]


STARTERS = ["launch/mpirun.sh", "launch/hosts.sh", "launch/venv.sh"]
STARTERS += [f"slurm/{path.name}" for path in (ROOT / "slurm").glob("*.sbatch")]


@pytest.mark.parametrize("name", [*STARTERS, "slurm/test-cluster.sh"])
def test_scripts_without_arguments_say_what_they_take(name: str) -> None:
    run = finish(start(["bash", str(ROOT / name)]), LIMIT)
    assert run.returncode != 0
    assert "usage: " in run.stderr and name in run.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "slurm").glob("*.sbatch")))
def test_a_job_script_outside_slurm_says_how_to_submit_it(path: Path) -> None:
    run = finish(start(["bash", str(path), "a", "b", "c"]), LIMIT)
    assert run.returncode == 1
    assert "runs as a Slurm job" in run.stderr and "usage: sbatch" in run.stderr
    assert run.stderr.count("\n") == 1 and "unbound" not in run.stderr


def test_mpirun_prints_its_usage() -> None:
    run = finish(start(["bash", str(ROOT / "launch/mpirun.sh"), "--help"]), LIMIT)
    assert run.returncode == 0
    assert run.stdout.startswith("usage: bash launch/mpirun.sh RANKS COMMAND")


def test_info_tells_the_place_of_each_rank(mpirun: Callable) -> None:
    run = mpirun(3, "-m", "mndmst", "info")
    assert run.returncode == 0, run
    places = [line for line in run.stdout.splitlines() if line.startswith("rank ")]
    assert [line.split()[1] for line in places] == ["0", "1", "2"]
    assert all("cores" in line and "device" in line for line in places)
    assert run.stdout.count("mpi4py") == 1


def test_info_for_machines(mpirun: Callable) -> None:
    facts = json.loads(mpirun(2, "-m", "mndmst", "info", "--json").stdout)
    assert [(p["local_rank"], p["local_size"]) for p in facts["ranks"]] == [
        (0, 2),
        (1, 2),
    ]


def test_a_wrong_command_is_told_once(mpirun: Callable) -> None:
    run = mpirun(3, "-m", "mndmst", "solve", "--no-such-option")
    assert run.returncode == 2
    assert "usage:" not in run.stderr
    assert run.stderr.count("error:") == 1
    assert "solve has no option --no-such-option" in run.stderr


def test_help_is_told_once(mpirun: Callable) -> None:
    run = mpirun(3, "-m", "mndmst", "solve", "--help")
    assert run.returncode == 0
    assert run.stdout.count("usage:") == 1


def test_scripts_are_bash() -> None:
    places = ("launch/*.sh", "slurm/*.sh", "slurm/*.sbatch", "tests/**/*.sh")
    scripts = [path for place in places for path in ROOT.glob(place)]
    assert len(scripts) > 10
    for path in scripts:
        subprocess.run(["bash", "-n", path], check=True)
