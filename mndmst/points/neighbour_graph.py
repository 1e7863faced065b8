"""The graph that joins every point with its nearest neighbours."""

import numpy as np

from ..host.cores import core_count
from ..host.errors import ConfigError
from ..host.formatting import counted
from ..io.edge_file import Edges, checked_edges
from ..kernels.edge_columns import concatenate
from ..kernels.threads import Threads, each_range
from .coordinates import point_coordinates
from .kernels.nearest_points import list_edges
from .metrics import Norm
from .search.search_choice import choose_search, make_local, make_search
from .search_reporter import SearchReporter

NEIGHBOURS = 16


def neighbour_graph(
    points: np.ndarray,
    neighbours: int | None = None,
    min_samples: int = 0,
    name: str = "the points",
    search: str = "auto",
    reporter: SearchReporter | None = None,
) -> Edges:
    """Return the graph that joins every point with its nearest neighbours.

    Its forest approximates that of all distances: see `points_forest`, also for
    `min_samples`, `search` and `reporter`. `neighbours` is by default `NEIGHBOURS` or,
    if that is more, `min_samples`; at most all other points. `name` stands for the
    points in messages. Raises ConfigError if there are too few points.
    """
    if neighbours is None:
        neighbours = min(max(NEIGHBOURS, min_samples), max(1, len(points) - 1))
    if not 0 <= min_samples <= neighbours < len(points) or neighbours < 1:
        raise ConfigError(
            f"{name}: {counted(len(points), 'point')} cannot have "
            f"{counted(neighbours, 'neighbour')} each and core distances to neighbour "
            f"{min_samples}. Give --k (in Python neighbours) below the number of "
            "points, and --core (min_samples) at most --k."
        )
    threads = Threads(core_count())
    reporter = reporter or SearchReporter()
    coordinates = point_coordinates(points, "euclidean")
    choice = choose_search(coordinates, "euclidean", search, neighbours)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    local = make_local(coordinates, Norm.EUCLIDEAN, choice, threads, reporter)
    made = make_search(local, threads, reporter.rows)
    lists, point = made.neighbours(neighbours, min_samples), made.point
    ranges = each_range(threads.bounds(len(point)))
    edges = threads.run(list_edges, lists.weight, lists.positions, point, *ranges)
    a, b, weight = concatenate(edges, threads)
    src, dst = point[a], point[b]
    coordinates.scale.check(
        weight, lambda edges: (points[src[edges]] != points[dst[edges]]).any(1)
    )
    weight = coordinates.scale.original(weight)
    return checked_edges(name, len(points), src, dst, weight)
