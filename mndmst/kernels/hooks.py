"""The first Borůvka round: every vertex hooks to the other end of its lightest edge.

The edges are distinct in the order, so these links form trees, except for one cycle of
two vertices in each, whose smaller vertex becomes the root. All steps work on a range
of vertices or edges, so that threads can divide them (see `contraction`).
"""

from typing import NamedTuple

import numpy as np

from ..graph.model import Rows
from ..native.kernel import kernel
from .intrinsics import choose, prefetch
from .kruskal import HALF

# Marks a root; the other bits are its number. A rank has at most 2^31 rows.
ROOT = np.uint32(1 << 31)
NUMBER = np.uint32((1 << 31) - 1)
# Kinds of vertices.
MEMBER, ROOT_OF_TREE, SINGLE = 0, 1, 2
# Vertices or edges from the one in use to the one whose far end is fetched.
FETCH_AHEAD = np.uint64(32)
# Steps up of all vertices before each follows its path to the root.
STEPS = 2


class Hooks(NamedTuple):
    """The vertex to which each row hooks, and the key of the arc.

    Rows without an arc hook to themselves.
    """

    hook: np.ndarray
    best: np.ndarray

    @classmethod
    def for_rows(cls, rows: Rows) -> "Hooks":
        """Allocate the hooks of some rows; `select` fills them in."""
        return cls(np.empty(len(rows), np.uint32), np.empty(len(rows), rows.keys.dtype))


@kernel
def find_roots(hook, begin, end, kind):
    """Classify the vertices in [begin, end): roots of trees, members, single vertices.

    `kind` (by vertex from `begin` on) becomes MEMBER, ROOT_OF_TREE or SINGLE, which has
    no edge. Returns the numbers of roots of trees and of single vertices.
    """
    roots = singles = 0
    first = np.uint64(begin)
    for vertex in range(first, np.uint64(end)):
        if vertex + FETCH_AHEAD < np.uint64(end):
            prefetch(hook, np.intp(hook[vertex + FETCH_AHEAD]))
        other = np.uint64(hook[vertex])
        single = other == vertex
        mutual = np.uint64(hook[other]) == vertex
        root = single | (mutual & (vertex < other))
        kind[vertex - first] = np.uint8(root) + np.uint8(single)
        roots += root
        singles += single
    return roots - singles, singles


@kernel
def number_roots(parent, begin, end, kind, number, single):
    """Number the roots in [begin, end): roots of trees and single vertices separately.

    `number` and `single` are the first number of each; `kind` is as in `find_roots`.
    The others keep their hooks as parents.
    """
    number, single, first = np.uint64(number), np.uint64(single), np.uint64(begin)
    for vertex in range(first, np.uint64(end)):
        kind_here = kind[vertex - first]
        numbered = np.uint32(ROOT | choose(kind_here == SINGLE, single, number))
        parent[vertex] = choose(kind_here == MEMBER, parent[vertex], numbered)
        number += np.uint64(kind_here == ROOT_OF_TREE)
        single += np.uint64(kind_here == SINGLE)


@kernel
def record_root_vertices(parent, begin, end, names):
    """Record the vertex of each root in [begin, end), by its number."""
    for vertex in range(np.uint64(begin), np.uint64(end)):
        if parent[vertex] & ROOT:
            names[parent[vertex] & NUMBER] = vertex


@kernel
def set_identity(parent, begin, end):
    """Make each of the components in [begin, end) its parent, that is, a root."""
    for component in range(np.uint64(begin), np.uint64(end)):
        parent[component] = component


@kernel
def count_roots(parent, begin, end):
    """Return the number of roots among the vertices in [begin, end)."""
    count = 0
    for vertex in range(np.uint64(begin), np.uint64(end)):
        count += (parent[vertex] & ROOT) != 0
    return count


@kernel
def hooked_edges(parent, best, first, begin, end, out):
    """Write the edges along which the vertices in [begin, end) hook.

    Roots have been numbered. `out` has exactly the length of the edges. `best` begins
    with the key of the vertex `first`.
    """
    u, v, key = out
    written, first = np.uint64(0), np.uint64(first)
    for vertex in range(np.uint64(begin), np.uint64(end)):
        if written == np.uint64(len(key)):
            break
        other = np.uint64(parent[vertex])
        u[written], v[written] = min(vertex, other), max(vertex, other)
        key[written] = best[vertex - first]
        written += np.uint64((parent[vertex] & ROOT) == 0)


@kernel
def _step_up(parent, begin, end):
    """Give the vertices in [begin, end) the parents of their parents."""
    for vertex in range(np.uint64(begin), np.uint64(end)):
        above = parent[vertex]
        above_root = (above & ROOT) != 0
        parent[vertex] = parent[choose(above_root, vertex, np.uint64(above))]


@kernel
def compress(parent, begin, end):
    """Point the vertices in [begin, end) at their roots' numbers.

    Hooks may form a chain of all vertices, so the vertices of a path that are in the
    range are pointed one step further (path splitting). Other threads may read them
    meanwhile: both the old and the new parent lead to the root, and stores of four
    bytes are atomic. Vertices of other ranges are not changed, because an old parent
    could overwrite a root. Most paths are short but of unpredictable length, so some
    steps without branches shorten all of them first.
    """
    for _ in range(STEPS):
        _step_up(parent, begin, end)
    begin, span = np.uint64(begin), np.uint64(end) - np.uint64(begin)
    for vertex in range(begin, np.uint64(end)):
        here, above = vertex, parent[vertex]
        while not above & ROOT:
            further = parent[np.uint64(above)]
            if here - begin < span:
                parent[here] = further
            here, above = np.uint64(above), further
        parent[vertex] = above


@kernel
def keep_cross_edges(edges, component, out_key, pairs):
    """Keep the edges between different components, in place; return their number.

    Their ends move to the front of `edges`, their keys to `out_key`, which may be the
    key of `edges`, and the components at both ends to `pairs`. Every edge is stored,
    and the count only advances past the edges to keep, which avoids an unpredictable
    branch.
    """
    u, v, key = edges
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        if i + FETCH_AHEAD < np.uint64(len(key)):
            prefetch(component, np.intp(v[i + FETCH_AHEAD]))
        x, y, weight = u[i], v[i], key[i]
        a = np.uint64(component[np.uint64(x)] & NUMBER)
        b = np.uint64(component[np.uint64(y)] & NUMBER)
        u[count], v[count], out_key[count] = x, y, weight
        pairs[count] = (a << HALF) | b
        count += np.uint64(a != b)
    return count


@kernel
def drop_hooks(u, v, key, hook):
    """Keep, in place, the edges along which u does not hook; return their number."""
    count = np.uint64(0)
    for i in range(np.uint64(len(key))):
        x, y = np.uint64(u[i]), np.uint64(v[i])
        u[count], v[count], key[count] = u[i], v[i], key[i]
        count += np.uint64(np.uint64(hook[x]) != y)
    return count


@kernel
def hooks_and_components(edges, first, hook, component, hooked, a, b):
    """Write whether a row hooks along each edge, and the components at its ends.

    Components have ids of vertices; the component of a ghost is the ghost.
    """
    u, v, _ = edges
    first, rows = np.uint64(first), np.uint64(len(hook))
    for i in range(np.uint64(len(u))):
        x, y = np.uint64(u[i]) - first, np.uint64(v[i]) - first
        local_x, local_y = x < rows, y < rows
        a[i] = first + np.uint64(component[x] & NUMBER) if local_x else x + first
        b[i] = first + np.uint64(component[y] & NUMBER) if local_y else y + first
        if local_x and local_y:
            hooked[i] = (np.uint64(hook[x]) == y) | (np.uint64(hook[y]) == x)


@kernel
def replace_by_parents(component, parent, begin, end):
    """Replace the components of the vertices in [begin, end) by their parents."""
    for vertex in range(np.uint64(begin), np.uint64(end)):
        component[vertex] = parent[component[vertex] & NUMBER]


@kernel
def write_names(component, parent, names, begin, end, name):
    """Write the names of the components of the vertices in [begin, end)."""
    for vertex in range(np.uint64(begin), np.uint64(end)):
        name[vertex] = names[parent[component[vertex] & NUMBER]]


@kernel
def vertices_outside(giant, component, indptr, begin, end):
    """Return the vertices in [begin, end) that are not in the giant component.

    Vertices without edges are left out.
    """
    outside = np.empty(end - begin + 1, np.uint32)  # unused pages stay untouched
    count = np.uint64(0)
    for vertex in range(np.uint64(begin), np.uint64(end)):
        outside[count] = vertex
        occupied = indptr[vertex] != indptr[vertex + np.uint64(1)]
        count += np.uint64((component[vertex] != giant) & occupied)
    return outside[:count]


@kernel
def update_and_list_outside(giant, component, parent, indptr, begin, end):
    """Do `replace_by_parents` and return `vertices_outside`, for [begin, end)."""
    replace_by_parents(component, parent, begin, end)
    return vertices_outside(giant, component, indptr, begin, end)
