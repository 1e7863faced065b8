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
from .search.search_choice import choose_search, make_search
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

    Its forest approximates that of all distances: see `points_forest`, which also
    explains `min_samples`, `search` and `reporter`. Without `neighbours` it joins
    `NEIGHBOURS`, at least `min_samples`, and at most all others. Errors name the points
    by `name`. Raises ConfigError if there are too few points.
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
    computed = point_coordinates(points, "euclidean")
    choice = choose_search(computed, "euclidean", search, neighbours)
    reporter.detail(f"search by {choice.name}: {choice.reason}")
    searched = make_search(computed, "euclidean", choice, threads, reporter)
    nearest, point_of = searched.neighbours(neighbours, min_samples), searched.rows
    ranges = each_range(threads.bounds(len(point_of)))
    edges = threads.run(
        list_edges, nearest.weight, nearest.positions, point_of, *ranges
    )
    a, b, weight = concatenate(edges, threads)
    src, dst = point_of[a], point_of[b]
    computed.scale.check(
        weight, lambda edges: (points[src[edges]] != points[dst[edges]]).any(1)
    )
    weight = computed.scale.original(weight)
    return checked_edges(name, len(points), src, dst, weight)
