"""Edges of all ranks are dealt out: run by test_dealing.py."""

import numpy as np

from mndmst.comm.communicator import Comm, world
from mndmst.graph.model import EdgeList
from mndmst.host.progress import Progress
from mndmst.merging.dealing import dealt_in_order
from mndmst.run.report import Report


def main() -> None:
    comm = world()
    random = np.random.default_rng(1)
    size = comm.size
    lengths = [np.zeros(size, int), np.full(size, 3), 5 * np.arange(size)[::-1]]
    lengths += [random.integers(0, 40, size) * (random.random(size) < 0.5)]
    lengths += [random.integers(0, 40, size) for _ in range(8)]
    for every in lengths:
        check(comm, every)
    if comm.rank == 0:
        print("dealt")


def check(comm: Comm, every: np.ndarray) -> None:
    begin = int(every[: comm.rank].sum())
    number = np.arange(begin, begin + every[comm.rank], dtype=np.uint32)
    edges = EdgeList(number, number + 1, 2 * number)
    parts = np.diff(every.sum() * np.arange(comm.size + 1) // comm.size)
    report = Report(comm, Progress(False))
    in_order = dealt_in_order(comm, edges, report)
    begin = int(parts[: comm.rank].sum())
    assert in_order.u.tolist() == list(range(begin, begin + parts[comm.rank]))
    assert (in_order.v == in_order.u + 1).all()
    assert (in_order.key == 2 * in_order.u).all()
    assert report.edges_sent == len(number) - np.isin(number, in_order.u).sum()


if __name__ == "__main__":
    main()
