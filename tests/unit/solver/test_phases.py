"""The phases of a graph, lightest first."""

from dataclasses import replace
from pathlib import Path

import graphs

from mndmst.backends.base import Band
from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.solver.bands import bands
from mndmst.solver.config import Config
from mndmst.solver.merging.choose import choose
from mndmst.solver.merging.messages import MergeByMessages
from mndmst.solver.merging.phases import BandSequence, LaterBand, RowBand
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run_report import Report


def test_a_sparse_graph_is_one_band(tmp_path: Path) -> None:
    """Devices have a way of their own for all edges at once, and know it by that."""
    path = graphs.write_graph(tmp_path / "graph", graphs.path(100))
    comm, config = world(), Config(backend="cpu", merge="messages")
    run = part_graph(comm, path, config, Report(comm, Progress(False)))
    strategy = choose(run)
    assert isinstance(strategy, MergeByMessages)
    assert strategy.first_phase() == RowBand(Band())


def test_bands_too_narrow_to_grow_are_one(tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "graph", graphs.random(20, 150, seed=1))
    comm, config = world(), Config(backend="cpu", merge="messages")
    run = part_graph(comm, path, config, Report(comm, Progress(False)))
    run = replace(run, workers=run.workers * 2)  # one alone has bands of its own
    assert len(list(bands(run, 1.3))) > 1
    assert list(bands(run, 5e-324)) == [Band()]


def test_bands_follow_each_other() -> None:
    sequence = BandSequence([Band(None, 3), Band(3, 7), Band(7, None)])
    first = sequence.first(resumed=False)
    assert first == RowBand(Band(None, 3)) and first.done is None
    second = sequence.after(first)
    assert second == LaterBand(Band(3, 7), 1)
    assert (second.title, second.done) == ("band 1", 3)
    assert sequence.after(second) == LaterBand(Band(7, None), 2)


def test_a_resumed_run_begins_with_edges_between_components() -> None:
    sequence = BandSequence([Band(3, 7), Band(7, None)])
    assert sequence.first(resumed=True) == LaterBand(Band(3, 7), 0)
