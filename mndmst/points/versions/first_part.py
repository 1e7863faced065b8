"""All points of a version as one part, with what a fit has found of them."""

from typing import NamedTuple

import numpy as np

from ...kernels.threads import Threads
from ..coordinates import PointCoordinates
from ..kernels.neighbour_lists import NeighbourLists
from ..metrics import METRICS
from ..point_forest import (
    LEAST,
    LEAST_ON_DEVICE,
    PointForest,
    neighbours_by_point,
    neighbours_to_list,
)
from ..search.point_search import TreeSearch
from ..search.remote_points import RemotePoints
from ..search.search_choice import (
    SearchChoice,
    choose_search,
    make_local,
    make_search,
)
from ..search_reporter import SearchReporter
from .device_part import DevicePart
from .point_parts import PointPart, TreePart
from .product_part import ProductPart

# Neighbours beyond those of the core distance for which a search is chosen.
FURTHER = 6


class FirstPart(NamedTuple):
    """The only part of a version."""

    part: PointPart
    row: np.ndarray  # uint32, by position
    radius: np.ndarray  # float64, by position; see `FollowedForest.radius`
    lists: NeighbourLists | None  # see `FollowedForest.lists`


def first_part(
    points: np.ndarray,
    coordinates: PointCoordinates,
    metric: str,
    order: int,
    point_forest: PointForest,
    search: str,
    team: Threads,
) -> FirstPart:
    """Return the part of points, whose radius is the `order`-th neighbour's distance.

    Raises DeviceRefusalError if a device, which is chosen, cannot take the points.
    """
    choice = choose_search(
        coordinates, metric, search, order + FURTHER, device_tree=True
    )
    if choice.name in ("tree", "device-tree"):
        return _tree(points, coordinates, metric, order, point_forest.radius, team)
    neighbours = point_forest.neighbours
    if neighbours is None:
        neighbours = _neighbours(coordinates, metric, order, choice, team)
    part: PointPart
    if choice.name == "product":
        part, row, lists = ProductPart.first(points, metric, neighbours, team)
    else:
        listed = neighbours.shape[1] + 1  # a search lists the point, too
        on_device, row = DevicePart.first(coordinates, metric, listed)
        part, lists = on_device, on_device.lists(neighbours, row)
    return FirstPart(part, row, lists.distance[:, order - 1].copy(), lists)


def _tree(
    points: np.ndarray,
    coordinates: PointCoordinates,
    metric: str,
    order: int,
    radius: np.ndarray | None,
    team: Threads,
) -> FirstPart:
    """Return a tree of points; `radius` is by row, if it is known."""
    part, row = TreePart.first(coordinates.all(), metric, points.dtype, team)
    if radius is not None:
        return FirstPart(part, row, radius[row], None)
    search = TreeSearch(part.tree._replace(point=row), RemotePoints(len(points)), team)
    return FirstPart(part, row, search.neighbours(order, order).cores, None)


def _neighbours(
    coordinates: PointCoordinates,
    metric: str,
    order: int,
    choice: SearchChoice,
    team: Threads,
) -> np.ndarray:
    """Return the `PointForest.neighbours` of points, at least `order` of each."""
    norm, reporter = METRICS[metric].norm, SearchReporter()
    search = make_search(make_local(coordinates, norm, choice, team, reporter), team)
    least = LEAST_ON_DEVICE if choice.name == "device" else LEAST
    k = neighbours_to_list(0, order, len(coordinates.values), least)
    return neighbours_by_point(search.point, search.neighbours(k, order).positions)
