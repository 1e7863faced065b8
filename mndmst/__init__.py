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
from typing import TYPE_CHECKING

from .host import __version__ as __version__
from .host.errors import points_required
from .host.signals import interrupts_deferred

# The public names and the modules that define them.
_MODULES = {
    "HDBSCAN": "points.estimator",
    "Config": "solver.config",
    "ConfigError": "host.errors",
    "Forest": "api.forest",
    "InputError": "host.errors",
    "MissingExtraError": "host.errors",
    "MndmstError": "host.errors",
    "NamedForest": "api.forest",
    "OtherVersionError": "service.connection",
    "OutputError": "host.errors",
    "RootedForest": "api.rooted_forest",
    "ServiceError": "service.connection",
    "Session": "service.session",
    "StoppedError": "host.errors",
    "approximate_predict": "points.functions",
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

# Type checkers and editors read these imports, which a test holds equal to _MODULES
# ("as" makes a name public). `__getattr__` would have them accept any name.
if TYPE_CHECKING:
    from .api.arrays import minimum_spanning_forest as minimum_spanning_forest
    from .api.arrays import minimum_spanning_tree as minimum_spanning_tree
    from .api.forest import Forest as Forest
    from .api.forest import NamedForest as NamedForest
    from .api.programs import components as components
    from .api.programs import partition as partition
    from .api.programs import solve as solve
    from .api.programs import update as update
    from .api.programs import verify as verify
    from .api.rooted_forest import RootedForest as RootedForest
    from .host.errors import ConfigError as ConfigError
    from .host.errors import InputError as InputError
    from .host.errors import MissingExtraError as MissingExtraError
    from .host.errors import MndmstError as MndmstError
    from .host.errors import OutputError as OutputError
    from .host.errors import StoppedError as StoppedError
    from .points.estimator import HDBSCAN as HDBSCAN
    from .points.functions import approximate_predict as approximate_predict
    from .points.functions import clusters_by_count as clusters_by_count
    from .points.functions import clusters_within as clusters_within
    from .points.functions import condensed_tree as condensed_tree
    from .points.functions import example_points as example_points
    from .points.functions import flat_clusters as flat_clusters
    from .points.functions import neighbour_graph as neighbour_graph
    from .points.functions import read_points as read_points
    from .points.functions import single_linkage as single_linkage
    from .report.draw_forest import draw as draw
    from .service.client import connect as connect
    from .service.connection import OtherVersionError as OtherVersionError
    from .service.connection import ServiceError as ServiceError
    from .service.session import Session as Session
    from .solver.config import Config as Config
else:
    __all__ = [*_MODULES, "__version__"]

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with interrupts_deferred(), points_required(f"{__name__}.{name} needs"):
            module = import_module(f".{_MODULES[name]}", __name__)
        return getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
