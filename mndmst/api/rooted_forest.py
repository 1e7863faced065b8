"""A forest whose trees hang from roots."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..host.errors import optional
from ..host.formatting import counted
from ..tree.rooted_trees import RootedTrees
from .inputs import as_flag, as_path

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False, repr=False)
class RootedForest:
    """A spanning forest whose trees have roots, as `Forest.rooted` returns it.

    Each array has an entry a vertex, in the order of `nodes`. Roots and parents are
    numbers, or names where the forest has names.

    Attributes
    ----------
    nodes : ndarray, shape (vertices,)
        The vertices: numbers, or names.
    weight : ndarray, shape (edges,)
        The weights of the forest's edges.
    trees : RootedTrees
        The same arrays, with numbers for roots and parents, which are indices of all of
        them.
    """

    nodes: np.ndarray
    weight: np.ndarray
    trees: RootedTrees

    @property
    def root(self) -> np.ndarray:
        """The root of each vertex's tree."""
        return self.nodes[self.trees.root]

    @property
    def roots(self) -> np.ndarray:
        """The root of each tree, shape (trees,)."""
        return self.nodes[self.trees.roots]

    @property
    def parent(self) -> np.ndarray:
        """The next vertex on the path to the root; a root is its own parent."""
        return self.nodes[self.trees.parent]

    @property
    def edge(self) -> np.ndarray:
        """The position of the edge to the parent in the forest; -1 for a root."""
        return self.trees.edge

    @property
    def depth(self) -> np.ndarray:
        """The number of edges on the path from the root."""
        return self.trees.depth

    @property
    def distance(self) -> np.ndarray:
        """The sum of the weights on the path from the root.

        Exact for weights that are integers, unless all together exceed 64 bits; of
        floats added from the root on.
        """
        return self.trees.distance

    @property
    def size(self) -> np.ndarray:
        """The number of vertices of the subtree, the vertex itself included."""
        return self.trees.size

    @property
    def order(self) -> np.ndarray:
        """The position of the vertex in an order in which parents come before children.

        A subtree is the range from `order` to `order + size`. The child with the
        largest subtree comes first.
        """
        return self.trees.order

    @property
    def vertices(self) -> np.ndarray:
        """All vertices in that order."""
        return self.nodes[self.trees.vertices]

    def __repr__(self) -> str:
        trees = counted(len(self.trees.roots), "tree")
        deepest = int(self.depth.max(initial=0))
        return f"RootedForest({trees}, deepest vertex {counted(deepest, 'edge')} down)"

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a `pandas.DataFrame` with the columns that `write` writes."""
        from ..io.results.rooted_file import NUMBERS

        columns = {
            "vertex": self.nodes,
            "parent": self.parent,
            "root": self.root,
        }
        numbers = {name: getattr(self.trees, name) for name in NUMBERS}
        return optional("pandas", "tables").DataFrame(columns | numbers)

    def write(self, path: str | Path, overwrite: bool = False) -> None:
        """Write the rooted trees to a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            `.csv` or `.tsv` for a table with a row for each vertex; `.nwk` for Newick
            trees, a line each, with the weights as lengths.
        overwrite : bool
            Replace any file of that name.

        Raises
        ------
        ConfigError
            If the suffix is none of these.
        OutputError
            If the file cannot be written, or exists.
        InputError
            If files cannot hold the names.
        """
        from ..io.atomic_output import AtomicOutput, check_outputs
        from ..io.names import names_of_values
        from ..io.output_kinds import ROOTED
        from ..io.results.rooted_file import write_rooted

        path, overwrite = as_path(path, "path"), as_flag(overwrite, "overwrite")
        check_outputs([], [(path, ROOTED)], overwrite=overwrite)
        names = names_of_values("nodes", self.nodes.tolist())
        with AtomicOutput(overwrite=overwrite) as files:
            write_rooted(files, path, self.trees, self.weight, names)
