"""Random graphs of the kinds that break forest codes, and ways to solve them."""

import random
from typing import Any

import graphs
import numpy as np
from graphs import Graph

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.solver.config import MERGES

from .case import numbers

SHAPES = (
    *("sparse", "random", "dense", "path", "shuffled path", "alternating path"),
    *("star", "clique", "clusters", "grid", "few vertices", "parallel", "loops"),
    *("isolated", "no edge"),
)
ORDERS = (
    *("equal", "few", "any", "extremes", "ascending", "descending"),
    *("distance", "larger end", "edge order"),
)


def draw_graph(draw: random.Random, most: int = 400) -> Graph:
    """Return a graph of any shape and any weights."""
    graph = draw_shape(draw, draw.choice(SHAPES), draw.randint(1, most))
    return with_weights(graph, draw)


def draw_near(draw: random.Random, most: int = 20_000) -> Graph:
    """Return a larger graph whose edges are between near vertices, mostly."""
    n, reach = draw.randint(most // 4, most), draw.randint(1, 40)
    src = numbers(draw).integers(0, n, draw.randint(1, 4) * n)
    dst = np.minimum(src + numbers(draw).integers(0, reach + 1, len(src)), n - 1)
    return with_weights(Graph(n, src, dst, src), draw)


def draw_shape(draw: random.Random, shape: str, n: int) -> Graph:
    """Return a graph of a shape, with any weights."""
    source = numbers(draw)
    seed = draw.getrandbits(32)
    if shape in ("sparse", "random", "dense"):
        degree = {"sparse": 0.6, "random": 3, "dense": 20}[shape]
        return graphs.random(n, int(degree * n), seed)
    if shape == "clique":
        return graphs.clique(min(n, 50))
    if shape == "star":
        return graphs.star(n, draw.randrange(n))
    if shape == "few vertices":
        few = draw.randint(1, 4)
        return graphs.random(few, draw.randint(0, 6), seed)
    if shape == "parallel":
        few = draw.randint(2, 9)
        return graphs.random(few, 10 * n, seed)
    if shape == "loops":
        return graphs.random(n, n, seed)._replace(dst=source.integers(0, n, n))
    if shape == "clusters":
        near = graphs.random(n, 6 * n, seed)
        size = draw.randint(2, 40)
        dst = np.minimum(near.src - near.src % size + near.dst % size, n - 1)
        return near._replace(dst=np.where(source.random(6 * n) < 0.05, near.dst, dst))
    if shape == "grid":
        side = max(2, int(n**0.5))
        place = np.arange(side * side).reshape(side, side)
        src = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
        dst = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
        return Graph(side * side, src, dst, src)
    if shape == "isolated":
        graph = graphs.random(n, n, seed)
        return graph._replace(n=5 * n, src=graph.src + 2 * n, dst=graph.dst + 2 * n)
    if shape == "no edge":
        return graphs.random(n, 0, seed)
    path = graphs.path(n)
    place = np.arange(n)
    if shape == "shuffled path":
        place = source.permutation(n)
    elif shape == "alternating path":
        place = np.argsort(np.arange(n) % draw.randint(2, 9), kind="stable")
    return path._replace(src=place[:-1], dst=place[1:])


def with_weights(graph: Graph, draw: random.Random) -> Graph:
    """Return a graph with weights of any type, in an order that may be hard."""
    source, order = numbers(draw), draw.choice(ORDERS)
    dtype = draw.choice(WEIGHT_DTYPES)
    count = len(graph.src)
    if order == "extremes":
        values = np.array(graphs.extremes(dtype.name), dtype)
        return graph._replace(weight=source.choice(values, count))
    if order == "any":
        weight = source.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
        return graph._replace(weight=np.where(weight == weight, weight, dtype.type(1)))
    weight = {
        "equal": np.full(count, draw.randint(0, 3)),
        "few": source.integers(0, draw.randint(1, 9), count),
        "ascending": np.arange(count),
        "descending": np.arange(count)[::-1],
        "distance": abs(graph.src - graph.dst),
        "larger end": np.maximum(graph.src, graph.dst),
        "edge order": np.minimum(graph.src, graph.dst) * graph.n
        + np.maximum(graph.src, graph.dst),
    }[order]
    below = dtype.kind != "u" and draw.random() < 0.3
    return graph._replace(weight=(weight - below * (count // 2)).astype(dtype))


def draw_way(draw: random.Random) -> dict[str, Any]:
    """Return options, and words of `ways.py`, that force a path of the program."""
    way: dict[str, Any] = {
        "merge": draw.choice(MERGES),
        "group_size": draw.choice((2, 3, 4, 8)),
        "light_edges": draw.choice((0, 0.4, 0.7, 1.3, 1.3, 5)),
        "leader_edges": draw.choice((0, 10, 1_000_000)),
        "ring_gain": draw.choice((0.0, 0.1, 1.0)),
        "round_gain": draw.choice((0.0, 0.1, 1.0)),
        "threads": draw.randint(1, 3),
    }
    words = {
        "much_left": True, "team": draw.choice([1, 4, 100]),
        "hosts": draw.randint(1, 4), "alternate": draw.randint(1, 3),
        "rounds": True, "no_peer": True, "host_peers": True,
        "near": True, "no_room": True, "recursion_edges": 0,
    }  # fmt: skip
    way |= {word: value for word, value in words.items() if draw.random() < 0.15}
    if draw.random() < 0.2:
        way |= {"two_workers": True, "ratio": draw.choice((0.0, 0.3, 0.6, 1.0))}
    if "no_room" not in way and draw.random() < 0.25:  # pieces need some
        way["stored"] = draw.choice((1, 3, 7, 50))
    return way
