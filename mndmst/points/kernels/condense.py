"""The clusters of a condensed tree, from the chains of a dendrogram.

A row of a dendrogram is big if it has at least `least` points. A point leaves its last
cluster at the first big row above it: rows below never reach the condensed tree. Along
a chain small parts attach to a big one, and the order among them decides nothing. So
only rows with two big sides shape the tree, at most one for `least` points: they divide
the big rows into segments, a small binary tree.

1. Upwards, the points in each chain are added until it is big. There a segment begins
   (`_find_segments`), or where two meet.
2. Downwards, segments become clusters, and rows of equal distance that hang together
   one node with many children: HDBSCAN* removes the edges of one weight at once. Where
   at least two children of a node are big, each becomes a cluster; where one is, the
   cluster goes on in it; where none is, it ends (`_find_clusters`).
3. Every point finds its row, by itself (`_place_points`).

The steps over points are shared between threads; the others pass once over the rows.
"""

from typing import NamedTuple

import numpy as np

from ...kernels.threads import Threads, each_range
from ...native.kernel import kernel
from ...tree.kernels.merge_chains import ONE, OTHER, MergeChains


class Segments(NamedTuple):
    """Runs of big rows between the rows that have two big sides, children first."""

    start: np.ndarray  # int64, by segment: its lowest row
    above: np.ndarray  # int64, by segment: the one that it merges into; the last: -1


class CondensedClusters(NamedTuple):
    """The clusters of a condensed tree, parents before children; the root is 0."""

    parent: np.ndarray  # int64
    birth: np.ndarray  # float64: distance at which each splits off; infinite for 0
    size: np.ndarray  # int64
    mass: np.ndarray  # float64: excess of mass


def condense(
    chains: MergeChains, least: int, threads: Threads
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Find the clusters of at least `least` points, from 2 on, of at least two points.

    `chains` is overwritten, and what is no longer needed of it is let go.

    Clusters are numbered from `n`, the root, on, by descending birth, siblings by their
    smallest points. Nothing depends on the order of rows of equal distance.

    Returns
    -------
    parent : ndarray of int64
        The parent of each cluster but the root; then the last cluster of each point.
    leaving : ndarray of float64
        The distances at which these clusters and points leave their parents.
    size : ndarray of int64
        Points in each cluster.
    mass : ndarray of float64
        Excess of mass of each cluster.
    """
    n = len(chains.chain) + 1
    least = min(least, n)
    big_at = np.empty(chains.num_vertices - n, np.int64)
    most = 2 * (n // least) + 1
    room = Segments(np.empty(most, np.int64), np.empty(most, np.int64))
    count = _find_segments(chains, least, big_at, room)
    segments = Segments(room.start[:count], room.above[:count])
    clusters = _find_clusters(chains, segments)
    rows = PointRows(chains.lightest, chains.chain, chains.distance, big_at)
    vertices = chains.num_vertices
    del chains  # at the peak of memory, with 9 bytes an edge
    inner = len(clusters.parent) - 1
    parent, leaving = np.empty(inner + n, np.int64), np.empty(inner + n)
    last, ranges = parent[inner:], each_range(threads.bounds(n))
    threads.run(_place_points, rows, vertices, *ranges, last, leaving[inner:])
    first = _smallest_points(last, clusters.parent)
    # A parent is born at a larger distance than its children.
    order = np.lexsort((first, first[clusters.parent], -clusters.birth))
    number = np.empty_like(order)
    number[order] = np.arange(n, n + inner + 1)
    threads.run(_renumber, number, *ranges, last)
    above, birth, size, mass = (column[order] for column in clusters)
    parent[:inner], leaving[:inner] = number[above[1:]], birth[1:]
    return parent, leaving, size, mass


@kernel
def _find_segments(chains, least, big_at, segments):
    """Find the segments, and the first row of each chain that is big.

    A vertex of a chain that never is big has the row at which it leaves with others.
    The chain of a big row is replaced by its segment, numbered behind all vertices, and
    `other` by the number of points that leave there. Returns the number of segments.
    """
    one, other, joins, chain, lightest, _, vertices = chains
    n = len(chain) + 1
    size = np.zeros(len(big_at), np.int64)
    segment = np.full(len(big_at), -1)
    count = 0
    for row in range(n - 1):
        here = np.int64(chain[row]) - n
        now, points, joined = segment[here], 0, joins[row]
        for side in (ONE, OTHER):
            if joined & side:
                part = np.int64(one[row] if side == ONE else other[row]) - n
                if part < 0:
                    points += 1
                elif segment[part] < 0:
                    points += size[part]
                elif now < 0:
                    now = segment[part]
                else:
                    segments.start[count], segments.above[count] = row, -1
                    segments.above[now] = segments.above[segment[part]] = count
                    now = count
                    count += 1
        if segment[here] < 0:
            points += size[here]
            size[here] = points
            if now < 0:
                if points < least:
                    continue
                segments.start[count], segments.above[count] = row, -1
                now = count
                count += 1
            big_at[here] = row
        segment[here] = now
        chain[row] = vertices + now
        other[row] = points
    for here in range(len(big_at) - 1, -1, -1):
        if segment[here] < 0:
            row = np.int64(lightest[n + here])
            above = np.int64(chain[row])
            big_at[here] = row if above >= vertices else big_at[above - n]
    return count


@kernel
def _find_clusters(chains, segments):
    """Return the clusters; the one that points leave at a row replaces its segment.

    The terms of a mass are added distance by distance, so that their sum does not
    depend on the order of the points.
    """
    distance, count = chains.distance, len(segments.start)
    top = np.arange(count)  # the segment above the uppermost row of a row's node
    large = np.zeros(count, np.int64)  # big children of a node
    for segment in range(count - 2, -1, -1):
        above = segments.above[segment]
        split = distance[segments.start[above]]
        further = segments.above[above]
        if further >= 0 and distance[segments.start[further]] == split:
            top[above] = top[further]
        large[top[above]] += distance[segments.start[segment]] < split
    parent, birth = np.zeros(count, np.int64), np.full(count, np.inf)
    of_segment = np.zeros(count, np.int64)  # the cluster of each segment
    clusters = 1
    for segment in range(count - 2, -1, -1):
        above = segments.above[segment]
        split = distance[segments.start[above]]
        of_segment[segment] = of_segment[above]
        if distance[segments.start[segment]] < split and large[top[above]] > 1:
            parent[clusters], birth[clusters] = of_segment[above], split
            of_segment[segment] = clusters
            clusters += 1
    parent, birth = parent[:clusters].copy(), birth[:clusters].copy()
    size, mass = np.zeros(clusters, np.int64), np.zeros(clusters)
    term = MassTerms(birth, np.zeros(clusters, np.int64), np.empty(clusters), mass)
    for row in range(len(distance) - 1, -1, -1):
        segment = np.int64(chains.chain[row]) - chains.num_vertices
        if segment >= 0:
            cluster = of_segment[segment]
            if cluster and distance[row] == birth[cluster]:
                cluster = parent[cluster]  # the row belongs to the node above
            chains.chain[row] = chains.num_vertices + cluster
            points = np.int64(chains.other[row])
            size[cluster] += points
            _add_points(term, cluster, points, distance[row])
    for cluster in range(clusters - 1, -1, -1):
        _add_term(term, cluster)
        if cluster:
            size[parent[cluster]] += size[cluster]
            _add_points(term, parent[cluster], size[cluster], birth[cluster])
    return CondensedClusters(parent, birth, size, mass)


class MassTerms(NamedTuple):
    """The masses of clusters, and of each the term that is not added yet."""

    birth: np.ndarray
    points: np.ndarray  # int64: points that leave at one distance
    distance: np.ndarray
    mass: np.ndarray


@kernel
def _add_points(term, cluster, points, distance):
    """Let points leave a cluster, no later than those before."""
    if term.distance[cluster] != distance:
        _add_term(term, cluster)
        term.distance[cluster] = distance
    term.points[cluster] += points


@kernel
def _add_term(term, cluster):
    points = term.points[cluster]
    if points:
        term.mass[cluster] += points * lasted(
            term.birth[cluster], term.distance[cluster]
        )
        term.points[cluster] = 0


@kernel
def lasted(birth, distance):
    """Return 1 / distance - 1 / birth, without the cancellation of that difference."""
    if birth <= 0 or distance == np.inf:
        return 0.0
    if distance <= 0:
        return np.inf
    return (birth - distance) / birth / distance if birth < np.inf else 1 / distance


class PointRows(NamedTuple):
    """The rows at which points leave."""

    lightest: np.ndarray  # by point: its lowest row
    # by row: if it is big, the cluster that points leave there, behind all vertices;
    # else the vertex whose chain it is in
    chain: np.ndarray
    distance: np.ndarray  # by row
    big_at: np.ndarray  # by vertex, from n on: the big row at which its points leave


@kernel
def _place_points(rows, vertices, begin, end, cluster, leaving):
    """Find the last cluster of the points in [begin, end), and where they leave it."""
    n = np.int64(len(rows.distance) + 1)
    for point in range(begin, end):
        row = np.int64(rows.lightest[point])
        above = np.int64(rows.chain[row])
        if above < vertices:
            row = rows.big_at[above - n]
            above = np.int64(rows.chain[row])
        cluster[point], leaving[point] = above - vertices, rows.distance[row]


@kernel
def _smallest_points(cluster, parent):
    """Return the smallest point in each cluster and all below it."""
    first = np.full(len(parent), len(cluster))
    for point in range(len(cluster) - 1, -1, -1):
        first[cluster[point]] = point
    for number in range(len(parent) - 1, 0, -1):
        first[parent[number]] = min(first[parent[number]], first[number])
    return first


@kernel
def _renumber(number, begin, end, values):
    for i in range(np.uint64(begin), np.uint64(end)):
        values[i] = number[values[i]]
