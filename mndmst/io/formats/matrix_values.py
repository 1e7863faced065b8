"""The meanings of the values of a square matrix, and their conversion to distances.

A matrix holds distances, or correlations, which one of two formulas turns into
distances: sqrt(2(1-r)), which is a metric and usual for returns of assets (Mantegna,
Eur. Phys. J. B 11, 1999), or 1-r. Both have the same forest, at other heights.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...host.errors import ConfigError, InputError, shown
from ...host.formatting import counted
from .table_columns import titled

# Correlations beyond 1 by this, from rounding to float32, are 1.
ROUNDING = 1e-6
FROM_OPTION = "--from correlation (in Python metric_params={'from': 'correlation'})"


class MatrixValues(NamedTuple):
    """A meaning of the values of a matrix."""

    noun: str
    diagonal: float  # the value of a point and itself, up to `tolerance`
    least: float
    most: float
    tolerance: float
    remedy: str
    formula: str  # of the distances; empty if the values are distances
    distances: Callable[[np.ndarray], np.ndarray]

    def are_allowed(self, values: np.ndarray) -> np.ndarray:
        """Return a mask of the values in range; NaN and infinity are outside."""
        low, high = self.least - self.tolerance, self.most + self.tolerance
        return np.isfinite(values) & (values >= low) & (values <= high)


def _chords(correlation: np.ndarray) -> np.ndarray:
    return np.sqrt(2 * (1 - np.clip(correlation, -1, 1)))


def _complements(correlation: np.ndarray) -> np.ndarray:
    return 1 - np.clip(correlation, -1, 1)


def _unchanged(distance: np.ndarray) -> np.ndarray:
    return distance


DISTANCES = MatrixValues(
    "distance", 0, 0, np.inf, 0, "Give a finite number of 0 or more", "", _unchanged
)
_CORRELATIONS = MatrixValues(
    "correlation", 1, -1, 1, ROUNDING, "Give a number from -1 to 1", "sqrt(2(1-r))",
    _chords,
)  # fmt: skip
# Meanings by the names that users give them
FROM = {
    "correlation": _CORRELATIONS,
    "correlation:1-r": _CORRELATIONS._replace(formula="1-r", distances=_complements),
}


def values_from(name: object) -> MatrixValues:
    """Return the meaning of values with a name in `FROM`; None means distances."""
    if name is None:
        return DISTANCES
    if not isinstance(name, str) or name not in FROM:
        raise ConfigError(f"from {shown(name)}: give {' or '.join(FROM)}")
    return FROM[name]


def check_square(matrix: np.ndarray, source: str = "") -> None:
    """Raise InputError if a matrix of pairs is not square."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"{source}The precomputed distance matrix has shape {matrix.shape}; give a "
            "square one"
        )


def check_values(
    source: str,
    matrix: np.ndarray,
    values: MatrixValues,
    names: Sequence[str] | None = None,
) -> str:
    """Return a note on the distances computed from values; "" if they are distances.

    Raises InputError for values out of range, another diagonal and a matrix that is not
    symmetric. Messages begin with `source`, and name both points of a pair by `names`,
    if given.
    """
    noun = values.noun
    least, negative = values.most, 0

    def label(i: int) -> str:
        return f"{i}" if names is None else titled(names[i][:60])

    def pair(i: int, j: int) -> str:
        if names is None:
            return f"points {i} and {j} (from 0)"
        return f"{label(i)} and {label(j)}"

    diagonal = np.asarray(matrix.diagonal(), np.float64)
    wrong = ~(np.abs(diagonal - values.diagonal) <= values.tolerance)
    if wrong.any():
        i = int(wrong.argmax())
        value = "missing" if np.isnan(diagonal[i]) else f"{diagonal[i]:g}"
        raise InputError(
            f"{source}the {noun} of {'point ' * (names is None)}{label(i)} and itself "
            f"is {value}, and a {noun} is {values.diagonal:g} there. "
            + _other_remedy(values, diagonal)
        )
    for i in range(len(matrix)):  # a row at a time: no copies of the matrix
        row = np.asarray(matrix[i, :i], np.float64)
        column = np.asarray(matrix[:i, i], np.float64)
        for side in (row, column):
            allowed = values.are_allowed(side)
            if not allowed.all():
                j = int(allowed.argmin())
                value = "missing" if np.isnan(side[j]) else f"{side[j]:g}"
                raise InputError(
                    f"{source}the {noun} of {pair(j, i)} is {value}. {values.remedy}, "
                    "or leave one of them out."
                )
        near = np.isclose(row, column)
        if not near.all():
            j = int(near.argmin())
            raise InputError(
                f"{source}the {noun}s of {pair(j, i)} differ: {row[j]:g} below the "
                f"diagonal, {column[j]:g} above it. Give a symmetric matrix."
            )
        least = min(least, row.min(initial=least))
        negative += int(np.count_nonzero(row < 0))
    if not values.formula:
        return ""
    largest = float(values.distances(np.array([least]))[0])
    note = f"distances {values.formula} up to {largest:.3g}"
    if negative:
        note += f"; {counted(negative, 'pair')} with a negative {noun}"
    return note


def _other_remedy(values: MatrixValues, diagonal: np.ndarray) -> str:
    """Return the remedy for a matrix whose diagonal the values cannot have."""
    if values is not DISTANCES:
        return f"Give a matrix of {values.noun}s, such as pandas' corr returns."
    if (np.abs(diagonal - 1) <= ROUNDING).all():
        return f"If they are correlations, give {FROM_OPTION}."
    return (
        "Give distances, not similarities, and 0 on the diagonal; of similarities "
        "partition --maximum takes the largest."
    )
