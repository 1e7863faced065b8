"""Write `signatures.txt`: the kernels that solving calls, for every type of weights.

python -m tests.called_kernels
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import graphs

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.native.registry import FILE

PROGRAM = Path(__file__).parent / "mpi" / "kernels_program.py"
RANKS = (1, 2, 3, 5)
HEAD = """\
# The kernels that solving calls: for which types of weights, which kernel, and the
# types of its arguments. Ids are 32 bits wide. Written by tests/called_kernels.py.
"""


def write_graphs(directory: Path, dtype: str) -> list[Path]:
    """Write graphs that take all ways through the program; return where they are."""
    thin, thick = graphs.random(20_000, 25_000, 1), graphs.random(20_000, 200_000, 2)
    many = np.arange(1 << 20) % 65_521
    chosen = [graphs.path(9), thin, thick, thick.with_weights([7], dtype)]
    # Two graphs side by side have no giant component, so that bands follow.
    chosen += [_side_by_side(graph) for graph in (thin, thick)]
    return [
        graphs.write_graph(directory / f"{dtype}-{i}", graph)
        if len(set(graph.weight)) == 1 and i == 3
        else graphs.write_graph(
            directory / f"{dtype}-{i}", graph.with_weights(many.tolist(), dtype)
        )
        for i, graph in enumerate(chosen)
    ]


def _side_by_side(graph: graphs.Graph) -> graphs.Graph:
    ends = (np.concatenate([end, end + graph.n]) for end in graph[1:3])
    return graphs.Graph(2 * graph.n, *ends, np.tile(graph.weight, 2))


def main() -> None:
    """Run all, and write the file."""
    users: dict[tuple[str, str], set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as place:
        for dtype in WEIGHT_DTYPES:
            paths = write_graphs(Path(place), dtype.name)
            for ranks in RANKS:
                command = ["mpirun", "-n", str(ranks), sys.executable, "-m", "mpi4py"]
                run = subprocess.run(
                    [*command, PROGRAM, *paths], stdout=subprocess.PIPE, check=True
                )
                for name, signature in json.loads(run.stdout):
                    users[name, signature].add(dtype.str[1:])
    lines = [
        f"{','.join(sorted(types))} {name.removeprefix('mndmst.')} {signature}\n"
        for (name, signature), types in sorted(users.items())
    ]
    FILE.write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main()
