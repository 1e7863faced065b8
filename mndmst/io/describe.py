"""Describe a file: a graph, a forest or labels, whichever it is."""

from pathlib import Path
from typing import Any

from .clusters import FORMAT as CLUSTERS_FORMAT
from .clusters import describe_clusters
from .forest import FORMAT as FOREST_FORMAT
from .forest import describe_forest
from .labels import FORMAT as LABELS_FORMAT
from .labels import describe_labels
from .layout import open_hdf5, read_attribute, reading


def describe(path: Path) -> dict[str, Any]:
    """Return what a graph or a file of results holds, for people to read.

    Raises
    ------
    InputError
        If it is none of these, or damaged.
    """
    if not path.is_dir():
        with reading(path), open_hdf5(path) as file:
            kind = read_attribute(file, "format")
        if kind == FOREST_FORMAT:
            return describe_forest(path)
        if kind == LABELS_FORMAT:
            return describe_labels(path)
        if kind == CLUSTERS_FORMAT:
            return describe_clusters(path)
    from .build import describe as describe_graph

    return describe_graph(path)
