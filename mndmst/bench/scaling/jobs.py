"""The graphs that are solved, the jobs that solve them, and what these have taken."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from ...host.errors import ConfigError, MndmstError
from ...host.launcher import find_mpirun

PARTS = 16

# Open MPI needs to know that root and more ranks than cores are allowed, and would
# bind few ranks to a core each; see launch/env.sh.
_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}

KINDS = ("rmat", "gnm", "rgg2d", "rgg3d", "rhg", "grid2d")


@dataclass
class Point:
    """What one number of ranks has taken with one method.

    Attributes
    ----------
    series : {"strong", "weak"}
    seconds : list of float
        Of every turn, the slowest rank's.
    rank_seconds : list of float
        Of every rank, the median.
    cpu_seconds : float
        Of all ranks together, those in which they wait for others included; the median.
    bytes_sent, edges_sent, peak_bytes : int
        Bytes and edges sent by all ranks, the memory of the largest; medians.
    digests : list of str
        Those of the forests; one, if all is well.
    stages : dict of str to float
        Median seconds of every stage, the slowest rank's.
    speedup, efficiency : float
        Against the least ranks of the series, with the method a user gets.
    """

    graph: str
    series: str
    method: str
    group_size: int
    ranks: int
    threads: int
    num_vertices: int
    num_edges: int
    seconds: list[float]
    rank_seconds: list[float]
    cpu_seconds: float
    bytes_sent: int
    edges_sent: int
    peak_bytes: int
    digests: list[str]
    stages: dict[str, float]
    speedup: float = field(default=1.0)
    efficiency: float = field(default=1.0)

    @property
    def time(self) -> float:
        """The median of the seconds."""
        return median(self.seconds)

    @property
    def name(self) -> str:
        """The method; where ranks merge in groups, with their size."""
        return f"ring {self.group_size}" if self.method == "ring" else self.method

    def compare(self, base: "Point") -> None:
        """Note speed-up and efficiency against another point of the series."""
        cores = self.ranks * self.threads / (base.ranks * base.threads)
        work = self.num_edges / max(1, base.num_edges)
        self.speedup = work * base.time / self.time
        self.efficiency = self.speedup / cores

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {"median_seconds": self.time, **asdict(self)}


def size_of(kind: str, scale: float) -> dict[str, float]:
    """Return the parameters of a graph with about 2^scale vertices, 16 times the edges.

    Grids have fewer edges for each vertex, as roads do, and so 8 times the vertices.
    """
    n = round(2**scale)
    side = round(2 ** ((scale + 3) / 2))
    sizes: dict[str, dict[str, float]] = {
        "rmat": {"scale": round(scale)},
        "gnm": {"n": n, "m": 16 * n},
        "rgg2d": {"n": n},
        "rgg3d": {"n": n},
        "rhg": {"n": n},
        "grid2d": {"side": side, "keep": 0.6},
    }
    return sizes[kind]


def make(kind: str, scale: float, work: Path) -> Path:
    """Return a graph of a size, which is made if it is not there."""
    size = size_of(kind, scale)
    name = "-".join([kind, *(f"{key}{value}" for key, value in size.items())])
    path = work / name
    if not (path / "index.h5").exists():
        options = [f"--{key}={value}" for key, value in size.items()]
        asked = ["generate", kind, str(path), f"--parts={PARTS}", *options]
        _output([sys.executable, "-m", "mndmst", *asked])
    return path


def job(
    graph: Path,
    series: str,
    ranks: int,
    threads: int,
    backend: str,
    repeat: int,
    group_sizes: tuple[int, ...],
) -> list[Point]:
    """Solve a graph on some ranks, `repeat` times; return a point for each method."""
    on_ranks = [launcher(), "-n", str(ranks), sys.executable, "-m", "mpi4py"]
    sizes = ",".join(map(str, group_sizes))
    asked = [str(graph), backend, str(threads), str(repeat), sizes]
    output = _output([*on_ranks, "-m", "mndmst.bench.scaling.probe", *asked])
    turns = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    by_method: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for turn in turns:
        by_method.setdefault((turn["method"], turn["group_size"]), []).append(turn)
    return [
        _point(graph.name, series, ranks, threads, mine) for mine in by_method.values()
    ]


def _point(
    graph: str, series: str, ranks: int, threads: int, turns: list[dict[str, Any]]
) -> Point:
    def middle(name: str) -> int:
        return round(median(turn[name] for turn in turns))

    first = turns[0]
    return Point(
        graph,
        series,
        first["method"],
        first["group_size"],
        ranks,
        threads,
        first["num_vertices"],
        first["num_edges"],
        [max(turn["seconds"]) for turn in turns],
        [median(times) for times in zip(*(t["seconds"] for t in turns), strict=True)],
        median(turn["cpu_seconds"] for turn in turns),
        middle("bytes_sent"),
        middle("edges_sent"),
        middle("peak_bytes"),
        sorted({turn["digest"] for turn in turns}),
        {
            name: median(turn["stages"].get(name, 0.0) for turn in turns)
            for name in first["stages"]
        },
    )


def launcher() -> str:
    """Return the mpirun beside this Python, else the one on PATH, as launch/ does.

    Raises
    ------
    ConfigError
        If there is none.
    """
    found = find_mpirun()
    if found is None:
        raise ConfigError(
            "no mpirun on PATH. Load the module of your MPI, or install one from PyPI: "
            "pip install mpich"
        )
    return found


def environment() -> dict[str, str]:
    """Return an environment in which every MPI accepts any number of ranks."""
    return _ENVIRONMENT | dict(os.environ)


def _output(command: list[str]) -> str:
    """Return the output of a command; raise its error message."""
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    if done.returncode:
        said = done.stderr.strip() or f"ended with status {done.returncode}"
        raise MndmstError(f"{' '.join(command)}: {said}")
    return done.stdout.replace("\0", "")
