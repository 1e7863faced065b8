"""Pointer jumping on the entries of the directory that this rank owns."""

import numpy as np

from ..native.kernel import kernel


@kernel
def jump_to_representatives(parent, first, positions):
    """Point entries at their representatives, as far as this rank owns the path.

    `parent` has the parents of the vertices from `first` on; paths are halved. Returns
    the positions whose path leads to another rank; the other positions are resolved.
    """
    last = first + len(parent)
    away = np.empty(len(positions), np.int64)
    count = 0
    for i in range(len(positions)):
        position = positions[i]
        here = np.int64(parent[position])
        while first <= here < last:
            ahead = np.int64(parent[here - first])
            if ahead == here:
                break
            if first <= ahead < last:
                ahead = np.int64(parent[ahead - first])
                # A name on another rank is not stored here: if it merges later, only
                # the entries in `positions` are updated.
                if first <= ahead < last:
                    parent[here - first] = ahead
            here = ahead
        parent[position] = here
        if here < first or here >= last:
            away[count] = position
            count += 1
    return away[:count]


@kernel
def step_up(names, first, parent, parents):
    """Write the parents of names, which this rank owns; `first` is its first vertex."""
    for i in range(np.uint64(len(names))):
        parents[i] = parent[np.uint64(names[i]) - np.uint64(first)]


@kernel
def entries_leading_away(parent, first, excluding):
    """Return the positions of entries that point to vertices of other ranks.

    `parent` has the parents of the vertices from `first` on. Entries that point to the
    vertex `excluding` are left out.
    """
    positions = np.empty(len(parent) + 1, np.int64)  # unused pages are never touched
    count = np.uint64(0)
    for position in range(len(parent)):
        name = np.int64(parent[position])
        away = np.uint64(name - first) >= np.uint64(len(parent))
        positions[count] = position
        count += np.uint64(away & (name != excluding))
    return positions[:count].copy()
