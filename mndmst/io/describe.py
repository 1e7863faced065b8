"""Describe a file: a graph, a forest or labels, whichever it is."""

from pathlib import Path
from typing import Any

import h5py

from .clusters import FORMAT as CLUSTERS_FORMAT
from .clusters import describe_clusters
from .forest import FORMAT as FOREST_FORMAT
from .forest import describe_forest
from .labels import FORMAT as LABELS_FORMAT
from .labels import describe_labels
from .layout import reading


def describe(path: Path) -> dict[str, Any]:
    """Return what a graph or a file of results holds, for people to read.

    Raises
    ------
    InputError
        If it is none of these, or damaged.
    """
    if path.is_file():
        with reading(path), h5py.File(path) as file:
            kind = file.attrs.get("format")
        if kind == FOREST_FORMAT:
            return describe_forest(path)
        if kind == LABELS_FORMAT:
            return describe_labels(path)
        if kind == CLUSTERS_FORMAT:
            return describe_clusters(path)
    from .build import describe as describe_graph

    return describe_graph(path)
