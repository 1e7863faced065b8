"""Checkpoints for tests: a state, saved in a directory and read from it."""

from pathlib import Path

import numpy as np
from mpi4py import MPI

from mndmst.comm.communicator import Comm
from mndmst.graph.model import EdgeList
from mndmst.solver.checkpoint import Saved, load, save
from mndmst.solver.checkpoint.folder import Folder

COMM = Comm(MPI.COMM_SELF)
N = 500
GRAPH = {"uuid": "one", "num_vertices": N, "num_arcs": 2400, "weight_dtype": "float32"}
VTXDIST = np.array([0, N])


def state(edges: int = 200, done: int | None = 77) -> Saved:
    random = np.random.default_rng(edges)
    columns = [random.integers(0, N, edges).astype(np.uint32) for _ in range(3)]
    return Saved(done, np.arange(N, dtype=np.uint32) // 7 * 7, EdgeList(*columns))


def same(one: Saved, other: Saved) -> bool:
    arrays = [
        (s.parent, s.forest_edges.u, s.forest_edges.v, s.forest_edges.key)
        for s in (one, other)
    ]
    fine = all(map(np.array_equal, *arrays))
    return fine and one.done == other.done


def read(folder: Path) -> Saved:
    return load(COMM, folder, GRAPH, VTXDIST)


def keep(path: Path, saved: Saved) -> int:
    """Save a state in a directory, as a run of its own; return the bytes."""
    folder = Folder(COMM, path)
    try:
        return save(folder, GRAPH, VTXDIST, saved)
    finally:
        folder.close()


def part(folder: Path) -> Path:
    (path,) = folder.glob("*.h5")
    return path
