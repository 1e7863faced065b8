"""Partitioning that goes on where a killed run has ended."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from killed_partition import killed_in
from test_partition import digest, made, random_edges

from mndmst.comm.world import SingleProcess
from mndmst.host.errors import ConfigError, OutputError
from mndmst.io.edge_file import EdgeFile
from mndmst.io.formats import open_edges
from mndmst.io.partitioner import partition as passes
from mndmst.io.partitioner import write_parts as parts
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.partitioner.weight_rules import weigh
from mndmst.io.shards import graph_directory as destination
from mndmst.io.shards.sharded_graph import open_graph


def test_a_restart_keeps_the_parts_that_are_there(tmp_path):
    edges = random_edges(2000, 9000)
    expected = digest(made(tmp_path / "whole", edges))
    with killed_in("write_part", 4):
        made(tmp_path / "graph", edges, restart=True)
    assert json.loads((tmp_path / "graph.partition-work/plan.json").read_text())
    with pytest.raises(ConfigError, match="was left by a run with"):
        made(tmp_path / "graph", random_edges(2000, 9001), restart=True)
    with patch.object(parts, "write_part", wraps=parts.write_part) as written:
        made(tmp_path / "graph", edges, restart=True)
    assert [call.args[2] for call in written.call_args_list] == [3, 4]
    assert digest(tmp_path / "graph") == expected
    assert not (tmp_path / "graph.partition-work").exists()


def written(path: Path, weight: int) -> EdgeFile:
    path.write_text(f"p sp 3 2\na 1 2 {weight}\na 2 3 5\n")
    return open_edges(path)


@pytest.mark.parametrize(
    ("source", "what"),
    [
        (lambda _, turn: open_random("gnm", turn, n=9, m=20), "seed 1, not 2"),
        (lambda _, turn: open_random("gnm", 7, n=9, m=20 + turn), "m 21"),
        (lambda path, turn: weigh(written(path, 4), f"hash:{turn}"), "weights"),
        (lambda path, turn: written(path, turn), "changed"),
    ],
)
def test_a_restart_refuses_another_graph(tmp_path, source, what):
    options = Options(tmp_path / "graph", quiet=True, restart=True)
    with killed_in("write_part"):
        partition(SingleProcess(), source(tmp_path / "file.gr", 1), options)
    with pytest.raises(ConfigError, match=f"was left by a run with .*{what}"):
        partition(
            SingleProcess(),
            source(tmp_path / "file.gr", 2),
            options,
        )


@pytest.mark.parametrize(
    ("module", "name", "call", "said"),
    [
        (passes, "route_arcs", 1, "starts from the beginning"),
        (parts, "write_part", 4, "continues from"),
        (
            destination,
            "flush_to_disk",
            4,
            "continues from",
        ),  # three parts have their names
        (destination, "flush_to_disk", 6, "continues from"),
        (passes, "open_graph", 1, "already finished"),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_one_command_goes_on_whatever_is_there(
    tmp_path, capfd, module, name, call, said, overwrite
):
    edges = random_edges(2000, 9000)
    out = tmp_path / "graph"
    given = {"restart": True, "quiet": False, "overwrite": overwrite}
    if overwrite:
        made(out, random_edges(300, 800), parts=7)
    expected = digest(made(tmp_path / "whole", edges, restart=True))
    with killed_in(name, call, (module,)):
        made(out, edges, **given)
    assert "starts from the beginning" in capfd.readouterr().err
    for again in (said, "already finished"):
        made(out, edges, **given)
        assert again in capfd.readouterr().err
        assert digest(out) == expected
        assert [path.name for path in tmp_path.glob("*work")] == []


def test_a_restart_does_not_take_another_graph_for_finished(tmp_path):
    edges = random_edges(200, 900)
    made(tmp_path / "graph", edges, restart=True)
    with pytest.raises(OutputError, match="finished graph, made from another file or"):
        made(tmp_path / "graph", edges, restart=True, parts=3)
    made(tmp_path / "graph", edges, restart=True, overwrite=True, parts=3)
    assert open_graph(tmp_path / "graph").num_parts == 3
    made(tmp_path / "plain", edges)
    with pytest.raises(OutputError, match="finished graph, made by a run without --re"):
        made(tmp_path / "plain", edges, restart=True)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/index.h5").write_text("theirs")
    with pytest.raises(OutputError, match="is not empty"):
        made(tmp_path / "notes", edges, restart=True)


def test_a_record_does_not_change_the_graph(tmp_path):
    edges = random_edges(200, 900)
    one = open_graph(made(tmp_path / "one", edges, restart=True))
    assert one.uuid == open_graph(made(tmp_path / "other", edges)).uuid
