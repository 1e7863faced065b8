"""Graphs with ids far apart, such as OpenStreetMap's, in formats that list vertices."""

import json
import tracemalloc
from pathlib import Path

import pytest

from mndmst.cli import main as cli
from mndmst.io import edge_file
from mndmst.io.edge_file import Edges
from mndmst.io.formats import read_edges

OSM = {
    (25291709, 1684591853): 96.5,
    (25291709, 11580501472): 31.5,
    (1684591853, 11580501472): 140.25,
}
FOREST = {ends: weight for ends, weight in OSM.items() if weight < 100}
LISTING = (".json", ".graphml", ".gexf", ".gml", ".net")
FEW_BYTES = 32 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of three edges, its graph and its forest."""
    folder = tmp_path_factory.mktemp("osm")
    rows = [f"{u},{v},{weight}\n" for (u, v), weight in OSM.items()]
    (folder / "osm.csv").write_text("".join(["u,v,length\n", *rows]))
    graph, forest = folder / "graph", folder / "forest.h5"
    assert cli.main(["partition", str(folder / "osm.csv"), str(graph), "-q"]) == 0
    assert cli.main(["solve", str(graph), "-o", str(forest), "-q"]) == 0
    return folder


def named(edges: Edges) -> dict[tuple[int, int], float]:
    """Return the weight of each edge by the ids of its ends, the smaller first."""
    ends = [
        column.tolist() if edges.names is None else edges.names.take(column).values()
        for column in (edges.src, edges.dst)
    ]
    ids = (sorted(map(int, pair)) for pair in zip(*ends, strict=True))
    return dict(zip(map(tuple, ids), edges.weight.tolist(), strict=True))


@pytest.mark.parametrize("suffix", [*LISTING, ".ncol", ".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("source", ["osm.csv", "graph", "forest.h5"])
def test_they_are_written_in_memory_for_their_edges(
    folder: Path, tmp_path: Path, source: str, suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    tracemalloc.start()
    try:
        assert cli.main(["convert", str(folder / source), str(out), "-q"]) == 0
        assert tracemalloc.get_traced_memory()[1] < FEW_BYTES
    finally:
        tracemalloc.stop()
    found = read_edges(out)
    assert named(found) == (FOREST if source == "forest.h5" else OSM)
    if suffix in LISTING:
        assert found.num_vertices == 3


def test_a_vertex_with_a_loop_alone_is_listed(tmp_path: Path) -> None:
    table, graph, out = tmp_path / "t.txt", tmp_path / "graph", tmp_path / "g.json"
    table.write_text("5 90000000000 1\n7 7 2\n")
    assert cli.main(["partition", str(table), str(graph), "-q"]) == 0
    assert cli.main(["convert", str(graph), str(out), "-q"]) == 0
    nodes = json.loads(out.read_text())["nodes"]
    assert [node["id"] for node in nodes] == [5, 7, 90000000000]


def test_vertices_that_a_header_counts_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge_file, "ROWS_ALLOWED", 0)
    count = 1_000_000
    counted, out = tmp_path / "few.gr", tmp_path / "few.json"
    counted.write_text(f"p sp {count} 1\na 1 {count} 3\n")
    tracemalloc.start()
    try:
        assert cli.main(["convert", str(counted), str(out), "-q"]) == 0
        assert tracemalloc.get_traced_memory()[1] < FEW_BYTES
    finally:
        tracemalloc.stop()
    with out.open() as text:
        assert sum(line.startswith('{"id"') for line in text) == count
