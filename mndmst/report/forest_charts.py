"""Charts and a table of a forest: weights, trees, degrees, and merges by weight."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api.forest import Forest

BARS = 40
SHOWN_POINTS = 2_000  # of a line
SHOWN_MERGES = 10
COLOUR, SECOND_COLOUR = "#3b6fb6", "#e6842a"


@dataclass(frozen=True)
class Merges:
    """The components that the edges of a forest join, in ascending order of weight."""

    weight: np.ndarray  # float64, shape (edges,)
    # int64, shape (edges,): vertices of the two components that the edge joins.
    smaller: np.ndarray
    larger: np.ndarray
    num_vertices: int

    @classmethod
    def of(cls, forest: Forest) -> "Merges":
        """Return the merges of a forest."""
        if not len(forest):
            none = np.zeros(0, np.int64)
            return cls(none.astype(np.float64), none, none, forest.num_vertices)
        rows = forest.linkage()[: len(forest)]  # further rows join trees
        sizes = np.ones(forest.num_vertices + len(rows), np.int64)
        sizes[forest.num_vertices :] = rows[:, 3]
        both = np.sort(sizes[rows[:, :2].astype(np.int64)], axis=1)
        return cls(rows[:, 2], both[:, 0], both[:, 1], forest.num_vertices)

    def largest(self) -> np.ndarray:
        """Return the positions of the merges with the largest smaller component."""
        order = np.argsort(-self.smaller, kind="stable")[:SHOWN_MERGES]
        return np.sort(order[self.smaller[order] > 1])


def weights(axes: Any, forest: Forest) -> None:
    """Draw how many edges have which weight."""
    finite = forest.weight[np.isfinite(forest.weight)]
    axes.hist(finite.astype(np.float64), BARS, color=COLOUR)
    axes.set(xlabel="weight", ylabel="edges", title="Weights")


def tree_sizes(axes: Any, forest: Forest) -> None:
    """Draw how many trees have which number of vertices."""
    sizes = forest.component_sizes()
    bounds = np.unique(np.geomspace(1, sizes.max(initial=1) + 1, BARS).astype(np.int64))
    axes.hist(sizes, np.append(bounds, bounds[-1] + 1), color=COLOUR)
    _logarithmic(axes)
    axes.set(xlabel="vertices of a tree", ylabel="trees", title="Sizes of trees")


def degrees(axes: Any, forest: Forest) -> None:
    """Draw how many vertices have which number of edges in the forest."""
    ends = np.concatenate([forest.src, forest.dst])
    counts = np.bincount(np.bincount(ends, minlength=forest.num_vertices))
    shown = np.flatnonzero(counts)
    axes.bar(shown, counts[shown], color=COLOUR)
    axes.set_yscale("symlog", linthresh=1)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel="edges of a vertex", ylabel="vertices", title="Degrees")


def growth(axes: Any, merges: Merges) -> None:
    """Draw the components left, and the largest one, as edges are added by weight."""
    largest = np.maximum.accumulate(merges.smaller + merges.larger)
    left = merges.num_vertices - 1 - np.arange(len(largest))
    finite = np.flatnonzero(np.isfinite(merges.weight))
    most = min(SHOWN_POINTS, len(finite))
    shown = finite[np.linspace(0, len(finite) - 1, most).astype(np.int64)]
    weight = merges.weight[shown]
    axes.step(weight, left[shown], color=COLOUR, where="post", label="components")
    axes.step(
        weight, largest[shown], color=SECOND_COLOUR, where="post",
        label="vertices of the largest",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set(xlabel="edges up to this weight", title="When components merge")
    axes.legend(frameon=False, fontsize=8)


def _logarithmic(axes: Any) -> None:
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=1)
