"""A plugin of pytest: HDBSCAN of hdbscan or scikit-learn is that of mndmst.

The same goes for the minimum spanning tree of SciPy.

`MNDMST_PEER` names the package; its own tests then test mndmst. See `peer_suites`.
"""

import os
from dataclasses import replace

import mndmst
from mndmst.points.clusters.density_clusters import DensityRule


class CountingThePoint(mndmst.HDBSCAN):
    """The estimator with scikit-learn's two conventions.

    A point is a neighbour of itself, and rows that are not finite have labels of their
    own.
    """

    def fit(self, X, y=None):  # noqa: N803
        self.non_finite = "codes"
        return super().fit(X, y)

    def _rule(self) -> DensityRule:
        rule = super()._rule()
        return replace(rule, min_samples=max(rule.samples - 1, 1))


def replace_hdbscan() -> None:
    import hdbscan

    hdbscan.HDBSCAN = mndmst.HDBSCAN
    for name in ("approximate_predict", "approximate_predict_scores"):
        setattr(hdbscan, name, getattr(mndmst.HDBSCAN, name))
    hdbscan.membership_vector = mndmst.HDBSCAN.membership_vector


def replace_scikit_learn() -> None:
    import sklearn.cluster

    sklearn.cluster.HDBSCAN = CountingThePoint


def replace_scipy() -> None:
    import scipy.sparse.csgraph

    scipy.sparse.csgraph.minimum_spanning_tree = mndmst.minimum_spanning_tree


REPLACE = {
    "hdbscan": replace_hdbscan,
    "sklearn": replace_scikit_learn,
    "scipy": replace_scipy,
}
REPLACE[os.environ["MNDMST_PEER"]]()
