"""`info --check` reads a graph whole and finds what is wrong anywhere in it."""

from pathlib import Path

import graphs
import h5py
import numpy as np
import pytest

from mndmst.host.errors import InputError
from mndmst.io.file_info import check_graph
from mndmst.io.shards.sharded_graph import open_graph


@pytest.mark.parametrize("arcs", [1, 7, 1 << 25])
def test_every_row_is_read_once(tmp_path: Path, arcs: int) -> None:
    graph = graphs.random(60, 300, 4)
    path = graphs.write_graph(tmp_path / "graph", graph, 3)
    pairs = {tuple(sorted(p)) for p in zip(graph.src, graph.dst, strict=True)}
    facts = check_graph(open_graph(path), 11, arcs)
    assert facts["edges"] == len({p for p in pairs if p[0] != p[1]})
    assert facts["checked_arcs"] == open_graph(path).num_arcs


def test_an_arc_without_its_reverse_is_found(tmp_path: Path) -> None:
    arcs = graphs.Graph(3, np.array([0, 1]), np.array([1, 0]), np.array([4, 5]))
    path = graphs.write_arcs(tmp_path / "graph", arcs)
    with pytest.raises(InputError, match="no reverse arc"):
        check_graph(open_graph(path))


def test_a_flipped_byte_is_found_by_the_command(mndmst, tmp_path: Path) -> None:
    path = graphs.write_graph(tmp_path / "graph", graphs.random(60, 300, 4), 2)
    done = mndmst("info", path, "--check")
    assert done.returncode == 0, done.stderr
    assert "checked_arcs" in done.stdout
    part = sorted(path.glob("part*.h5"))[1]
    with h5py.File(part) as file:
        place = file["graph/data"].id.get_chunk_info(0).byte_offset
    data = bytearray(part.read_bytes())
    data[place + 5] ^= 1
    part.write_bytes(data)
    assert mndmst("info", path).returncode == 0  # reads row pointers alone
    done = mndmst("info", path, "--check")
    assert done.returncode == 1
    assert part.name in done.stderr
