"""Write rooted trees as a table with a row for each vertex, or as Newick trees."""

from pathlib import Path

import numpy as np

from ...tree.rooted_trees import RootedTrees
from ..atomic_output import AtomicOutput
from ..names import NameSource
from ..output_kinds import ROOTED
from .newick import leaf_names, write_trees
from .text_tables import SEPARATORS, name_cells, number_cells, write_rows

# The columns of the table: vertices, and numbers
VERTICES = ("vertex", "parent", "root")
NUMBERS = ("depth", "distance", "size", "order")


def write_rooted(
    files: AtomicOutput,
    path: Path,
    trees: RootedTrees,
    weight: np.ndarray,
    names: NameSource | None,
) -> None:
    """Write rooted trees, with names of vertices or their numbers, to a file.

    `weight` has the weights of the forest's edges.
    """
    with (
        files.file(path, ROOTED) as temporary,
        temporary.open("w", encoding="utf-8") as text,
    ):
        if path.suffix == ".nwk":
            texts = None if names is None else names.take(slice(None)).texts()
            write_trees(text, trees, weight, leaf_names(texts))
            return
        separator = SEPARATORS[path.suffix]
        vertex = np.arange(len(trees.root))
        columns = vertex, trees.parent, trees.root
        numbers = [getattr(trees, name) for name in NUMBERS]
        cells = [name_cells(path, names)] * 3 + [number_cells] * len(numbers)
        text.write(separator.join((*VERTICES, *NUMBERS)) + "\n")
        write_rows(text, (*columns, *numbers), cells, separator)
