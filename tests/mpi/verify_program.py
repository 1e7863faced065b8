"""Write forests from all ranks and verify them; rank 0 prints what all have seen.

Arguments: a graph, a folder, the arrays of a forest (.npz: src, dst, weight, labels).
"""

import json
import resource
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np

from mndmst.certificate import candidate, verify
from mndmst.comm import shared_memory
from mndmst.comm.communicator import Comm
from mndmst.comm.world import world
from mndmst.graph.model import EdgeList
from mndmst.graph.order import weights_to_keys
from mndmst.host.errors import ConfigError, OutputError
from mndmst.io.atomic_output import AtomicOutput, check_writable
from mndmst.io.names import IdRange
from mndmst.io.results.digest_and_total import exact_total, forest_digest
from mndmst.io.results.forest_file import ForestHeader, write_forest
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph


def share(comm: Comm, array: np.ndarray) -> np.ndarray:
    """Return this rank's slice; the last rank has the most, the first may have none."""
    bounds = len(array) * np.arange(comm.size + 1) ** 2 // comm.size**2
    return array[bounds[comm.rank] : bounds[comm.rank + 1]]


def write(
    comm: Comm, path: Path, graph: ShardedGraph, forest: dict[str, np.ndarray]
) -> None:
    part = {name: share(comm, array) for name, array in forest.items()}
    header = ForestHeader(
        graph_uuid=graph.uuid,
        num_vertices=graph.num_vertices,
        total_weight=exact_total(comm, part["weight"]),
        digest=forest_digest(comm, part["src"], part["dst"]),
    )
    keys = weights_to_keys(part["weight"].copy())
    edges = EdgeList(part["src"], part["dst"], keys)
    with AtomicOutput(comm) as outputs:
        columns, ids = (edges, part["weight"]), IdRange(0, graph.num_vertices)
        write_forest(outputs, path, *columns, lambda: header, ids, part.get("labels"))


def fail_to_write(
    comm: Comm, path: Path, graph: ShardedGraph, forest: dict[str, np.ndarray]
) -> str:
    """Write while rank 0 may write few bytes only; return the common error.

    The forest is shorter than a chunk, so rank 0 writes all of it.
    """
    if comm.rank == 0:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        write(comm, path, graph, forest)
    except OutputError as error:
        texts = comm.gather(str(error))
        assert texts is None or len(set(texts)) == 1
        return str(error)
    return "written"


def verdict_of(comm: Comm, graph: ShardedGraph, path: Path) -> dict:
    """Return the verdict that all ranks have."""
    found = verify(comm, graph, path, threads=2)
    verdict = {"ok": found.ok, **asdict(found)}
    assert verdict.pop("seconds") > 0
    everywhere = comm.gather(json.dumps(verdict))
    assert everywhere is None or len(set(everywhere)) == 1
    return verdict


def verify_without_room(comm: Comm, graph: ShardedGraph, path: Path) -> str:
    """Verify while the last rank has no memory left; return the common error."""
    if comm.rank == comm.size - 1:
        candidate.room = lambda budget: 100
    try:
        verify(comm, graph, path)
    except ConfigError as error:
        texts = comm.gather(str(error))
        assert texts is None or len(set(texts)) == 1
        return str(error)
    return "there is room"


def main() -> None:
    comm = world()
    graph = open_graph(sys.argv[1])
    folder = Path(sys.argv[2])
    right = dict(np.load(sys.argv[3]))
    forests = {
        "right": right,
        "missing": {name: right[name][1:] for name in ("src", "dst", "weight")},
        "none": {name: right[name][:0] for name in ("src", "dst", "weight")},
    }
    verdicts = {}
    for name, forest in forests.items():
        check_writable(comm, folder / name)
        write(comm, folder / name, graph, forest)
        verdicts[name] = verdict_of(comm, graph, folder / name)
    failure = fail_to_write(comm, folder / "full", graph, right)
    refusal = verify_without_room(comm, graph, folder / "right")
    candidate.room = lambda budget: 1 << 40
    shared_memory._new_file = lambda length: -1  # ranks do not see each other
    verdicts["hidden"] = verdict_of(comm, graph, folder / "right")
    if comm.rank == 0:
        seen = {"verdicts": verdicts, "failure": failure, "refusal": refusal}
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
