"""Graphs that list nodes by ids, and edges with attributes, as graph files have them.

The ids become numbers, and names of vertices where they are not 0, 1, 2, ... already.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.formatting import counted
from ..edge_file import EdgeFile, Edges, EdgesInMemory, checked_edges, read_number
from ..names import (
    IntegerNames,
    Names,
    distinct_names,
    escaped,
    is_integer,
    names_of_values,
)
from .edge_attributes import (
    Attributes,
    find_weight,
    unnested,
    values_of,
    weights_of,
)
from .table_columns import WEIGHTS, ColumnNames, plain


@dataclass(frozen=True)
class AttributedGraph:
    """A graph as a file lists it."""

    nodes: list[object]  # ids, each of one node
    ends: list[tuple[object, object]]  # the two ids of each edge
    edges: Sequence[Attributes]
    # The attributes that the format gives to edges without them
    defaults: Attributes = field(default_factory=dict)
    # The attributes that an edge has several times, and the ends of that edge
    repeated: Mapping[str, str] = field(default_factory=dict)
    # The attribute that is the weight, where the format says it; "" for none
    weight: str | None = None


def edges_of_graph(
    path: Path, graph: AttributedGraph, picked: ColumnNames | None
) -> EdgeFile:
    """Return the edges of a graph under the rule for weights of `edge_attributes`."""
    if picked and (picked.source or picked.target):
        raise ConfigError(
            f"{path}: the format names the ends of edges itself. Give --columns the "
            "weight alone."
        )
    given = picked.weight if picked else None
    given = graph.weight if given is None else given
    edges = unnested(path, graph.edges, given)
    if graph.defaults:
        edges = [{**graph.defaults, **edge} for edge in edges]
    edges = _with_numbers(edges, given)
    name = find_weight(path, edges, given)

    def edge_of(number: int) -> str:
        return " to ".join(escaped(str(end)) for end in graph.ends[number])

    note = "weight: 1 for every edge"
    if name is not None:
        note = f"weight: {name}"
        if name in graph.repeated:
            raise InputError(
                f"{path}: the edge {escaped(graph.repeated[name])} has several values "
                f"of {name}. Keep one, or give --columns weight= for weight 1 of every "
                "edge."
            )
        missing = sum(name not in edge for edge in graph.edges)
        if name in graph.defaults and missing:
            note += f" (by default {graph.defaults[name]}: {counted(missing, 'edge')})"
    weight = weights_of(path, name or "", values_of(path, edges, name, edge_of))
    src, dst = ([end[side] for end in graph.ends] for side in (0, 1))
    listed = edges_of_nodes(path, graph.nodes, src, dst, weight)
    return EdgesInMemory(str(path), listed, notes=(note,), weight_name=name or "")


def _with_numbers(
    edges: Sequence[Attributes], picked: str | None
) -> Sequence[Attributes]:
    """Return attributes with weights as numbers that the file has as texts.

    OSMnx, for example, declares every attribute of GraphML to be text.
    """
    for name in {name for edge in edges for name in edge}:
        texts = [edge[name] for edge in edges if name in edge]
        known = plain(str(name)) in WEIGHTS or name == picked
        if not known or not all(isinstance(text, str) for text in texts):
            continue
        try:
            number = {text: read_number(text) for text in set(texts)}  # type: ignore[arg-type]
        except ValueError:  # then it is text
            continue
        edges = [
            {**edge, name: number[edge[name]]} if name in edge else edge
            for edge in edges
        ]
    return edges


def ids_of_labels(path: Path, labels: list[str]) -> list[object]:
    """Return labels of all vertices as ids: integers if all are, else texts."""
    distinct = len(set(labels))
    if distinct < len(labels):
        raise InputError(
            f"{path}: lists {counted(len(labels), 'vertex')}, and their labels are "
            f"{distinct:,} different ones. Give each a label of its own."
        )
    return list(map(id_converter(labels), labels))


def id_converter(ids: Iterable[object]) -> Callable[[object], object]:
    """Return `int` if all ids are texts that are integers, else the identity."""
    whole = all(isinstance(name, str) and is_integer(name) for name in ids)
    return int if whole else lambda name: name  # type: ignore[return-value]


def edges_of_nodes(
    path: Path,
    ids: Sequence[object],
    src: Sequence[object],
    dst: Sequence[object],
    weight: np.ndarray,
) -> Edges:
    """Return the edges between listed nodes, with all nodes as vertices.

    `src` and `dst` have ids. The type of an id counts: 1, 1.0, true and "1" are four.
    Raises InputError if two nodes have one id, or an edge names none of them.
    """
    numbers, names = _number_nodes(path, ids)
    number = dict(zip(map(json.dumps, ids), numbers.tolist(), strict=True))
    keys = list(map(json.dumps, [*src, *dst]))
    try:
        ends = np.fromiter(map(number.__getitem__, keys), np.int64, len(keys))
    except KeyError as error:
        raise InputError(
            f"{path}: an edge joins {error.args[0][:60]}, which is not in the list of "
            "nodes. Add it there."
        ) from error
    tails, heads = np.split(ends, 2)
    edges = checked_edges(path, len(ids), tails, heads, weight)
    return replace(edges, names=names)


def _number_nodes(path: Path, ids: Sequence[object]) -> tuple[np.ndarray, Names | None]:
    """Return the numbers of nodes (int64), and the names they stand for.

    Ids from 0 on stay; others are numbered in ascending order, and are the names.
    """
    names = names_of_values(path, ids)
    ordered, numbers = distinct_names(names)
    if len(ordered) < len(ids):
        twice, _ = Counter(names.texts()).most_common(1)[0]
        raise InputError(
            f"{path}: two nodes have the id {escaped(twice)}. Give each an id of its "
            "own."
        )
    counted = isinstance(ordered, IntegerNames) and np.array_equal(
        ordered.columns()["integers"], np.arange(len(ids))
    )
    return numbers, None if counted or not ids else ordered


def names_to_write(
    edges: Edges, path: Path, refused: re.Pattern[str], why: str
) -> list[str]:
    """Return the names or numbers of all vertices as texts for a file.

    Raises ConfigError for a name with `refused` letters, which the format cannot hold.
    """
    if edges.names is None:
        return list(map(str, range(edges.num_vertices)))
    names = edges.names.texts()
    for name in names:
        if refused.search(name):
            raise ConfigError(
                f'{path}: the name "{escaped(name)}" has {why}. Give a name in .json, '
                ".csv or .parquet."
            )
    return names


def distinct_edges(edges: Edges) -> Iterator[tuple[int, int, int | float]]:
    """Yield the ends and the weight of each edge; an edge and its reverse are one."""
    src, dst, weight = edges.src, edges.dst, edges.weight
    if edges.directed:
        low, high = np.minimum(src, dst), np.maximum(src, dst)
        order = np.lexsort((weight, high, low))
        src, dst, weight = low[order], high[order], weight[order]
        new = np.ones(len(order), np.bool_)
        same = [column[1:] == column[:-1] for column in (src, dst, weight)]
        new[1:] = ~np.logical_and.reduce(same)
        src, dst, weight = src[new], dst[new], weight[new]
    return zip(src.tolist(), dst.tolist(), weight.tolist(), strict=True)
