"""How many vertices a graph has: what is refused, what is asked for, compact ids."""

import gzip
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from killed_partition import killed_in, without
from processes import Run
from square import DATA
from test_partition import digest

from mndmst.comm.world import SingleProcess
from mndmst.host.errors import ConfigError, InputError
from mndmst.io.edge_file import Edges
from mndmst.io.formats import NAMES, open_edges, read_edges
from mndmst.io.partitioner import write_parts as parts
from mndmst.io.partitioner.edge_survey import BufferSizes
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.graph_recipe import load_recipe, open_recipe
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph

FAR = (1 << 48) - 1
SPARSE = {(7, 10**9): 5, (10**9, FAR): 2, (FAR, 12): 4, (12, 7): 9, (3, 3): 1}


def text_of(path: Path, edges: dict = SPARSE) -> Path:
    path.write_text("".join(f"{u} {v} {w}\n" for (u, v), w in edges.items()))
    return path


def listed(edges: Edges) -> dict[tuple[int, int], int]:
    """Return the weight of each edge by its ends, the smaller one first."""
    columns = (edges.src, edges.dst, edges.weight)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {(min(u, v), max(u, v)): w for u, v, w in rows if u != v}


def made(file: Path, out: Path, jobs: int = 1, **options: object) -> ShardedGraph:
    given = Options(out, **{"parts": 3, "quiet": True, **options})
    return run_forked(jobs, partition, open_edges(file), given)


@pytest.mark.parametrize("reorder", ["none", "degree"])
def test_a_header_of_far_more_vertices_than_edges_name_is_refused(
    tmp_path: Path, reorder: str
) -> None:
    file = tmp_path / "wrong.gr"
    file.write_text("p sp 1000000001 2\na 1 2 5\na 2 3 3\n")
    out = tmp_path / "graph"
    message = (
        r"wrong.gr: 2 edges would make a graph of 1,000,000,001 vertices.* rows take "
        r"7.451 GiB.* is 1000000001\..* --compact-ids .*"
        r"--num-vertices 1000000001"
    )
    with pytest.raises(InputError, match=message):
        made(file, out, reorder=reorder)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert made(file, out, compact_ids=True).num_vertices == 3


@pytest.mark.parametrize(
    ("name", "reorder", "jobs"),
    [
        ("far.txt", "none", 1),
        ("far.txt.gz", "degree", 1),
        ("far.txt", "degree", 3),
        ("far.txt.gz", "none", 3),
    ],
)
def test_ids_that_are_far_apart_are_names(
    tmp_path: Path,
    name: str,
    reorder: str,
    jobs: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    pack = gzip.compress if name.endswith("gz") else bytes
    text = "0 1 5\n1 12000000000 3\n12000000000 3 1\n"
    (tmp_path / name).write_bytes(pack(text.encode()))
    given = {"reorder": reorder, "quiet": False}
    graph = made(tmp_path / name, tmp_path / "graph", jobs, **given)
    said = capfd.readouterr().err
    assert f"{name}: its ids are far apart, so they are names" in said
    forced = made(
        tmp_path / name, tmp_path / "same", jobs, compact_ids=True, reorder=reorder
    )
    assert graph.uuid == forced.uuid
    assert sorted(graph.read_original_ids(0, 4)) == [0, 1, 3, 12_000_000_000]


def test_ids_that_fit_stay_numbers(tmp_path: Path) -> None:
    text_of(tmp_path / "near.txt", {(0, 8_000_000): 5})
    assert made(tmp_path / "near.txt", tmp_path / "a").num_vertices == 8_000_001
    far = text_of(tmp_path / "far.txt", {(0, 10**7): 5})
    assert made(far, tmp_path / "b").num_vertices == 2
    asked = made(far, tmp_path / "c", num_vertices=10**7 + 1)
    assert asked.num_vertices == 10**7 + 1


def test_a_few_million_vertices_need_few_edges(tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("0 3000000 5\n")
    assert made(tmp_path / "few.txt", tmp_path / "graph").num_vertices == 3_000_001


def test_what_the_user_asks_for_is_made() -> None:
    assert open_random("gnm", n=10**9, m=3).vertices_given


def test_the_first_line_says_what_is_made(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "few.txt").write_text("0 3 5\n3 1 2\n")
    made(tmp_path / "few.txt", tmp_path / "graph", parts=1, quiet=False)
    said = "few.txt: makes 4 vertices and at most 4 arcs, 80 bytes\n"
    lines = capfd.readouterr().err.splitlines(keepends=True)
    assert any(line.endswith(said) for line in lines)


@pytest.mark.parametrize(
    ("name", "ends", "ids"),
    [("few.txt", "5 and 3", "0 to 4"), ("few.gr", "6 and 4", "1 to 5")],
)
@pytest.mark.parametrize("jobs", [1, 3])
def test_the_user_says_how_many_vertices_there_are(
    tmp_path: Path, name: str, ends: str, ids: str, jobs: int
) -> None:
    (tmp_path / "few.txt").write_text("0 3 5\n3 5 2\n")
    (tmp_path / "few.gr").write_text("p sp 99 2\na 1 4 5\na 4 6 2\n")
    graph = made(tmp_path / name, tmp_path / "more", jobs, num_vertices=2000)
    assert (graph.num_vertices, graph.num_arcs) == (2000, 4)
    assert made(tmp_path / name, tmp_path / "just", num_vertices=6).num_vertices == 6
    refused = rf"{name}: .* vertices {ends}, .*--num-vertices 5 ids run from {ids}\. "
    with pytest.raises(InputError, match=refused):
        made(tmp_path / name, tmp_path / "less", jobs, num_vertices=5)
    for wrong in (-1, FAR + 2):
        with pytest.raises(ConfigError, match=r"--num-vertices .* from 0 to 2\^48"):
            made(tmp_path / name, tmp_path / "wrong", num_vertices=wrong)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("reorder", ["none", "degree", "rcm"])
def test_compact_ids_keep_the_map(tmp_path: Path, jobs: int, reorder: str) -> None:
    file = text_of(tmp_path / "far.txt")
    out = tmp_path / "graph"
    graph = made(file, out, jobs, compact_ids=True, reorder=reorder)
    assert (graph.num_vertices, graph.num_arcs) == (5, 8)
    original = graph.read_original_ids(0, 5).tolist()
    assert sorted(original) == [3, 7, 12, 10**9, FAR]
    assert reorder != "none" or original == sorted(original)
    again = read_edges(out)
    assert again.num_vertices == FAR + 1
    assert listed(again) == listed(read_edges(file))
    with h5py.File(graph.parts[0]) as part:
        assert part["original-id"].dtype == np.int64


def test_ids_between_2_31_and_2_32_are_kept_as_they_are(tmp_path: Path) -> None:
    edges = {(2**31 + 5, 2**32 - 1): 3, (2**32 - 1, 0): 4, (0, 2**31 - 1): 1}
    file = text_of(tmp_path / "far.txt", edges)
    graph = made(file, tmp_path / "graph", compact_ids=True)
    expected = [0, 2**31 - 1, 2**31 + 5, 2**32 - 1]
    assert graph.read_original_ids(0, 4).tolist() == expected
    assert listed(read_edges(tmp_path / "graph")) == listed(read_edges(file))


def test_little_memory_and_many_ids_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 1 << 40, 300)
    pairs = rng.choice(ids, (1000, 2)).tolist()
    edges = {(u, v): w for w, (u, v) in enumerate(pairs)}
    file = text_of(tmp_path / "far.txt", edges)
    whole = made(file, tmp_path / "whole", compact_ids=True)
    named = np.unique(pairs)
    np.testing.assert_array_equal(whole.read_original_ids(0, len(named)), named)
    monkeypatch.setattr("mndmst.io.formats.edge_text.TextFile.piece_bytes", 500)
    sizes = BufferSizes(most_names=800, slice_edges=30)
    for jobs in (1, 3):
        out = tmp_path / f"{jobs}"
        made(file, out, jobs, compact_ids=True, sizes=sizes)
        assert digest(out) == digest(tmp_path / "whole")


def test_a_file_without_edges_has_no_vertices(tmp_path: Path) -> None:
    (tmp_path / "none.gr").write_text("p sp 1000000000 0\n")
    graph = made(tmp_path / "none.gr", tmp_path / "graph", compact_ids=True)
    assert (graph.num_vertices, graph.num_arcs) == (0, 0)
    assert read_edges(tmp_path / "graph").num_vertices == 10**9


# Files that lie in tests/data, by the format that opens them
SQUARES = {
    path.suffix[1:]: path
    for path in sorted(DATA.glob("square*.*"))
    if path.suffix[1:] in NAMES
}


@pytest.mark.parametrize("format", SQUARES)
def test_any_format_can_be_made_compact(tmp_path: Path, format: str) -> None:
    plain = listed(read_edges(SQUARES[format]))
    out = tmp_path / "graph"
    graph = made(SQUARES[format], out, compact_ids=True)
    assert graph.num_vertices == len({end for ends in plain for end in ends})
    assert {*listed(read_edges(out))} == {*plain}


def test_a_recipe_can_be_made_compact(
    tmp_path: Path, mndmst: Callable[..., Run]
) -> None:
    file, recipe = text_of(tmp_path / "far.txt"), tmp_path / "far.toml"
    recipe.write_text(
        '[source]\ncollection = "none"\nurl = "none"\nfile = "far.txt"\n'
        'weights = "file"\n[counts]\nvertices = 281474976710656\nedges = 4\n'
    )
    open_recipe(load_recipe(recipe), file)
    out = tmp_path / "graph"
    given = ("partition", recipe, out, "--source", file, "--compact-ids")
    run = mndmst(*given, "--parts", 2, "--jobs", 2)
    assert run.returncode == 0, run
    assert open_graph(out).num_vertices == 5


@pytest.mark.mpi
def test_a_forest_of_far_ids_is_written_under_them(
    tmp_path: Path, mndmst: Callable[..., Run], mpirun: Callable[..., Run]
) -> None:
    file, out = text_of(tmp_path / "far.txt"), tmp_path / "graph"
    forest, table = tmp_path / "forest.h5", tmp_path / "forest.csv"
    program = ("-m", "mndmst", "partition", file, out, "--compact-ids", "--parts", 3)
    assert mpirun(3, *program, "--restart").returncode == 0
    alone = made(file, tmp_path / "alone", compact_ids=True)
    assert open_graph(out).uuid == alone.uuid
    for command in (
        ("solve", out, "-o", forest),
        ("verify", out, forest),
        ("convert", forest, table, "--graph", out),
    ):
        run = mndmst(*command)
        assert run.returncode == 0, run
    expected = {(7, 10**9): 5, (10**9, FAR): 2, (12, FAR): 4}
    assert listed(read_edges(table)) == expected


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("reorder", ["none", "bfs"])
def test_a_restart_keeps_compact_ids(tmp_path: Path, asked: bool, reorder: str) -> None:
    file = text_of(tmp_path / "far.txt")
    expected = made(file, tmp_path / "whole", compact_ids=True, reorder=reorder).uuid
    given = {"restart": True, "compact_ids": asked, "reorder": reorder}

    for place in ("write_part", "write_json"):
        with killed_in(place, modules=(parts,)):
            made(file, tmp_path / "graph", **given)
    with without("save_vertices"):
        assert made(file, tmp_path / "graph", **given).uuid == expected


def test_a_file_that_changes_meanwhile_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mndmst.io.partitioner import partition as passes

    file = text_of(tmp_path / "far.txt")
    save = passes.save_vertices

    def save_and_change(*given: object) -> None:
        save(*given)
        text_of(file, {(8, 10**9): 5, (10**9, FAR): 2})

    monkeypatch.setattr(passes, "save_vertices", save_and_change)
    with pytest.raises(InputError, match=r"far\.txt: has changed while"):
        partition(
            SingleProcess(), open_edges(file), Options(tmp_path / "g", compact_ids=True)
        )
