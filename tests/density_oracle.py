"""HDBSCAN* by its definition, slowly: components at every distinct distance.

A cluster is a set of points. At a distance d, all edges of weight d or more are removed
at once. Components of at least `least` points are the clusters' children; the cluster
goes on if there is one, splits if there are several, and ends if there is none. Excess
of mass is computed in rational numbers, so that equal masses are equal.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby

import numpy as np

INFINITE = Fraction(10) ** 400  # above all numbers of these tests


def rational(distance: float) -> Fraction:
    """Return lambda, 1 / distance."""
    if distance == np.inf:
        return Fraction(0)
    return 1 / Fraction(distance) if distance > 0 else INFINITE


@dataclass
class Cluster:
    """A cluster, the distance of its birth, and the points that leave it."""

    points: frozenset[int]
    birth: float
    leaves: dict[int, float] = field(default_factory=dict)
    children: list["Cluster"] = field(default_factory=list)

    @property
    def mass(self) -> Fraction:
        """Excess of mass: sum over the points of how long each stays, in lambda."""
        ends = [*self.leaves.values()]
        ends += [child.birth for child in self.children for _ in child.points]
        return sum((rational(e) - rational(self.birth) for e in ends), Fraction(0))

    def inside(self) -> Iterator["Cluster"]:
        """Yield the cluster and all below it."""
        yield self
        for child in self.children:
            yield from child.inside()

    @property
    def last(self) -> float:
        """Largest lambda in the cluster's own rows of the condensed tree."""
        ends = [*self.leaves.values(), *(child.birth for child in self.children)]
        return max(map(as_float, ends))


def as_float(distance: float) -> float:
    """Return lambda, 1 / distance."""
    with np.errstate(divide="ignore"):
        return float(np.divide(1.0, distance))


def components(distances: np.ndarray, points: list[int], below: float) -> list[list]:
    """Return the components of points along edges shorter than a distance."""
    left, found = set(points), []
    while left:
        todo = [left.pop()]
        component = [*todo]
        while todo:
            point = todo.pop()
            near = [other for other in left if distances[point, other] < below]
            left.difference_update(near)
            todo += near
            component += near
        found.append(sorted(component))
    return found


def hierarchy(distances: np.ndarray, least: int) -> Cluster:
    """Return the root of the clusters of at least `least` points.

    Parameters
    ----------
    distances : ndarray, shape (points, points)
        Mutual reachability distances.
    """
    n = len(distances)
    root = Cluster(frozenset(range(n)), np.inf)
    # Points without a path between them part at an infinite distance.
    pairs = distances[np.triu_indices(n, 1)]
    heights = [float(height) for height in np.unique(pairs)[::-1]]
    active = [root] if n > 1 else []
    alive = {id(root): [*range(n)]}
    if n == 1:
        root.leaves[0] = np.inf
    for height in heights:
        following = []
        for cluster in active:
            points = alive[id(cluster)]
            parts = components(distances, points, height)
            if len(parts) == 1:
                following.append(cluster)
                continue
            large = [part for part in parts if len(part) >= least]
            for part in parts:
                if len(part) < least:
                    cluster.leaves.update(dict.fromkeys(part, height))
            if len(large) == 1:
                alive[id(cluster)] = large[0]
                following.append(cluster)
            for part in large if len(large) > 1 else []:
                child = Cluster(frozenset(part), height)
                alive[id(child)] = part
                cluster.children.append(child)
                following.append(child)
        active = following
    return root


def condensed_rows(
    n: int, edges: Iterable[tuple[float, int, int]], least: int
) -> tuple[list[int], list[float], list[int]]:
    """Return the rows of the condensed tree of a tree, one edge after the other.

    Returns the parent of each cluster but the root and the last cluster of each point,
    the distances at which they leave these, and the points in each cluster.
    """
    above, size = [*range(n)], [1] * n  # of each node of the dendrogram
    height: list[float] = [-np.inf] * n
    children: list[list[int]] = [[] for _ in range(n)]

    def top(node: int) -> int:
        while above[node] != node:
            above[node] = node = above[above[node]]
        return node

    for weight, equal in groupby(sorted(edges), key=lambda edge: edge[0]):
        begin = len(above)  # edges of one weight make one node of all they join
        for _, a, b in equal:
            parts = [top(a), top(b)]
            new = len(above)
            above.append(new)
            height.append(weight)
            inside = [c for p in parts for c in (children[p] if p >= begin else [p])]
            children.append(inside)
            size.append(sum(size[part] for part in inside))
            for part in parts:
                above[part] = new
    root = top(0)
    birth, parent = [np.inf], [-1]
    last, leaving = [0] * n, [np.inf] * n
    # A node, the last cluster of its points, and where they have left it, if they have
    todo: list[tuple[int, int, float | None]] = [(root, 0, None)] if n > 1 else []
    while todo:
        node, cluster, gone = todo.pop()
        large = [child for child in children[node] if size[child] >= least]
        if gone is None and size[node] < least:
            gone = height[node]
        if node < n:
            assert gone is not None
            last[node], leaving[node] = cluster, gone
        for child in children[node]:
            if child in large and len(large) > 1:
                birth.append(height[node])
                parent.append(cluster)
                todo.append((child, len(birth) - 1, None))
            elif child in large:
                todo.append((child, cluster, None))
            else:
                ends = height[node] if gone is None else gone
                todo.append((child, cluster, ends))
    first, count = [n] * len(birth), [0] * len(birth)
    for point in range(n):
        cluster = last[point]
        while cluster >= 0:
            first[cluster] = min(first[cluster], point)
            count[cluster] += 1
            cluster = parent[cluster]
    order = sorted(
        range(len(birth)),
        key=lambda c: (-birth[c], first[parent[c]] * (c > 0), first[c]),
    )
    number = {cluster: n + i for i, cluster in enumerate(order)}
    return (
        [number[parent[c]] for c in order[1:]] + [number[c] for c in last],
        [birth[c] for c in order[1:]] + leaving,
        [count[c] for c in order],
    )


def without_brief(root: Cluster, least: float) -> None:
    """Remove the leaves that last less than a persistence, from the bottom up."""
    for child in root.children:
        without_brief(child, least)
    children = root.children
    lasting = [child for child in children if lasts(child) >= least]
    if not children or len(lasting) == len(children):
        return
    longest = max(children, key=lasts)
    root.children = lasting if len(lasting) > 1 else []
    for child in children:
        if len(lasting) > 1 and child in lasting:
            continue
        if len(lasting) > 1 or (child is not longest and longest.children):
            root.leaves.update(dict.fromkeys(child.points, child.birth))
        else:
            root.leaves.update(child.leaves)
    if len(lasting) < 2:
        root.children = longest.children


def lasts(cluster: Cluster) -> Fraction:
    """Return the difference of lambda between the birth and the last point."""
    ends = [end for inside in cluster.inside() for end in inside.leaves.values()]
    return max(map(rational, ends)) - rational(cluster.birth)


@dataclass(frozen=True)
class Rule:
    """What selects clusters."""

    method: str = "eom"
    epsilon: float = 0.0
    epsilon_max: float = np.inf
    single: bool = False
    most: int = 0


def best(
    cluster: Cluster, allowed: Callable[[Cluster], bool]
) -> tuple[Fraction, list[Cluster]]:
    """Return the largest total mass of disjoint clusters, and these."""
    below = [best(child, allowed) for child in cluster.children]
    total = sum((mass for mass, _ in below), Fraction(0))
    if allowed(cluster) and (not below or cluster.mass >= total):
        return cluster.mass, [cluster]
    return total, [chosen for _, choice in below for chosen in choice]


def select(root: Cluster, rule: Rule) -> list[Cluster]:
    """Return the selected clusters."""

    def allowed(cluster: Cluster) -> bool:
        if cluster is root:
            first = max([*root.leaves.values(), *(c.birth for c in root.children)])
            last = members(root, root, 0.0)
            fits = not rule.most or len(last) <= rule.most
            return rule.single and first <= rule.epsilon_max and fits
        fits = not rule.most or len(cluster.points) <= rule.most
        return fits and cluster.birth <= rule.epsilon_max

    if rule.method == "leaf":
        chosen = [c for c in root.inside() if not c.children and c is not root]
    else:
        chosen = best(root, allowed)[1]
    above = {id(child): c for c in root.inside() for child in c.children}
    merged: dict[int, Cluster] = {}
    for cluster in chosen:
        if cluster is not root and cluster.birth < rule.epsilon:
            while cluster.birth <= rule.epsilon:
                if above[id(cluster)] is root and not rule.single:
                    break
                cluster = above[id(cluster)]
        merged[id(cluster)] = cluster
    inside = {id(c) for top in merged.values() for c in top.inside() if c is not top}
    return [cluster for key, cluster in merged.items() if key not in inside]


def members(cluster: Cluster, root: Cluster, epsilon: float) -> frozenset[int]:
    """Return the points of a selected cluster; the root has the last of its own."""
    if cluster is not root:
        return cluster.points
    ends = [*root.leaves.values(), *(child.birth for child in root.children)]
    limit = epsilon or min(ends)
    left = {p: d for c in root.inside() for p, d in c.leaves.items()}
    return frozenset(point for point, distance in left.items() if distance <= limit)


def labels_of(
    chosen: list[Cluster], root: Cluster, epsilon: float
) -> tuple[np.ndarray, list[Cluster]]:
    """Return labels, numbered by smallest points, and the clusters in that order."""
    labels = np.full(len(root.points), -1)
    inside = [(members(cluster, root, epsilon), cluster) for cluster in chosen]
    inside = [pair for pair in inside if pair[0]]
    inside.sort(key=lambda pair: min(pair[0]))
    for number, (points, _) in enumerate(inside):
        labels[[*points]] = number
    return labels, [cluster for _, cluster in inside]


def probabilities_of(
    root: Cluster, labels: np.ndarray, clusters: list[Cluster]
) -> np.ndarray:
    """Return how late each point leaves, relative to the last row of its cluster."""
    left = {p: as_float(d) for c in root.inside() for p, d in c.leaves.items()}
    result = np.zeros(len(labels))
    for point in np.flatnonzero(labels >= 0).tolist():
        top = clusters[labels[point]].last
        unlimited = top == 0 or np.isinf(left[point])
        result[point] = 1 if unlimited else min(left[point], top) / top
    return result


def persistence_of(
    root: Cluster, labels: np.ndarray, clusters: list[Cluster]
) -> list[float]:
    """Return the mass of each flat cluster, relative to the largest possible."""
    top = max(cluster.last for cluster in root.inside())
    if not 0 < top < np.inf:
        return [1.0] * len(clusters)
    sizes = np.bincount(labels[labels >= 0], minlength=len(clusters)).tolist()
    pairs = zip(clusters, sizes, strict=True)
    return [float(c.mass / Fraction(top)) / size for c, size in pairs]


def outlier_scores_of(root: Cluster) -> np.ndarray:
    """Return the GLOSH scores: 1 - lambda / largest lambda inside the last cluster."""
    scores = np.zeros(len(root.points))
    for cluster in root.inside():
        ends = [end for inside in cluster.inside() for end in inside.leaves.values()]
        top = max(map(rational, ends), default=Fraction(0))
        for point, end in cluster.leaves.items():
            if top and rational(end) < top:
                scores[point] = float(1 - rational(end) / top)
    return scores
