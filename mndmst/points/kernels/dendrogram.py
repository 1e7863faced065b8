"""Kernels of a condensed tree, of the choice of clusters, and of pictures."""

from typing import NamedTuple

import numpy as np

from ...kernels.sorting import merge_ascents
from ...native.kernel import kernel
from ...tree.kernels.merge_chains import DISTANCE, LEFT, RIGHT, SIZE
from .condense import lasted

EPSILON = np.finfo(np.float64).eps


@kernel
def add_masses(parent, distance, size, birth):
    """Return the excess of mass of clusters from rows of a condensed tree.

    Rows are sorted by parent, and by descending distance. Points that leave a cluster
    at one distance are one term, so that the sum does not depend on their order.
    """
    mass = np.zeros(len(birth))
    begin = 0
    while begin < len(parent):
        cluster, points, end = parent[begin], 0, begin
        while end < len(parent) and parent[end] == cluster:
            if distance[end] != distance[begin]:
                break
            points += size[end]
            end += 1
        mass[cluster] += points * lasted(birth[cluster], distance[begin])
        begin = end
    return mass


@kernel
def choose_stable(parent, size, mass, allowed, best, chosen, end):
    """Choose clusters of the largest total excess of mass, until a comparison is close.

    Siblings are consecutive, and decided together, from the last cluster below `end`
    up: whether they, or clusters inside them, take the place of their parent. Their
    masses are added in ascending order, so that the sum does not depend on the
    clusters' numbers.

    `best` is the largest total mass of disjoint clusters inside each cluster; at first
    `mass` where `allowed`, else 0. `chosen` is `allowed` at first, and becomes False
    for a cluster that its descendants replace.

    Returns the first of the siblings whose comparison rounding may decide, with the sum
    of their `best` as that of their parent; 0 if none is left.
    """
    while end > 1:
        above = parent[end - 1]
        begin = end - 1
        while begin > 1 and parent[begin - 1] == above:
            begin -= 1
        below = 0.0
        # `np.sort` takes Numba a second to compile.
        terms = best[begin:end].copy()
        merge_ascents(terms, best[begin:end].copy())
        for term in terms:
            below += term
        # Every term has a relative error of three roundings, and all are positive.
        error = (size[above] + 4) * EPSILON * (below + mass[above])
        if not allowed[above] or below > mass[above]:
            chosen[above] = False
            best[above] = below
        if allowed[above] and abs(below - mass[above]) <= error < np.inf:
            best[above] = below
            return begin
        end = begin
    return 0


@kernel
def owners(parent, chosen):
    """Return for each cluster the topmost chosen one it is in, or -1."""
    owner = np.full(len(chosen), -1)
    for cluster in range(len(chosen)):
        above = owner[parent[cluster]] if cluster else -1
        owner[cluster] = cluster if above < 0 and chosen[cluster] else above
    return owner


class Members(NamedTuple):
    """Points, and the chosen clusters that they are in."""

    parent: np.ndarray  # int64, by point: the last cluster, numbered from `n` on
    leaving: np.ndarray  # float64, by point: distance at which it leaves it
    n: int  # number of points
    owner: np.ndarray  # int64, by cluster: the chosen one that it is in, or -1
    # float64, one value: points that leave at a larger distance are in no cluster. An
    # array, since Python makes each call of a kernel with a floating-point argument
    limit: np.ndarray


@kernel
def first_members(members):
    """Return the smallest point in each chosen cluster; n if there is none."""
    parent, leaving, n, owner, limit = members
    first = np.full(len(owner), n)
    for point in range(n - 1, -1, -1):
        cluster = owner[parent[point] - n]
        if cluster >= 0 and leaving[point] <= limit[0]:
            first[cluster] = point
    return first


@kernel
def label_members(members, number, top, begin, end, label, probability):
    """Label the points in [begin, end), and find how late each leaves its cluster.

    `number` is the label of each cluster, `top` its largest lambda. A probability is
    relative to it: 1 at the cluster's own end.
    """
    parent, leaving, n, owner, limit = members
    for point in range(np.uint64(begin), np.uint64(end)):
        cluster, distance = owner[parent[point] - n], leaving[point]
        label[point], probability[point] = -1, 0.0
        if cluster >= 0 and distance <= limit[0]:
            label[point], share = number[cluster], 1.0
            if distance > 0 and top[cluster] > 0 and 1 / distance < np.inf:
                share = min(1 / distance / top[cluster], 1.0)
            probability[point] = share


@kernel
def raised(parent, birth, chosen, epsilon, root_allowed):
    """Replace chosen clusters born below a distance by their first ancestor above it.

    An ancestor that is born at the distance itself is passed. If no ancestor but the
    root is born above the distance, the root's child is taken, or the root if allowed.
    """
    result = np.zeros(len(chosen), np.bool_)
    for cluster in range(len(chosen)):
        if chosen[cluster]:
            if birth[cluster] < epsilon:
                while birth[cluster] <= epsilon:
                    if parent[cluster] == 0 and not root_allowed:
                        break
                    cluster = parent[cluster]
            result[cluster] = True
    return result


@kernel
def merge_brief(parent, birth, death, threshold):
    """Merge clusters that last less than a threshold of lambda into their parents.

    Siblings are handled together, from the last cluster up. A cluster lasts from its
    birth to the smallest distance inside it (`death`, changed). If at least two
    siblings last, the others' points leave the parent where it splits. If one lasts and
    splits further on, the parent goes on in it. Otherwise the parent does not split.

    Returns the cluster that each becomes a part of (itself if it stays), and a distance
    below which no point of the cluster leaves.
    """
    count = len(parent)
    leaf, merged = np.ones(count, np.bool_), np.zeros(count, np.bool_)
    early = np.zeros(count, np.bool_)
    end = count
    while end > 1:
        above = parent[end - 1]
        begin = end - 1
        while begin > 1 and parent[begin - 1] == above:
            begin -= 1
        lasting, longest = 0, begin
        for cluster in range(begin, end):
            death[above] = min(death[above], death[cluster])
            lasting += lasted(birth[cluster], death[cluster]) >= threshold
            if death[cluster] < death[longest]:
                longest = cluster
        # Only leaves last less: a cluster that splits has a part that lasts.
        for cluster in range(begin, end):
            brief = lasted(birth[cluster], death[cluster]) < threshold
            if lasting > 1:
                merged[cluster] = early[cluster] = brief
            elif not brief or lasting == 0 or leaf[longest]:
                merged[cluster] = True
            else:
                merged[cluster] = early[cluster] = True
        leaf[above] = lasting < 2 and leaf[longest]
        end = begin
    into, least = np.arange(count), np.full(count, -np.inf)
    for cluster in range(1, count):
        if merged[cluster]:
            above = parent[cluster]
            into[cluster] = into[above]
            least[cluster] = least[above]
            if early[cluster] and least[above] == -np.inf:
                least[cluster] = birth[cluster]
    return into, least


@kernel
def merge_scales(parent, birth, chosen):
    """Return the lambda at which each cluster parts from each chosen one.

    `birth` is here the lambda at which each cluster splits from its parent. The result
    has shape (clusters, chosen clusters); NaN where one is inside the other.
    """
    scale = np.full((len(parent), len(chosen)), np.nan)
    above = np.zeros(len(parent), np.bool_)
    for column in range(len(chosen)):
        above[:] = False
        cluster = chosen[column]
        above[cluster] = True
        while cluster:
            cluster = parent[cluster]
            above[cluster] = True
        for cluster in range(1, len(parent)):
            if above[cluster] or parent[cluster] == chosen[column]:
                continue
            if above[parent[cluster]]:
                scale[cluster, column] = birth[cluster]
            else:
                scale[cluster, column] = scale[parent[cluster], column]
    return scale


@kernel
def order_leaves(linkage):
    """Return the points in the order of a dendrogram, and the distances between them.

    The larger part of each cluster comes first, so points that join last follow it. A
    point's distance is that of the cluster that first has both the point and the one
    before it in the order; infinite for the first.
    """
    n = len(linkage) + 1
    begin = np.zeros(2 * n - 1, np.int64)
    order, reach = np.zeros(n, np.int64), np.full(n, np.inf)
    for row in range(n - 2, -1, -1):
        larger, smaller, points = _parts(linkage, row)
        begin[larger] = begin[n + row]
        begin[smaller] = begin[n + row] + points
        reach[begin[smaller]] = linkage[row, DISTANCE]
    for point in range(n):
        order[begin[point]] = point
    return order, reach


@kernel
def _parts(linkage, row):
    """Return the larger and the smaller part of a row, and the larger one's size."""
    n = len(linkage) + 1
    left, right = np.int64(linkage[row, LEFT]), np.int64(linkage[row, RIGHT])
    one = np.int64(linkage[left - n, SIZE]) if left >= n else 1
    other = np.int64(linkage[right - n, SIZE]) if right >= n else 1
    if one >= other:
        return left, right, one
    return right, left, other


@kernel
def find_branches(linkage, drawn, least):
    """Return what a dendrogram shows of each cluster if it shows few of its merges.

    A cluster goes on in its larger part until a merge that is drawn (`drawn`, by row),
    or until both parts have fewer than `least` points.

    Returns, for each of the 2 n - 1 clusters, the uppermost drawn row inside its main
    part (-1 where there is none), and the distance at which that part ends if no row
    inside is drawn.
    """
    n = len(linkage) + 1
    merge, end = np.full(2 * n - 1, -1), np.zeros(2 * n - 1)
    for row in range(n - 1):
        larger, _, points = _parts(linkage, row)
        if drawn[row]:
            merge[n + row] = row
        else:
            merge[n + row] = merge[larger]
            end[n + row] = end[larger] if points >= least else linkage[row, DISTANCE]
    return merge, end


@kernel
def spread_labels(linkage, low, high):
    """Find the smallest and the largest label inside each of the 2 n - 1 clusters.

    Those of the points come first in `low` and `high`, and are given.
    """
    n = len(linkage) + 1
    for row in range(n - 1):
        left, right = np.int64(linkage[row, LEFT]), np.int64(linkage[row, RIGHT])
        low[n + row] = min(low[left], low[right])
        high[n + row] = max(high[left], high[right])
