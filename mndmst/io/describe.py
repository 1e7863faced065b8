"""Describe a file: a graph or a forest, whichever it is."""

from pathlib import Path
from typing import Any

import h5py

from .forest import FORMAT as FOREST_FORMAT
from .forest import describe_forest
from .layout import reading


def describe(path: Path) -> dict[str, Any]:
    """Return what a graph or a forest file holds, for people to read.

    Raises
    ------
    InputError
        If it is neither, or damaged.
    """
    if path.is_file():
        with reading(path), h5py.File(path) as file:
            is_forest = file.attrs.get("format") == FOREST_FORMAT
        if is_forest:
            return describe_forest(path)
    from .build import describe as describe_graph

    return describe_graph(path)
