"""Newick trees of dendrograms: leaves, names, and lengths of paths."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from mndmst.cli.main import main
from mndmst.io.results.newick import (
    leaf_names,
    quoted_label,
    write_newick,
    write_trees,
)
from mndmst.tree.rooted_trees import root_trees


def newick_of(linkage: np.ndarray, name=str) -> list[str]:
    file = io.StringIO()
    write_newick(file, linkage, name)
    return file.getvalue().splitlines()


def distances(tree: str) -> dict[tuple[str, str], float]:
    """Return the lengths of the paths between all leaves, by a parser of its own."""
    tokens = re.findall(r"'(?:[^']|'')*'|[(),;]|:[^,();]+|[^(),:;]+", tree)
    stack: list[dict[str, float]] = [{}]
    found: dict[tuple[str, str], float] = {}
    last: dict[str, float] = {}
    for token in tokens:
        if token == "(":
            stack.append({})
        elif token in ",)":
            for one, near in last.items():
                for other, far in stack[-1].items():
                    found[tuple(sorted((one, other)))] = near + far
            stack[-1] |= last
            last = stack.pop() if token == ")" else {}
        elif token.startswith(":"):
            last = {leaf: length + float(token[1:]) for leaf, length in last.items()}
        elif token != ";":
            last = {token: 0.0}
    return found


def test_paths_are_as_long_as_the_distances_that_merge_their_leaves() -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    for seed in range(5):
        points = np.random.default_rng(seed).integers(0, 9, (30, 2)).astype(float)
        linkage = hierarchy.linkage(points, "single")
        (tree,) = newick_of(linkage)
        found = distances(tree)
        expected = hierarchy.cophenet(linkage)
        pairs = [(i, j) for i in range(30) for j in range(i + 1, 30)]
        assert len(found) == len(pairs)
        for (i, j), distance in zip(pairs, expected, strict=True):
            key = tuple(sorted((str(i), str(j))))
            assert found[key] == pytest.approx(distance, abs=1e-12)


def test_names_are_quoted_where_they_must_be() -> None:
    names = ["plain-1.2", "it's", "a (b)", ""]
    assert [quoted_label(name) for name in names] == [
        "plain-1.2",
        "'it''s'",
        "'a (b)'",
        "''",
    ]
    linkage = np.array([[0.0, 1.0, 3.0, 2.0]])
    assert newick_of(linkage, lambda point: ("x y", "z")[point]) == [
        "('x y':1.5,z:1.5);"
    ]


def test_a_forest_is_one_line_for_each_tree() -> None:
    linkage = np.array([[0, 1, 2.0, 2], [2, 3, 4.0, 2], [4, 5, np.inf, 4]])
    assert newick_of(linkage) == ["(0:1.0,1:1.0);", "(2:2.0,3:2.0);"]
    assert newick_of(np.empty((0, 4))) == ["0;"]


def test_deep_trees_need_no_recursion() -> None:
    n = 20_000
    rows = np.arange(n - 1)
    left = np.where(rows == 0, 0, n + rows - 1)
    linkage = np.stack([rows + 1, left, rows + 1.0, rows + 2], axis=1)
    (tree,) = newick_of(linkage)
    assert tree.count("(") == n - 1 and tree.endswith(";")


def test_the_commands_write_it(mndmst, tmp_path) -> None:
    pytest.importorskip("scipy")
    table = tmp_path / "strains.csv"
    table.write_text("id,x\nA 1,0\nB,1\nC,5\n")
    pairs = ("--min-samples", 1, "--min-cluster-size", 2)
    for command, options in (("linkage", ()), ("hdbscan", pairs)):
        tree = tmp_path / f"{command}.nwk"
        run = mndmst(command, table, *options, "-o", tree, "-q")
        assert run.returncode == 0, run.stderr
        found = distances(tree.read_text())
        assert found == {("'A 1'", "B"): 1.0, ("'A 1'", "C"): 4.0, ("B", "C"): 4.0}


def test_a_forest_keeps_its_inner_vertices_and_weights() -> None:
    src, dst = np.array([0, 1, 1, 5]), np.array([1, 2, 3, 6])
    weight, file = np.array([3, 1, 2, 9]), io.StringIO()
    trees = root_trees(7, src, dst, weight)
    write_trees(file, trees, weight, leaf_names(["root", "b c", *"defgh"]))
    first, *others = file.getvalue().splitlines()
    assert first in ("((d:1,e:2)'b c':3)root;", "((e:2,d:1)'b c':3)root;")
    assert others == ["f;", "(h:9)g;"]


def test_convert_writes_trees_and_dendrograms_with_the_names_of_points(
    tmp_path: Path,
) -> None:
    table = tmp_path / "points.csv"
    table.write_text("id,x\none,0\ntwo,1\nthree,3\n")
    forest, clusters = tmp_path / "forest.h5", tmp_path / "clusters.h5"
    linkage = ["linkage", str(table), "--forest", str(forest), "-o", str(clusters)]
    assert main([*linkage, "-q"]) == 0
    outputs = {
        (forest, "tree.nwk"): "((three:2.0)two:1.0)one;\n",
        (clusters, "dendrogram.nwk"): "(three:1.0,(one:0.5,two:0.5):0.5);\n",
    }
    for (source, name), text in outputs.items():
        assert main(["convert", str(source), str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text() == text
    other = tmp_path / "other.nwk"
    assert main(["convert", str(forest), str(other), "--dendrogram"]) == 0
    assert other.read_text() == "(three:1.0,(one:0.5,two:0.5):0.5);\n"
    graph = tmp_path / "tree.json"
    assert main(["convert", str(forest), str(graph)]) == 0
    links = json.loads(graph.read_text())
    assert {node["id"] for node in links["nodes"]} == {"one", "two", "three"}
    assert "<node id=" in _converted(forest, tmp_path / "tree.graphml")


def _converted(source: Path, path: Path) -> str:
    assert main(["convert", str(source), str(path)]) == 0
    return path.read_text()
