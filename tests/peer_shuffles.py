"""Compare clusters with the order-independent clusters of hdbscan and scikit-learn.

python -m tests.peer_shuffles

Both remove edges of equal weight one after the other, in the order of the rows. So a
result of theirs counts only if it stays the same in shuffles of the rows. Each result
is judged by itself: labels up to their names, probabilities and outlier scores.
"""

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import mndmst

METHODS, SAMPLES, SIZE = ("eom", "leaf"), (1, 4), 10
CLOSE = 1e-12
Points = np.ndarray


def data_sets() -> Iterator[tuple[str, Points]]:
    """Yield 20 data sets of 2 to 64 dimensions, of at most 600 points."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler().fit_transform
    random = np.random.default_rng(0)
    yield "iris", datasets.load_iris().data
    yield "wine", scaled(datasets.load_wine().data)
    yield "cancer", scaled(datasets.load_breast_cancer().data)
    yield "digits", datasets.load_digits().data[:600]
    yield "diabetes", datasets.load_diabetes().data
    yield "moons", datasets.make_moons(500, noise=0.07, random_state=1)[0]
    yield (
        "circles",
        datasets.make_circles(500, noise=0.05, factor=0.5, random_state=1)[0],
    )
    yield "swiss roll", datasets.make_swiss_roll(500, random_state=1)[0]
    yield "s curve", datasets.make_s_curve(500, random_state=1)[0]
    yield "uniform 2", random.random((500, 2))
    yield "uniform 5", random.random((500, 5))
    for d in (2, 3, 4, 8, 16, 32, 64):
        spread = 1 + 0.2 * d**0.5
        found = datasets.make_blobs(
            500, d, centers=6, cluster_std=spread, random_state=d
        )
        yield f"clouds {d}", found[0]
    yield "blobs", mndmst.example_points("blobs", 500)
    yield "rings", mndmst.example_points("rings", 500)


@dataclass(frozen=True)
class Result:
    """Labels by first points, probabilities, and of hdbscan scores and persistence."""

    labels: np.ndarray
    probabilities: np.ndarray
    scores: np.ndarray | None = None
    persistence: np.ndarray | None = None


def in_order_of_points(labels: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return labels numbered by first points, and the old label of each new one."""
    names = list(dict.fromkeys(label for label in labels.tolist() if label >= 0))
    number = {name: new for new, name in enumerate(names)} | {-1: -1}
    return np.array([number[label] for label in labels.tolist()]), names


def of_peer(package: str, points: Points, samples: int, method: str) -> Result:
    """Cluster with hdbscan (Prim, exact) or scikit-learn."""
    if package == "sklearn":
        from sklearn.cluster import HDBSCAN

        # It counts the point itself.
        found = HDBSCAN(
            min_cluster_size=SIZE, min_samples=samples + 1, copy=True,
            cluster_selection_method=method,
        ).fit(points)  # fmt: skip
        return Result(in_order_of_points(found.labels_)[0], found.probabilities_)
    import hdbscan

    tree = "prims_kdtree" if points.shape[1] <= 60 else "prims_balltree"
    found = hdbscan.HDBSCAN(
        min_cluster_size=SIZE, min_samples=samples, cluster_selection_method=method,
        algorithm=tree, approx_min_span_tree=False,
    ).fit(points)  # fmt: skip
    labels, names = in_order_of_points(found.labels_)
    persistence = np.array(found.cluster_persistence_)[names]
    return Result(labels, found.probabilities_, found.outlier_scores_, persistence)


def of_mndmst(points: Points, samples: int, method: str) -> Result:
    """Cluster with mndmst."""
    found = mndmst.HDBSCAN(SIZE, samples, cluster_selection_method=method).fit(points)
    return Result(
        found.labels_,
        found.probabilities_,
        found.outlier_scores_,
        found.cluster_persistence_,
    )


def close(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return bool(np.abs(one - other).max(initial=0) <= CLOSE)


def agreement(one: Result, other: Result) -> dict[str, bool]:
    """Return whether each result of both is equal."""
    labels = np.array_equal(one.labels, other.labels)
    return {
        "labels": labels,
        "probabilities": labels and close(one.probabilities, other.probabilities),
        "persistence": labels and close(one.persistence, other.persistence),
        "scores": close(one.scores, other.scores),
    }


def survivors(
    package: str, points: Points, samples: int, method: str, shuffles: int
) -> tuple[Result, dict[str, bool]]:
    """Return a peer's result, and which parts of it stay the same in shuffles."""
    first = of_peer(package, points, samples, method)
    random = np.random.default_rng(7)
    there = agreement(first, first)
    for _ in range(shuffles):
        order = random.permutation(len(points))
        again = of_peer(package, points[order], samples, method)
        back = np.argsort(order)
        labels, names = in_order_of_points(again.labels[back])
        scores = None if again.scores is None else again.scores[back]
        persistence = None if again.persistence is None else again.persistence[names]
        turned = Result(labels, again.probabilities[back], scores, persistence)
        kept = agreement(first, turned)
        there = {name: there[name] and kept[name] for name in there}
        if not any(there.values()):
            break
    return first, there


def main() -> int:
    """Print how many results survive, and how many of these are ours."""
    warnings.simplefilter("ignore")
    status = 0
    for package in ("hdbscan", "sklearn"):
        for samples in SAMPLES:
            runs = 0
            survive: dict[str, int] = {}
            equal: dict[str, int] = {}
            for name, points in data_sets():
                for method in METHODS:
                    runs += 1
                    first, there = survivors(package, points, samples, method, 20)
                    ours = agreement(of_mndmst(points, samples, method), first)
                    for part in there:
                        survive[part] = survive.get(part, 0) + there[part]
                        both = there[part] and ours[part]
                        equal[part] = equal.get(part, 0) + both
                        if there[part] and not ours[part]:
                            status = 1
                            print(f"    {name} {method}: {part} differ")
            text = ", ".join(
                f"{part} {equal[part]} of {survive[part]}" for part in survive
            )
            print(f"{package} min_samples {samples}: of {runs} runs equal: {text}")
    return status


if __name__ == "__main__":
    sys.exit(main())
