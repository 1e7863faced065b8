"""Graphs that networkx has written as JSON [1]: node-link data or adjacency data.

Vertices are numbered in the order of their list; their names do not matter. An edge
without `weight` has weight 1. JSON is for small graphs: the whole file is objects in
memory.

[1] Hagberg, Schult and Swart: Exploring Network Structure, Dynamics, and Function
    using NetworkX. SciPy 2008; networkx.readwrite.json_graph.
"""

import json
from itertools import chain, repeat
from math import isinf
from operator import itemgetter, methodcaller
from pathlib import Path
from typing import Any

import numpy as np

from ...host.counted import counted
from ...host.errors import InputError, MndmstError
from ..edges import Edges, checked_edges, narrow_integers
from .files import read_bytes

# An empty object of two letters takes 64 bytes, one with a name of none 184.
COPIES = 40
_weight = methodcaller("get", "weight", 1)
_id = itemgetter("id")


def read(path: Path) -> Edges:
    """Read a `.json` file; see `formats.read_edges`."""
    text = read_bytes(path, COPIES)
    try:
        graph = json.loads(text, parse_float=_real)
        number = {name: i for i, name in enumerate(map(_id, graph["nodes"]))}
        if "adjacency" in graph:
            ends, records = _of_adjacency(graph, number)
        else:
            ends, records = _of_links(graph, number)
        weight = _weights(list(map(_weight, records)))
    except RecursionError as error:
        raise InputError(f"{path}: is no graph (nested too deeply).") from error
    except MndmstError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path}: is no node-link or adjacency data of networkx, or damaged "
            f"({type(error).__name__}: {error}). Write it with json.dump("
            "networkx.node_link_data(graph), file)."
        ) from error
    src, dst = (np.array(side, np.int64) for side in ends)
    return checked_edges(path, len(number), src, dst, weight, directed=True)


def _of_links(graph: dict[str, Any], number: dict[Any, int]) -> tuple[Any, list[Any]]:
    links = graph["edges"] if "edges" in graph else graph["links"]
    ends = [
        list(map(number.__getitem__, map(itemgetter(end), links)))
        for end in ("source", "target")
    ]
    return ends, links


def _of_adjacency(
    graph: dict[str, Any], number: dict[Any, int]
) -> tuple[Any, list[Any]]:
    rows = graph["adjacency"]
    if len(rows) != len(number):
        raise ValueError(
            f"{counted(len(rows), 'row')} for {counted(len(number), 'node')}"
        )
    links = list(chain.from_iterable(rows))
    src = chain.from_iterable(map(repeat, range(len(rows)), map(len, rows)))
    return (list(src), list(map(number.__getitem__, map(_id, links)))), links


def _real(text: str) -> float:
    """Return a number; raise ValueError if it is beyond the largest float64."""
    number = float(text)
    if isinf(number):
        raise ValueError(f"{text} is beyond the largest float64, 1.8e308")
    return number


def _weights(numbers: list[Any]) -> np.ndarray:
    """Return numbers as integers if all are, else as float64."""
    kinds = set(map(type, numbers))
    if not kinds <= {int, float}:
        raise TypeError("a weight is no number")
    if kinds <= {int}:
        return narrow_integers(np.array(numbers, np.int64))
    return np.array(numbers, np.float64)
