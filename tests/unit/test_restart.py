"""Partitioning that goes on where a killed run has ended."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_external import digest, made, random_edges

from mndmst.errors import ConfigError
from mndmst.io import external
from mndmst.io.edge_file import EdgeFile
from mndmst.io.external import Options, partition, sort
from mndmst.io.external.team import Alone
from mndmst.io.formats import open_edges
from mndmst.io.generate import open_random
from mndmst.io.shards import ShardWriter
from mndmst.io.weights import weigh


def test_a_restart_keeps_the_parts_that_are_there(tmp_path, monkeypatch):
    edges = random_edges(2000, 9000)
    expected = digest(made(tmp_path / "whole", edges))
    done = []

    def some(plan, writer, part, runs):
        if len(done) == 3:
            raise KeyboardInterrupt  # as good as a kill: nothing is tidied up
        done.append(part)
        return sort.write_part(plan, writer, part, runs)

    monkeypatch.setattr(external, "write_part", some)
    monkeypatch.setattr(ShardWriter, "__exit__", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path / "graph", edges)
    assert json.loads((tmp_path / "graph.partition-work/plan.json").read_text())
    with pytest.raises(ConfigError, match="was left by a run with"):
        made(tmp_path / "graph", random_edges(2000, 9001), restart=True)
    done.clear()
    made(tmp_path / "graph", edges, restart=True)
    assert done == [3, 4]
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
def test_a_restart_refuses_another_graph(tmp_path, monkeypatch, source, what):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(external, "write_part", interrupted)
    options = Options(tmp_path / "graph", quiet=True)
    with pytest.raises(KeyboardInterrupt):
        partition(Alone(), source(tmp_path / "file.gr", 1), options)
    monkeypatch.undo()
    with pytest.raises(ConfigError, match=f"was left by a run with .*{what}"):
        partition(
            Alone(),
            source(tmp_path / "file.gr", 2),
            replace(options, restart=True),
        )


def test_nothing_to_restart_from(tmp_path):
    with pytest.raises(ConfigError, match="holds nothing to go on from"):
        made(tmp_path / "graph", random_edges(9, 9), restart=True)
