"""Minimum spanning forests of graphs larger than one machine, and of arrays.

In Python::

    import mndmst

    forest = mndmst.minimum_spanning_forest(src, dst, weight)  # ids or names
    tree = mndmst.minimum_spanning_tree(csgraph)               # as SciPy's, sparse
    labels = mndmst.HDBSCAN(min_cluster_size=50).fit(points).labels_
    tree = mndmst.single_linkage(points)                       # as SciPy's linkage
    summary = mndmst.solve("shards/", comm=MPI.COMM_WORLD)     # in an MPI program
    service = mndmst.connect("grpc+tcp://host:port", token=...)  # of `mndmst serve`

Names outside `__all__` are private. Each name loads its module when it is first used;
only the programs on sharded graphs and `Session` load MPI.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .host import __version__
from .host.errors import (
    ConfigError,
    InputError,
    MissingExtraError,
    MndmstError,
    OutputError,
    StoppedError,
    points_required,
)
from .host.signals import interrupts_deferred

if TYPE_CHECKING:
    from .api.arrays import minimum_spanning_forest, minimum_spanning_tree
    from .api.forest import Forest, NamedForest
    from .api.programs import components, partition, solve, update, verify
    from .points.estimator import HDBSCAN
    from .points.functions import (
        clusters_by_count,
        clusters_within,
        condensed_tree,
        example_points,
        flat_clusters,
        neighbour_graph,
        read_points,
        single_linkage,
    )
    from .report.draw_forest import draw
    from .service.client import connect
    from .service.connection import OtherVersionError, ServiceError
    from .service.session import Session
    from .solver.config import Config

__all__ = [
    "HDBSCAN",
    "Config",
    "ConfigError",
    "Forest",
    "InputError",
    "MissingExtraError",
    "MndmstError",
    "NamedForest",
    "OtherVersionError",
    "OutputError",
    "ServiceError",
    "Session",
    "StoppedError",
    "__version__",
    "clusters_by_count",
    "clusters_within",
    "components",
    "condensed_tree",
    "connect",
    "draw",
    "example_points",
    "flat_clusters",
    "minimum_spanning_forest",
    "minimum_spanning_tree",
    "neighbour_graph",
    "partition",
    "read_points",
    "single_linkage",
    "solve",
    "update",
    "verify",
]

# The modules of the names that are loaded when they are first used.
_MODULES = {
    "HDBSCAN": "points.estimator",
    "Config": "solver.config",
    "Forest": "api.forest",
    "NamedForest": "api.forest",
    "OtherVersionError": "service.connection",
    "ServiceError": "service.connection",
    "Session": "service.session",
    "clusters_by_count": "points.functions",
    "clusters_within": "points.functions",
    "components": "api.programs",
    "condensed_tree": "points.functions",
    "connect": "service.client",
    "draw": "report.draw_forest",
    "example_points": "points.functions",
    "flat_clusters": "points.functions",
    "minimum_spanning_forest": "api.arrays",
    "minimum_spanning_tree": "api.arrays",
    "neighbour_graph": "points.functions",
    "partition": "api.programs",
    "read_points": "points.functions",
    "single_linkage": "points.functions",
    "solve": "api.programs",
    "update": "api.programs",
    "verify": "api.programs",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with interrupts_deferred(), points_required(f"{__name__}.{name} needs"):
        module = import_module(f".{_MODULES[name]}", __name__)
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
