"""Distances between points: what is computed on, and what the user sees.

Searches know Euclidean and Manhattan distance. The cosine and the haversine distance
grow with the chord between points of a sphere: these are computed on, ordered by the
chord, and turned into the distance asked for at the end.
"""

import numpy as np

from ..host.errors import ConfigError, InputError

METRICS = ("euclidean", "manhattan", "cosine", "haversine")
POLE = np.pi / 2
# Float32 rounds the latitude of a pole up by 4.4e-8.
BEYOND_POLE = 1e-7


def check_metric(metric: str) -> None:
    """Raise ConfigError if there is no such metric."""
    if metric not in METRICS:
        raise ConfigError(f"no metric '{metric}'; give one of {', '.join(METRICS)}")


def prepared(points: np.ndarray, metric: str, first: int = 0) -> np.ndarray:
    """Return the points that are computed on.

    Parameters
    ----------
    points : ndarray of float64, shape (points, dimensions)
        For "haversine" latitude and longitude, in radians as in scikit-learn.
    first : int
        The number of the first of them, for messages.

    Raises
    ------
    ConfigError
        If there is no such metric.
    InputError
        If points have no direction, or are no latitude and longitude.
    """
    check_metric(metric)
    if metric == "cosine":
        scale = np.abs(points).max(axis=1, initial=0)
        if (scale == 0).any():
            zero = first + int(np.flatnonzero(scale == 0)[0])
            raise InputError(
                f"point {zero} is zero in all coordinates, so it has no direction and "
                "no cosine distance. Leave such points out."
            )
        points = points / scale[:, None]
        return points / np.sqrt((points * points).sum(axis=1))[:, None]
    if metric == "haversine":
        if points.shape[1] != 2 or (np.abs(points[:, 0]) > POLE + BEYOND_POLE).any():
            raise InputError(
                "haversine distances are those of points with a latitude and a "
                "longitude, in radians; np.radians turns degrees into these."
            )
        latitude, longitude = np.clip(points[:, 0], -POLE, POLE), points[:, 1]
        ring = np.cos(latitude)
        columns = ring * np.cos(longitude), ring * np.sin(longitude), np.sin(latitude)
        return np.stack(columns, axis=1)
    return points


def shown(distance: np.ndarray, metric: str) -> np.ndarray:
    """Return the distances a user asked for, from those that were computed."""
    if metric == "cosine":
        return distance * distance / 2
    if metric == "haversine":
        return 2 * np.arcsin(np.minimum(distance / 2, 1))
    return distance
