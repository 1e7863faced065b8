"""HDBSCAN* by its definition, slowly: components at every distinct distance.

A cluster is a set of points. At a distance d, all edges of weight d or more are removed
at once. Components of at least `least` points are the clusters' children; the cluster
goes on if there is one, splits if there are several, and ends if there is none. Excess
of mass is computed in rational numbers, so that equal masses are equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

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


def best(cluster: Cluster) -> tuple[Fraction, list[Cluster]]:
    """Return the largest total mass of disjoint clusters, and these."""
    below = [best(child) for child in cluster.children]
    total = sum((mass for mass, _ in below), Fraction(0))
    if not below or cluster.mass >= total:
        return cluster.mass, [cluster]
    return total, [chosen for _, choice in below for chosen in choice]


def select(root: Cluster, method: str = "eom", epsilon: float = 0.0) -> list[Cluster]:
    """Return the selected clusters, the root excluded."""
    if method == "leaf":
        chosen = [c for c in root.inside() if not c.children and c is not root]
    else:
        chosen = [c for child in root.children for c in best(child)[1]]
    above = {id(child): c for c in root.inside() for child in c.children}
    merged: dict[frozenset[int], Cluster] = {}
    for cluster in chosen:
        if cluster.birth < epsilon:
            while cluster.birth <= epsilon and above[id(cluster)] is not root:
                cluster = above[id(cluster)]
        merged[cluster.points] = cluster
    return [
        cluster
        for cluster in merged.values()
        if not any(cluster.points < other for other in merged)
    ]


def labels_of(chosen: list[Cluster], points: int) -> np.ndarray:
    """Return labels, numbered by the smallest points of the clusters."""
    labels = np.full(points, -1)
    for number, cluster in enumerate(sorted(chosen, key=lambda c: min(c.points))):
        labels[[*cluster.points]] = number
    return labels


def probabilities_of(root: Cluster, chosen: list[Cluster], points: int) -> np.ndarray:
    """Return how late each point leaves, relative to the last row of its cluster."""
    left = {p: as_float(d) for c in root.inside() for p, d in c.leaves.items()}
    result = np.zeros(points)
    for cluster in chosen:
        for point in cluster.points:
            top = cluster.last
            unlimited = top == 0 or np.isinf(left[point])
            result[point] = 1 if unlimited else min(left[point], top) / top
    return result
