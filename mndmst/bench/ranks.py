"""A run of `solve` on ranks, timed from its report."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from ..host.cores import core_count
from ..host.errors import ConfigError, MndmstError
from ..host.formatting import counted
from ..host.launcher import find_mpirun
from ..io.edges import Edges
from ..io.partitioner.build import build_shards
from .graphs import BenchGraph

_PACKAGE_PARENT = Path(__file__).parents[2]
# Stages that a program whose graph is in memory and stays there does not have
_ASIDE = ("import", "start", "kernels", "read", "digest", "write")


def solve_on_ranks(graph: BenchGraph, repeat: int) -> dict[str, float]:
    """Return the median milliseconds of `solve`, without files, on 1 rank and more.

    Raises
    ------
    ConfigError
        If there is no mpirun.
    MndmstError
        If a run fails.
    """
    cores = core_count()
    with TemporaryDirectory(prefix="mndmst-") as name:
        folder = Path(name)
        u, v, weight = graph.upper()
        edges = Edges(graph.num_vertices, u, v, weight, directed=False)
        build_shards(edges, folder / "graph", 4)
        return {
            f"{ranks} rank{'s' * (ranks > 1)}": median(
                _solve(folder, ranks) for _ in range(repeat + 1)
            )
            for ranks in sorted({1, 2, cores})
        }


def _solve(folder: Path, ranks: int) -> float:
    launcher = find_mpirun()
    if launcher is None:
        raise ConfigError(
            "MND-MST's tables are run on ranks, and there is no mpirun. Install MPI "
            "(pip install 'mndmst[mpi]'), or leave the paper out of --papers."
        )
    report = folder / "report.json"
    command = [launcher, "-n", str(ranks), sys.executable, "-m", "mndmst", "solve"]
    command += [str(folder / "graph"), "-q", "--report", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=_PACKAGE_PARENT)
    if done.returncode:
        raise MndmstError(
            f"solve on {counted(ranks, 'rank')} failed: {done.stderr.strip()}"
        )
    stages = json.loads(report.read_text())["ranks"][0]["stages"]
    kept = (entry["seconds"] for entry in stages if entry["stage"] not in _ASIDE)
    return 1e3 * sum(kept)
