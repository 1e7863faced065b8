"""Arrays of other packages as NumPy arrays, copied only where that is needed."""

from typing import Any

import numpy as np

from ..host.errors import InputError
from ..io.edges import Edges, checked_edges


def as_column(values: Any, name: str) -> np.ndarray:
    """Return one-dimensional values of NumPy, CuPy, pandas, PyArrow or a list.

    Parameters
    ----------
    values : array-like
        Device arrays (`__cuda_array_interface__`) are copied to the host.
    name : str
        Names the column in errors.

    Raises
    ------
    InputError
        If it has another shape, holes, or no numbers.
    """
    array = _host_array(values, name)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; give one dimension.")
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} has values of type {array.dtype}; give numbers. Missing values "
            "must be filled in or left out first."
        )
    return array


def as_edges(
    src: Any, dst: Any, weight: Any, num_vertices: int | None, source: str
) -> Edges:
    """Return edges from three columns, checked.

    Parameters
    ----------
    num_vertices : int or None
        One more than the largest end by default.
    source : str
        Names where they are from in errors.

    Raises
    ------
    InputError
        If lengths differ, the number of vertices is negative, an end is no vertex, or
        a weight is NaN.
    """
    ends = [as_column(src, "src"), as_column(dst, "dst")]
    weights = as_column(weight, "weight")
    check_columns(ends[0], ends[1], weights, num_vertices, source)
    if num_vertices is None:
        num_vertices = max((int(end.max()) + 1 for end in ends if len(end)), default=0)
    return checked_edges(source, num_vertices, ends[0], ends[1], weights, directed=True)


def on_device(values: Any) -> bool:
    """Return whether an array lies on a CUDA device."""
    return hasattr(values, "__cuda_array_interface__")


def check_columns(
    src: Any, dst: Any, weight: Any, num_vertices: int | None, source: str
) -> None:
    """Raise an InputError if arrays, on any device, are no columns of edges."""
    lengths = [len(column) for column in (src, dst, weight)]
    if len(set(lengths)) > 1:
        raise InputError(
            f"{source}: src, dst and weight have {', '.join(map(str, lengths))} "
            "entries; give one of each for every edge."
        )
    if num_vertices is not None and num_vertices < 0:
        raise InputError(f"{source}: num_vertices is {num_vertices}; give 0 or more")
    for name, column in (("src", src), ("dst", dst)):
        if column.dtype.kind not in "iu" and len(column):
            raise InputError(f"{source}: {name} has type {column.dtype}; give integers")


def _host_array(values: Any, name: str) -> np.ndarray:
    if on_device(values) and hasattr(values, "get"):
        return np.asarray(values.get())
    if hasattr(values, "null_count") and values.null_count:
        raise InputError(f"{name} has missing values. Fill them in or leave them out.")
    if hasattr(values, "to_numpy"):  # pandas and PyArrow
        return np.asarray(values.to_numpy())
    return np.asarray(values)
