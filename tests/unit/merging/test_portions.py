"""Which edges the steps are made for."""

from dataclasses import replace
from pathlib import Path

import graphs

from mndmst.backends.base import Band
from mndmst.comm.communicator import world
from mndmst.host.progress import Progress
from mndmst.merging.choose import choose
from mndmst.run.config import Config
from mndmst.run.report import Report
from mndmst.steps.bands import bands
from mndmst.steps.part_graph import part_graph


def test_a_sparse_graph_is_one_band(tmp_path: Path) -> None:
    """Devices have a way of their own for all edges at once, and know it by that."""
    path = graphs.write_graph(tmp_path / "graph", graphs.path(100))
    comm, config = world(), Config(backend="cpu", merge="messages")
    run = part_graph(comm, path, config, Report(comm, Progress(False)))
    assert next(choose(run).portions()) == Band()


def test_bands_too_narrow_to_grow_are_one(tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "graph", graphs.random(20, 150, seed=1))
    comm, config = world(), Config(backend="cpu", merge="messages")
    run = part_graph(comm, path, config, Report(comm, Progress(False)))
    run = replace(run, workers=run.workers * 2)  # one alone has bands of its own
    assert len(list(bands(run, 1.3))) > 1
    assert list(bands(run, 5e-324)) == [Band()]
