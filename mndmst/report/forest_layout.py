"""Positions of a forest's vertices in the plane, from its edges alone.

Every layout sets the trees of the forest apart and gives each vertex another position.
A tree hangs from its smallest vertex. Apart from `spring`, a layout takes the time of
the forest's query index, which is that of a sort.
"""

from dataclasses import dataclass

import numpy as np

from ..api.forest import Forest
from ..host.errors import ConfigError, optional

LAYOUTS = ("radial", "tree", "spring")
MOST_SPRING = 2_000  # vertices; the forces of more take minutes
SPARSE_SPRING = 500  # vertices of a tree from which on networkx needs SciPy
SPRING_STEPS = 50


@dataclass(frozen=True)
class Hierarchy:
    """The rooted trees of a forest, all arrays in preorder."""

    vertex: np.ndarray  # int64: the vertices in preorder: each subtree is a range
    tree: np.ndarray  # int64: the number of each vertex's tree, from 0
    first: np.ndarray  # int64, shape (trees,): the position of each root
    depth: np.ndarray  # int64: edges between a vertex and its root
    # float64: the middle of the leaves below a vertex; leaves are numbered over the
    # forest.
    middle: np.ndarray
    # int64, shape (trees,): the number of leaves of each tree; an isolated vertex is a
    # leaf.
    leaves: np.ndarray


def layout(forest: Forest, name: str) -> np.ndarray:
    """Return the positions of the vertices in a layout, shape (vertices, 2).

    Raises ConfigError if the forest is too large for the layout `spring`; InputError if
    the edges close a cycle; MissingExtraError if networkx is not installed, for
    `spring`.
    """
    if name == "spring" and forest.num_vertices > MOST_SPRING:
        raise ConfigError(
            f"--layout spring takes at most {MOST_SPRING:,} vertices, and the forest "
            f"has {forest.num_vertices:,}. Give --layout radial or tree."
        )
    hierarchy = _hierarchy(forest)
    in_preorder = {"tree": _as_tree, "radial": _as_circles, "spring": _as_springs}
    positions = np.empty((forest.num_vertices, 2))
    positions[hierarchy.vertex] = in_preorder[name](forest, hierarchy)
    return positions


def _hierarchy(forest: Forest) -> Hierarchy:
    rooted = forest.index.rooted
    count = forest.num_vertices
    position, end = np.arange(count), rooted.end.astype(np.int64)
    # Ancestors are the ranges that have begun and not ended.
    ended = np.cumsum(np.bincount(end, minlength=count + 1))[:count]
    leaves_before = np.concatenate([[0], np.cumsum(end == position + 1)])
    middle = (leaves_before[:-1] + leaves_before[end] - 1) / 2
    is_root = rooted.parent == position
    first = np.flatnonzero(is_root)
    return Hierarchy(
        vertex=rooted.vertex.astype(np.int64),
        tree=np.cumsum(is_root) - 1,
        first=first,
        depth=position - ended,
        middle=middle,
        leaves=leaves_before[end[first]] - leaves_before[first],
    )


def _as_tree(forest: Forest, hierarchy: Hierarchy) -> np.ndarray:
    """Return leaves in a row and parents above; a gap separates two trees."""
    across = hierarchy.middle + hierarchy.tree
    return np.stack([across, -hierarchy.depth.astype(np.float64)], axis=1)


def _as_circles(forest: Forest, hierarchy: Hierarchy) -> np.ndarray:
    """Return roots in the centres of circles, and the depth as radius."""
    radius = 0.5 + np.maximum.reduceat(hierarchy.depth, hierarchy.first)
    return _around_roots(hierarchy) + _packed(radius)[hierarchy.tree]


def _around_roots(hierarchy: Hierarchy) -> np.ndarray:
    """Return positions relative to the roots: a full turn over a tree's leaves."""
    tree = hierarchy.tree
    leaf = hierarchy.middle - (np.cumsum(hierarchy.leaves) - hierarchy.leaves)[tree]
    angle = 2 * np.pi * (leaf + 0.5) / hierarchy.leaves[tree]
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return unit * hierarchy.depth[:, None]


def _as_springs(forest: Forest, hierarchy: Hierarchy) -> np.ndarray:
    """Return the equilibrium of springs along edges, tree by tree."""
    networkx = optional("networkx", "networkx")
    graph = networkx.Graph()
    graph.add_nodes_from(range(forest.num_vertices))
    graph.add_edges_from(zip(forest.src.tolist(), forest.dst.tolist(), strict=True))
    around = _around_roots(hierarchy)
    bounds = np.append(hierarchy.first, len(around))
    radius = np.full(len(hierarchy.first), 0.5)
    for tree in np.flatnonzero(np.diff(bounds) > 1).tolist():
        part = slice(bounds[tree], bounds[tree + 1])
        vertices = hierarchy.vertex[part].tolist()
        if len(vertices) >= SPARSE_SPRING:
            optional("scipy.sparse", "formats")
        position_of = networkx.spring_layout(
            graph.subgraph(vertices),
            pos=dict(zip(vertices, around[part], strict=True)),
            iterations=SPRING_STEPS,
            seed=1,
        )
        positions = np.array([position_of[vertex] for vertex in vertices])
        positions -= positions.mean(axis=0)
        scale = np.sqrt(len(vertices)) / np.linalg.norm(positions, axis=1).max()
        around[part] = positions * scale
        radius[tree] = 0.5 + np.sqrt(len(vertices))
    return around + _packed(radius)[hierarchy.tree]


def _packed(radius: np.ndarray) -> np.ndarray:
    """Return centres of circles of some radii in rows, the largest first."""
    order = np.argsort(-radius, kind="stable")
    size = 2 * radius[order]
    ends = np.cumsum(size)
    width = max(np.sqrt(np.square(size).sum()), size[0])
    centres = np.empty((len(radius), 2))
    begin, top = 0, 0.0
    while begin < len(size):
        before = ends[begin] - size[begin]
        end = max(int(np.searchsorted(ends, before + width, "right")), begin + 1)
        row = slice(begin, end)
        across = ends[row] - before - size[row] / 2
        down = np.full(end - begin, top - size[begin] / 2)
        centres[order[row]] = np.stack([across, down], axis=1)
        top -= size[begin]
        begin = end
    return centres
