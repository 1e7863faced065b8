"""Minimum spanning forests of graphs larger than one machine, and of arrays.

In Python::

    import mndmst

    forest = mndmst.minimum_spanning_forest(src, dst, weight)  # arrays of any kind
    tree = mndmst.minimum_spanning_tree(csgraph)               # as SciPy's, sparse
    labels = mndmst.HDBSCAN(min_cluster_size=50).fit(points).labels_
    tree = mndmst.single_linkage(points)                       # as SciPy's linkage
    summary = mndmst.solve("shards/", comm=MPI.COMM_WORLD)     # in an MPI program
    service = mndmst.connect("grpc+tcp://host:port", token=...)  # of `mndmst serve`

What these need is imported when they are first used; none but `solve` needs MPI.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .host.version import __version__

if TYPE_CHECKING:
    from .api.arrays import minimum_spanning_forest, minimum_spanning_tree, solve
    from .api.forest import Forest
    from .points.clusters import single_linkage
    from .points.estimator import HDBSCAN
    from .service.client import connect
    from .service.session import Session

_WHERE = {
    "HDBSCAN": "points.estimator",
    "Forest": "api.forest",
    "Session": "service.session",
    "connect": "service.client",
    "minimum_spanning_forest": "api.arrays",
    "minimum_spanning_tree": "api.arrays",
    "single_linkage": "points.clusters",
    "solve": "api.arrays",
}

__all__ = [
    "HDBSCAN",
    "Forest",
    "Session",
    "__version__",
    "connect",
    "minimum_spanning_forest",
    "minimum_spanning_tree",
    "single_linkage",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_WHERE[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
