"""Forests that are wrong by as little as can be."""

import random

import numpy as np
from graphs import Graph
from oracle import Answer

from .case import numbers

KINDS = ("drop", "replace", "add", "weight", "label", "vertices")


def mutated(
    draw: random.Random, graph: Graph, answer: Answer, labels: np.ndarray
) -> tuple[int, Answer, np.ndarray] | None:
    """Return vertices, edges and labels that are no forest of the graph, or None.

    None where what was drawn is not possible: a graph without edges has no edge to
    drop.
    """
    kind, count = draw.choice(KINDS), len(answer.src)
    if kind == "vertices":
        return graph.n + 1, answer, np.append(labels, graph.n)
    if kind == "label":
        at = draw.randrange(graph.n) if graph.n else 0
        other = draw.randrange(graph.n) if graph.n else 0
        wrong = labels.copy()
        wrong[at : at + 1] = other
        return None if np.array_equal(wrong, labels) else (graph.n, answer, wrong)
    at = draw.randrange(count) if count else 0
    kept = np.arange(count) != at
    if kind == "drop":
        return (graph.n, _of(answer, kept), labels) if count else None
    if kind == "weight":
        weight = answer.weight.copy()
        weight[at : at + 1] = draw.choice([*graph.weight[:50], 0, 1])
        same = np.array_equal(weight, answer.weight)
        return None if same else (graph.n, answer._replace(weight=weight), labels)
    if kind == "add":
        kept[:] = True
    edge = _other_edge(draw, graph, answer)
    if edge is None or (kind == "replace" and not count):
        return None
    return graph.n, _with(_of(answer, kept), edge), labels


def _of(answer: Answer, kept: np.ndarray) -> Answer:
    """Return some of the edges."""
    columns = {name: getattr(answer, name)[kept] for name in ("src", "dst", "weight")}
    return answer._replace(**columns)


def _with(answer: Answer, edge: tuple[int, int, object]) -> Answer:
    """Return the edges and one more, sorted."""
    src, dst = np.append(answer.src, edge[0]), np.append(answer.dst, edge[1])
    weight = np.append(answer.weight, np.array([edge[2]], answer.weight.dtype))
    return _of(Answer(answer.m, answer.trees, src, dst, weight), np.lexsort((dst, src)))


def _other_edge(
    draw: random.Random, graph: Graph, answer: Answer
) -> tuple[int, int, object] | None:
    """Return an edge of the graph that is not in the forest."""
    inside = set(zip(answer.src.tolist(), answer.dst.tolist(), strict=True))
    places = numbers(draw).permutation(len(graph.src))[:1000]
    for place in places.tolist():
        low, high = sorted((int(graph.src[place]), int(graph.dst[place])))
        if low != high and (low, high) not in inside:
            return low, high, graph.weight[place]
    return None
