"""Compare labels of new points with those of hdbscan's approximate_predict.

python -m tests.peer_predictions

hdbscan differs from the definition in three steps. Each point with another label is
predicted again by hdbscan's rule with these steps corrected, one after the other; its
class is the first correction after which the labels agree.
"""

import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import mndmst

from .peer_shuffles import SIZE, data_sets, in_order_of_points, survivors

SAMPLES, SHUFFLES, NEW = (1, 4), 5, 250
CLASSES = (
    "core distance of the new point counts one neighbour more",
    "core distances of the points of the fit count one neighbour less",
    "only 2 * min_samples neighbours are compared",
    "two neighbours at one distance",
)


@dataclass(frozen=True)
class Rule:
    """Steps in which hdbscan's prediction is corrected."""

    own_core: bool = False
    fit_cores: bool = False
    all_points: bool = False


STEPS = (
    Rule(own_core=True),
    Rule(own_core=True, fit_cores=True),
    Rule(own_core=True, fit_cores=True, all_points=True),
)


class Peer:
    """A fit of hdbscan (Prim, exact), and its prediction step by step."""

    def __init__(self, points: np.ndarray, samples: int) -> None:
        import hdbscan

        tree = "prims_kdtree" if points.shape[1] <= 60 else "prims_balltree"
        self.samples, self.points = samples, points
        self.found = hdbscan.HDBSCAN(
            min_cluster_size=SIZE, min_samples=samples, algorithm=tree,
            approx_min_span_tree=False, prediction_data=True,
        ).fit(points)  # fmt: skip
        _, names = in_order_of_points(self.found.labels_)
        self.number = {name: new for new, name in enumerate(names)} | {-1: -1}
        self.search = cKDTree(points)
        self.cores = self.search.query(points, samples + 1)[0][:, -1]
        self.rows = self.found.condensed_tree_.to_numpy()
        self.above = {int(row["child"]): row for row in self.rows}

    def labels(self, new: np.ndarray) -> np.ndarray:
        """Return the labels of hdbscan, numbered by first points."""
        from hdbscan import approximate_predict

        labels, _ = approximate_predict(self.found, new)
        return np.array([self.number[label] for label in labels.tolist()])

    def labels_by(self, point: np.ndarray, rule: Rule) -> set[int]:
        """Return the label by hdbscan's corrected rule; several where distances tie."""
        data: Any = self.found.prediction_data_
        count = len(self.points) if rule.all_points else 2 * self.samples
        distance, near = self.search.query(point, range(1, count + 1))
        nth = self.samples - 1 if rule.own_core else self.samples
        core = self.search.query(point, [nth + 1])[0][0]
        cores = (self.cores if rule.fit_cores else data.core_distances)[near]
        mutual = np.maximum(np.maximum(distance, cores), core)
        ties = near[mutual == mutual.min()]
        return {self._label_at(int(tie), 1 / mutual.min()) for tie in ties}

    def _label_at(self, neighbour: int, scale: float) -> int:
        row = self.above[neighbour]
        cluster, root = int(row["parent"]), int(self.rows["parent"].min())
        if row["lambda_val"] > scale:
            while cluster > root and self.above[cluster]["lambda_val"] >= scale:
                cluster = int(self.above[cluster]["parent"])
        data: Any = self.found.prediction_data_
        return self.number[data.cluster_map.get(cluster, -1)]


def class_of(peer: Peer, point: np.ndarray, ours: int) -> str:
    """Return why hdbscan gives a point another label; "" if no step explains it."""
    for name, rule in zip(CLASSES, STEPS, strict=False):
        found = peer.labels_by(point, rule)
        if ours in found:
            return name if len(found) == 1 else CLASSES[-1]
    return ""


def main() -> int:
    """Print how many labels are equal, and the classes of the others."""
    warnings.simplefilter("ignore")
    total, classes, runs = 0, Counter[str](), 0
    for samples in SAMPLES:
        for name, points in data_sets():
            first, there = survivors("hdbscan", points, samples, "eom", SHUFFLES)
            if not there["labels"] or first.labels.max() < 0:
                continue
            runs += 1
            random = np.random.default_rng(runs)
            at = points[random.integers(0, len(points), NEW)]
            new = at + 0.3 * points.std(axis=0) * random.normal(size=at.shape)
            peer, ours = (
                Peer(points, samples),
                mndmst.HDBSCAN(SIZE, samples).fit(points),
            )
            found, expected = ours.predict(new), peer.labels(new)
            total += NEW
            for i in np.flatnonzero(found != expected):
                reason = class_of(peer, new[i], int(found[i]))
                classes[reason] += 1
                if not reason:
                    print(f"    {name} {samples}, point {i}: {expected[i]} {found[i]}")
    print(
        f"{total:,} new points in {runs} clusterings, {classes.total()} labels differ"
    )
    for name, count in classes.most_common():
        print(f"  {count} {name or 'without an explanation'}")
    return 1 if classes[""] else 0


if __name__ == "__main__":
    sys.exit(main())
