"""Forest files as tests need them, right and wrong, and their verdicts."""

from pathlib import Path

import graphs
import numpy as np
from mpi4py import MPI
from oracle import Answer

from mndmst.certificate import Verdict, verify
from mndmst.comm.communicator import Comm
from mndmst.graph.model import EdgeList
from mndmst.graph.order import weights_to_keys
from mndmst.io.atomic_output import AtomicOutput
from mndmst.io.names import IdRange
from mndmst.io.results.digest_and_total import exact_total, forest_digest
from mndmst.io.results.forest_file import ForestHeader, write_forest
from mndmst.io.shards.sharded_graph import open_graph

COMM = Comm(MPI.COMM_SELF)


def write(
    path: Path,
    n: int,
    src: np.ndarray,
    dst: np.ndarray,
    weight: np.ndarray,
    labels: np.ndarray | None = None,
    **header: object,
) -> Path:
    facts = {
        "graph_uuid": graphs.UUID,
        "num_vertices": n,
        "total_weight": exact_total(COMM, weight),
        "digest": forest_digest(COMM, src, dst),
    } | header
    edges = EdgeList(src, dst, weights_to_keys(weight.copy()))
    with AtomicOutput(COMM) as outputs:
        write_forest(
            outputs,
            path,
            edges,
            weight,
            lambda: ForestHeader(**facts),
            IdRange(0, n),
            labels,
        )
    return path


def judge(
    folder: Path, graph: graphs.Graph, forest: dict | Answer, threads: int = 1, **more
) -> Verdict:
    """Verify a forest given as {(src, dst): weight} or as an answer of the oracle."""
    if isinstance(forest, Answer):
        columns = forest.src, forest.dst, forest.weight
    else:
        ends = np.array(list(forest), np.int64).reshape(-1, 2)
        dtype = more.pop("dtype", graph.weight.dtype)
        columns = ends[:, 0], ends[:, 1], np.array(list(forest.values()), dtype)
    graphs.write_graph(folder / "graph", graph, parts=3)
    write(folder / "forest.h5", more.pop("n", graph.n), *columns, **more)
    opened = open_graph(folder / "graph")
    return verify(COMM, opened, folder / "forest.h5", threads)
