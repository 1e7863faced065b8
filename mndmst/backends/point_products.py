"""Points on a device, searched by matrix products: the interface and its inputs."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

# Takes how many rows of a search are done, and how many there are.
Report = Callable[[int, int], object]
# The longest list of neighbours that a device keeps for a point.
MOST_NEIGHBOURS = 256


class PointArrays(NamedTuple):
    """Points as float64 distances take them.

    Attributes
    ----------
    values : ndarray of float32 or float64, shape (points, dimensions)
    largest, length : ndarray of float64, shape (points,)
        Each coordinate is divided by the one, then by the other; empty arrays for
        coordinates that are taken as they are.
    number : ndarray of uint32, shape (points,)
        The row of `values` of each place.
    """

    values: np.ndarray
    largest: np.ndarray
    length: np.ndarray
    number: np.ndarray


class ComponentArrays(NamedTuple):
    """Components of points, and bounds on the edges that leave them.

    Attributes
    ----------
    of_place : ndarray of uint32, shape (points,)
    cores : ndarray of float64, shape (points,)
        Core distances; zeros for plain distances.
    reach : ndarray of float64, shape (points,)
        No edge of a point that is looked for weighs less, from whichever end.
    bound : ndarray of float64, shape (components,)
        The weight of the lightest known edge that leaves each; lowered.
    """

    of_place: np.ndarray
    cores: np.ndarray
    reach: np.ndarray
    bound: np.ndarray


class PointProducts(Protocol):
    """Points that are searched by tiles of matrix products, exactly."""

    def nearest(self, k: int, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest other points of every point, by place.

        Returns
        -------
        distance : ndarray of float64, shape (points, k)
            Squared distances, ascending; of equal ones the smaller number first.
        places : ndarray of uint32, shape (points, k)
        """

    def lightest(
        self, components: ComponentArrays, asked: np.ndarray, report: Report
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lightest edges of places that leave their components.

        Returns
        -------
        others : ndarray of uint32
            The far ends; the place itself where there is none within the bound.
        weight : ndarray of float64
            Those of the edges; or the bound, which all edges exceed.
        """
