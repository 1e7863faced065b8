"""Maximum forests: components, bottlenecks, merges and clusters are mirrored."""

import itertools
import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import oracle
from oracle import Answer

import mndmst
from mndmst.host.errors import ConfigError

from .case import expect, numbers
from .shapes import draw_graph


def check(draw: random.Random, folder: Path) -> str:
    """Compute a maximum forest and ask it all queries; return the outcome."""
    graph = draw_graph(draw, 120)
    columns = graph.src, graph.dst, graph.weight
    forest = mndmst.minimum_spanning_forest(*columns, graph.n, maximum=True)
    right = oracle.maximum_kruskal(graph.n, *columns)
    outcome = "queries in memory"
    if draw.random() < 0.3:
        forest.write(folder / "forest.h5", labels=draw.random() < 0.5)
        forest = mndmst.Forest.read(folder / "forest.h5")
        outcome = "queries of a file"
    compare(forest, right, graph.n)
    for _ in range(3):
        check_threshold(forest, right, graph.n, draw_threshold(draw, right.weight))
    check_paths(draw, forest, right, graph.n)
    return f"{outcome}, {check_merges(draw, forest, right, graph.n)}"


def compare(forest: Any, right: Answer, n: int) -> None:
    """Compare the edges and the totals."""
    for name in ("src", "dst", "weight"):
        found, its = getattr(forest, name), getattr(right, name)
        expect(np.array_equal(found, its), f"{name}: {found} in place of {its}")
    expect(forest.weight.dtype == right.weight.dtype, "weights have another type")
    expect(forest.maximum and forest.num_trees == right.trees, forest)
    said, true = (
        (str(forest.total_weight), forest.digest),
        (str(right.total), right.digest),
    )
    expect(said == true, f"{said} in place of {true}")
    labels = oracle.smallest_of_trees(n, right.src, right.dst)
    expect(np.array_equal(forest.labels, labels), "labels are not the oracle's")


def draw_threshold(draw: random.Random, weight: np.ndarray) -> int | float:
    """Return a number at, beside or between weights."""
    one = draw.choice([*weight.tolist(), 0])
    if isinstance(one, float) and not math.isfinite(one):
        return one
    beside: list[int | float] = [one, one + 1, one - 1, one / 2]
    if abs(one) < 1 << 50:
        beside += [one + 0.5, one - 0.5]
    return draw.choice(beside)


def check_threshold(forest: Any, right: Answer, n: int, threshold: int | float) -> None:
    """Check the components above a threshold, and the clusters that reach it."""
    above = np.array([w > threshold for w in right.weight.tolist()], np.bool_)
    labels = oracle.smallest_of_trees(n, right.src[above], right.dst[above])
    about = f"above={threshold!r}"
    expect(np.array_equal(forest.cut(above=threshold), labels), about)
    parts = [np.flatnonzero(labels == one).tolist() for one in np.unique(labels)]
    found = [part.tolist() for part in forest.components(above=threshold)]
    expect(found == parts, f"components {about}: {found} in place of {parts}")
    sizes = forest.component_sizes(above=threshold).tolist()
    expect(sizes == list(map(len, parts)), f"sizes {about}: {sizes}")
    reached = np.array([w >= threshold for w in right.weight.tolist()], np.bool_)
    labels = oracle.smallest_of_trees(n, right.src[reached], right.dst[reached])
    clusters = mndmst.clusters_within(forest, threshold)
    expect(np.array_equal(clusters, labels), f"clusters within {threshold!r}")
    for ask in (lambda: forest.cut(threshold), lambda: forest.components(threshold)):
        expect(refused(ask), "the threshold of a minimum forest is taken")


def check_paths(draw: random.Random, forest: Any, right: Answer, n: int) -> None:
    """Check paths and their weakest edges, of one pair and of many."""
    if n == 0:
        return
    u, v = numbers(draw).integers(0, n, (2, 20))
    ends = list(zip(right.src.tolist(), right.dst.tolist(), strict=True))
    weight = right.weight.tolist()
    found, connected = forest.path_min(u, v), forest.connected(u, v)
    for k, (one, other) in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
        path = oracle.path(ends, one, other)
        weakest = min(path, key=lambda p: (weight[p], -p)) if path else -1
        expect(found[k] == weakest, f"path_min of {one} and {other}: {found[k]}")
        expect(connected[k] == (path is not None), f"connected {one} and {other}")
        if k < 3:
            expect(forest.path_min(one, other) == weakest, "path_min of one pair")
            got = forest.path(one, other).tolist()
            expect(got == (path or []), f"path: {got} in place of {path}")
    expect(refused(lambda: forest.path_max(0, 0)), "path_max is answered")


def check_merges(draw: random.Random, forest: Any, right: Answer, n: int) -> str:
    """Check the dendrogram and clusters by number; return what the dendrogram is."""
    weight = right.weight.tolist()
    order = sorted(range(len(weight)), key=lambda i: weight[i], reverse=True)
    if n:
        count = draw.randint(right.trees, n)
        kept = np.array(order[: n - count], np.int64)
        labels = oracle.smallest_of_trees(n, right.src[kept], right.dst[kept])
        clusters = mndmst.clusters_by_count(forest, count)
        expect(np.array_equal(clusters, labels), f"{count} clusters")
    distances = [distance(weight, i) for i in order]
    if n == 0 or None in distances:
        expect(refused(forest.linkage), "a distance that is no number")
        return "no dendrogram"
    roots = np.unique(oracle.smallest_of_trees(n, right.src, right.dst)).tolist()
    merges = [(int(right.src[i]), int(right.dst[i]), d)
              for i, d in zip(order, distances, strict=True)]  # fmt: skip
    merges += [(a, b, math.inf) for a, b in itertools.pairwise(roots)]
    rows = oracle.single_linkage(n, merges)
    found = forest.linkage()
    its = np.array(rows, np.float64).reshape(-1, 4)
    expect(np.array_equal(found, its), f"dendrogram {found} in place of {its}")
    return "dendrogram"


def distance(weight: list, position: int) -> float | None:
    """Return the largest weight less one, rounded once; None if it is no number."""
    try:
        return float(Fraction(max(weight)) - Fraction(weight[position]))
    except (OverflowError, ValueError):
        return None


def refused(ask: Any) -> bool:
    """Return whether a call is refused in one line."""
    try:
        ask()
    except ConfigError as error:
        return "\n" not in str(error)
    return False
