"""Light edges first: the one policy by which all forests are computed.

1. *First phase.* The lightest edges, about one per vertex, contract first
   (`first_share`). In a sparse graph these are all edges.
2. *Giant component.* The forest of the light edges usually has a giant component
   (`giant_component`). Without one, a phase with twice as many edges follows, until
   there is one (`doubling_shares`).
3. *Dropped edges.* A heavier edge of the forest joins two components, so an edge
   inside the giant component is dropped. Only the rows of vertices outside are
   searched, lightest arc first, up to their lightest arc into the giant component
   (`kernels/heavier_arcs.py`).

For spanning forests this is filter-Kruskal [1]; for connected components, where a light
edge is as good as any, it is the sampling of Afforest [2].

The rows of a rank (`backends/cpu`, `backends/cuda`), lists of edges (`edge_forest.py`,
`kernels/spanning_forest.py`, `kernels/boruvka_rounds.py`) and the bands of all ranks
(`solver/bands.py`) differ in how they select the edges of a phase, not in these rules.

[1] Osipov, Sanders, Singler: The filter-Kruskal minimum spanning tree algorithm,
    ALENEX 2009. [2] Sutton, Ben-Nun, Barak: Optimizing parallel graph connectivity
    computation via subgraph sampling, IPDPS 2018.
"""

from collections.abc import Iterator

import numpy as np

from .tuning import Tuning

# A first phase with a larger share of the edges gains nothing over a single phase.
LARGEST_SHARE = 0.5


def first_share(
    edges: float, vertices: int, per_vertex: float, tuning: Tuning
) -> float | None:
    """Return the share of the edges in the first phase; None for a single phase.

    `edges` is half of the number of arcs, `vertices` counts vertices with edges, and
    `per_vertex` is the number of light edges per vertex; 0 makes a single phase.
    """
    if edges <= tuning.dense_edges * vertices:
        return None
    share = per_vertex * vertices / edges
    return share if 0 < share < LARGEST_SHARE else None


def doubling_shares(first: float | None) -> Iterator[float]:
    """Yield the cumulative shares at which all phases but the last end."""
    share = first or 1.0
    while share < LARGEST_SHARE:
        yield share
        share *= 2


def giant_component(sample: np.ndarray, tuning: Tuning) -> int | None:
    """Return the component that most sampled arcs leave, or None without a majority.

    `sample` has the components at the tails of random arcs.
    """
    values, counts = np.unique(sample, return_counts=True)
    if counts.max(initial=0) <= tuning.giant_share * len(sample):
        return None
    return int(values[counts.argmax()])


def largest_component(sample: np.ndarray) -> int:
    """Return the most frequent component of a sample, giant or not.

    It is for rows that are a whole graph: every remaining edge has an end outside any
    given component, so the rows of one component need no search, and the largest
    component saves most.
    """
    values, counts = np.unique(sample, return_counts=True)
    return int(values[counts.argmax()])


def outside_bits(component: np.ndarray, giant: int) -> np.ndarray:
    """Return a bit for each vertex, set outside the giant component."""
    return np.packbits(component != giant, bitorder="little")
