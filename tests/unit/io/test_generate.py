"""Random graphs: the same for a seed, weights as promised, the shipped one as said."""

import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from oracle import kruskal
from processes import ROOT

from mndmst.comm.world import SingleProcess
from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.host.errors import ConfigError, MissingExtraError
from mndmst.host.memory import Budget
from mndmst.io.formats import read_edges
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.random_graphs import KINDS, open_random
from mndmst.io.partitioner.vertex_numbering import symmetric_rows
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph

SMALL = {
    "rmat": {"scale": 8, "edge_factor": 4},
    "ssca2": {"scale": 8, "clique": 9},
    "gnm": {"n": 200, "m": 900},
    "road": {"side": 16, "keep": 0.7},
    "rgg2d": {"n": 200, "degree": 8},
    "rgg3d": {"n": 200, "degree": 8},
    "rhg": {"n": 200, "degree": 8, "gamma": 2.8},
    "grid2d": {"side": 16, "keep": 0.7},
    "grid3d": {"side": 6, "keep": 0.7},
}
PARTITIONS = ROOT / "partitions"


def generate(out: Path, kind: str, parts: int, **given: object) -> ShardedGraph:
    options = Options(out, parts, quiet=True)
    return partition(SingleProcess(), open_random(kind, **given), options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_one_graph_in_any_parts(tmp_path, kind):
    one = generate(tmp_path / "one", kind, 1, seed=3, **SMALL[kind])
    many = generate(tmp_path / "many", kind, 5, seed=3, **SMALL[kind])
    other = generate(tmp_path / "other", kind, 5, seed=4, **SMALL[kind])
    assert one.uuid == many.uuid != other.uuid
    assert one.num_vertices == {
        "grid2d": 256,
        "grid3d": 216,
        "rmat": 256,
        "ssca2": 256,
        "road": 256,
    }.get(kind, 200)
    assert one.num_arcs > one.num_vertices


def test_sizes_are_as_asked():
    indptr, _, _ = symmetric_rows(open_random("gnm", n=200, m=900).read())
    assert indptr[-1] == 2 * 900
    indptr, _, _ = symmetric_rows(open_random("rgg2d", n=20000, degree=12).read())
    assert indptr[-1] / 20000 == pytest.approx(12, rel=0.1)
    indptr, _, _ = symmetric_rows(open_random("grid2d", side=30).read())
    assert indptr[-1] == 2 * 2 * 30 * 29


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES, ids=str)
def test_weights_are_uniform_over_the_range_of_their_type(dtype):
    weight = open_random("gnm", 1, dtype, n=2000, m=20000).read().weight
    assert weight.dtype == dtype
    top = 1.0 if dtype.kind == "f" else 2.0 ** (24 if dtype.itemsize == 4 else 40)
    shares = np.histogram(weight.astype(np.float64) / top, 10, (0, 1))[0] / len(weight)
    assert shares.sum() == pytest.approx(1)  # none is outside
    assert shares == pytest.approx(0.1, abs=0.02)
    assert weight.min() > 0
    assert dtype.kind != "f" or weight.max() < 1


def test_weights_depend_on_the_ends_and_the_seed_alone():
    edges = open_random("gnm", 1, "int64", n=300, m=2000).read()
    u, v = np.minimum(edges.src, edges.dst), np.maximum(edges.src, edges.dst)
    pairs, first, place = np.unique(
        u.astype(np.int64) * 300 + v, return_index=True, return_inverse=True
    )
    assert len(pairs) == 2000
    np.testing.assert_array_equal(edges.weight, edges.weight[first][place])
    assert len(np.unique(edges.weight)) == 2000


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [("torus", {}, "no kind of graph is called torus.*grid2d"),
     ("gnm", {"n": 10}, "gnm needs --m; its parameters are --n, --m"),
     ("gnm", {"n": 10, "m": 20, "side": 3}, "gnm does not take --side; its"),
     ("gnm", {"n": 10, "m": 20, "seed": -1}, "--seed -1: give a number from 0"),
     ("gnm", {"n": 10, "m": 20, "weights": "int8"}, "--weights int8: give one"),
     ("gnm", {"n": 10, "m": 20, "weights": "2free 32"}, "--weights 2free 32: give"),
     ("gnm", {"n": -10, "m": 20}, "gnm: --n -10: give a number from 0"),
     ("gnm", {"n": 10, "m": 46}, "--m 46: give a number from 0 to 45"),
     ("rmat", {"scale": 70}, "rmat: --scale 70: give a number from 1 to 44"),
     ("rmat", {"scale": 4, "edge_factor": -1}, "--edge-factor -1: .* 0 or more"),
     ("rmat", {"scale": 4, "b": 1.5}, "--b 1.5: give a number from 0 to 1"),
     ("rmat", {"scale": 4, "b": 0.9}, "--c add up to 1.66"),
     ("road", {"side": 0}, "--side 0"), ("road", {"side": 3, "keep": 2}, "keep 2"),
     ("ssca2", {"scale": -5}, "--scale -5: give a number from 1 to 40"),
     ("ssca2", {"scale": 40, "clique": 1}, "bounds of about 1,099,511,627,776 cliques"),
     ("ssca2", {"scale": 28, "clique": 1, "budget": Budget(1 << 30)},
      "take 6 GiB of memory, and .* may be taken"),
     ("ssca2", {"scale": 5, "clique": -1}, "--clique -1: give a number from 0 to 1099"),
     ("ssca2", {"scale": 40, "clique": 1 << 64}, "--clique 1844.*: give a number"),
     ("rgg2d", {"n": 0}, "rgg2d: --n 0: give a number 3 or more"),
     ("rgg2d", {"n": 10}, "rgg2d: --degree 16.0: give a number from 0.2 to 8.0"),
     ("rgg3d", {"n": 10, "degree": 0}, "rgg3d: --degree 0: give a number from 0.2"),
     ("rhg", {"n": 10, "degree": 30}, "rhg: --degree 30: give a number from 0.2 to"),
     ("rhg", {"n": 100, "gamma": 2}, "rhg: --gamma 2: give a number above 2, up to"),
     ("grid2d", {"side": 0}, "grid2d: --side 0: give a number 1 or more"),
     ("grid3d", {"side": 3, "keep": 0}, "--keep 0: give a number above 0, up to 1")],
)  # fmt: skip
def test_what_cannot_be_made(kind, parameters, message):
    with pytest.raises(ConfigError, match=message):
        open_random(kind, **parameters).read()


def test_without_kagen_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "kagen", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"mndmst\[generate\]\""):
        open_random("rgg2d", n=10).read()
    assert len(open_random("gnm", n=10, m=20).read()) == 20


@pytest.mark.parametrize(
    "recipe",
    [p for p in PARTITIONS.glob("*.toml") if p.with_suffix("").is_dir()],
    ids=lambda p: p.stem,
)
def test_recipes_give_the_shipped_graph_and_its_answer(recipe, tmp_path):
    plan = tomllib.loads(recipe.read_text())
    shipped = open_graph(recipe.with_suffix(""))
    assert shipped.num_parts == plan["parts"]
    made = generate(tmp_path / "graph", parts=plan["parts"], **plan["generate"])
    assert made.uuid == shipped.uuid == plan["uuid"]
    edges = read_edges(recipe.with_suffix(""))
    answer = kruskal(edges.num_vertices, edges.src, edges.dst, edges.weight)
    assert plan["answer"] == {
        "vertices": edges.num_vertices,
        "edges": answer.m,
        "forest_edges": len(answer.src),
        "trees": answer.trees,
        "weight": answer.total,
        "digest": answer.digest,
    }
