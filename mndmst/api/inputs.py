"""Columns of numbers from the arrays of other packages, copied only where needed.

NumPy converts lists of mixed numbers by rounding: an integer above 2^53 beside a
fraction becomes a float64. Lists and arrays of objects are therefore read here, exactly
or not at all.
"""

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from operator import index
from os import PathLike
from pathlib import Path

import numpy as np

from ..host.cores import MOST_THREADS
from ..host.errors import (
    ConfigError,
    ConfigTypeError,
    InputError,
    InputTypeError,
    shown,
)
from ..host.formatting import counted
from ..io.edge_file import MOST_EXACT, ids_begin_above_0, is_exact

# Kinds of NumPy's types that are numbers with an order.
NUMBERS = "biuf"
# Kinds of NumPy's types that are times and durations.
TIMES = "mM"
# The attributes by which NumPy reads arrays.
ARRAY_PROTOCOLS = "__array__", "__array_interface__", "__array_struct__"


def as_column(values: object, name: str) -> np.ndarray:
    """Return one-dimensional numbers of NumPy, CuPy, pandas, Polars, PyArrow or a list.

    Device arrays (`__cuda_array_interface__`) are copied to the host. Errors call the
    column `name`. Raises InputTypeError if its values are not numbers; InputError if it
    has another shape, missing or masked values, or integers that no type of 64 bits
    holds beside the other numbers.
    """
    array = as_array(values, name)
    if array.dtype == object:
        return _exact_numbers(array.tolist(), name)
    if array.dtype.kind not in NUMBERS:
        raise InputTypeError(f"{name} has values of type {array.dtype}; give numbers")
    return array


def as_array(values: object, name: str) -> np.ndarray:
    """Return one-dimensional values of any type; lists become arrays of objects.

    Lists of numbers of one type become arrays of that type. Raises InputTypeError if it
    is not an array, a list or a column of a table; InputError if it has another shape,
    or missing or masked values.
    """
    if isinstance(values, Sequence) and not isinstance(values, str | bytes | bytearray):
        return _of_sequence(list(values))
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            first = int(np.flatnonzero(np.ma.getmaskarray(values).ravel())[0])
            raise InputError(
                f"{name} is masked at position {first}; fill masked entries in "
                "(.filled) or leave them out (.compressed)"
            )
        values = values.data
    if on_device(values) and hasattr(values, "get"):
        values = values.get()
    elif len(missing := _missing(values)):
        which = ", the first" if len(missing) > 1 else ""
        raise InputError(
            f"{name} has {counted(len(missing), 'missing value')}{which} at position "
            f"{missing[0]}; fill in or leave out"
        )
    if hasattr(values, "to_numpy"):
        values = _of_table(values, name)
    elif not any(hasattr(values, name) for name in ARRAY_PROTOCOLS):
        kind = "None" if values is None else f"a value of type {type(values).__name__}"
        raise InputTypeError(f"{name} is {kind}; give an array or a list")
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; give one dimension")
    return array


def on_device(values: object) -> bool:
    """Return whether an array lies on an accelerator."""
    from ..backends import holder_of  # clients of the service never ask

    return holder_of(values) is not None


def as_count(value: object, name: str) -> int:
    """Return an argument that counts something.

    Raises ConfigTypeError if it is not an integer; ConfigError if it is negative.
    """
    try:
        count = index(value)  # type: ignore[arg-type]
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise ConfigTypeError(f"{name} is {shown(value)}; give an integer")
    if count < 0:
        raise ConfigError(f"{name} is {count}; give 0 or more")
    return count


def as_flag(value: object, name: str) -> bool:
    """Return an argument that is true or false; 1 and 0 stand for them.

    Raises ConfigTypeError for any other value: the text "no" is true in Python.
    """
    if not isinstance(value, bool | np.bool_ | Integral) or value not in (0, 1):
        raise ConfigTypeError(f"{name} is {shown(value)}; give True or False")
    return bool(value)


def as_threads(value: object) -> int:
    """Return a number of threads; 0 stands for all cores this process may use.

    Raises ConfigError if it is not a count, or larger than `MOST_THREADS`.
    """
    count = as_count(value, "threads")
    if count > MOST_THREADS:
        raise ConfigError(f"threads is {count:,}; give at most {MOST_THREADS:,}")
    return count


def as_number(value: object, name: str) -> int | float:
    """Return an argument that is a real number.

    Raises ConfigTypeError if it is not a number.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ConfigTypeError(f"{name} is {shown(value)}; give a number")
    return int(value) if isinstance(value, Integral) else float(value)


def as_path(value: object, name: str) -> Path:
    """Return an argument that names a file or a directory.

    Raises ConfigTypeError if it is neither text nor a path.
    """
    if not isinstance(value, str | PathLike) or isinstance(value, bytes):
        raise ConfigTypeError(f"{name} is {shown(value)}; give a path")
    return Path(value)


def as_points(values: object, name: str, typed: bool = False) -> np.ndarray:
    """Return points as float64, shape (points, dimensions).

    If `typed`, float16 and float32 points are returned as they are. Raises
    InputTypeError if they are not numbers, or a sparse matrix; InputError if they have
    another shape, or missing or masked values.
    """
    if hasattr(values, "tocoo"):
        raise InputTypeError(f"{name} is a sparse matrix; give {name}.toarray()")
    check_nothing_masked(values, name)
    from ..io.formats.point_tables import check_integers  # loads all formats

    check_table_columns(values, f"{name}: ")
    given = values
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} has rows of several lengths: {error}") from error
    if array.dtype.kind not in NUMBERS and array.size:
        raise InputTypeError(f"{name} has values of type {array.dtype}; give numbers")
    if array.ndim != 2:
        raise InputError(
            f"{name} has shape {array.shape}; give two dimensions, a point a row"
        )
    check_integers(array, f"{name}: ")
    check_listed_integers(given, array, f"{name}: ")
    if typed and array.dtype in (np.float16, np.float32):
        return array
    return array.astype(np.float64, copy=False)


def check_table_columns(values: object, source: str) -> None:
    """Refuse a table of columns with lists, words or times, or large integers.

    Large are integers that float64 would round: as one array, columns of several types
    would be floats already.
    """
    from ..io.formats.point_tables import check_integers

    if hasattr(values, "collect"):
        raise InputTypeError(f"{source}is a table to be computed; give its collect()")
    names = getattr(values, "column_names", ())  # of PyArrow
    if hasattr(values, "dtypes") and hasattr(values, "columns"):
        names = values.columns
    for name in names:
        column = np.asarray(values[name])  # type: ignore[index]
        if column.dtype.kind in TIMES:
            raise InputTypeError(
                f"{source}column {name} has {column.dtype}. Give numbers."
            )
        if column.ndim == 1:
            check_values(column, f"{source}column {name}")
            check_integers(column, source)


def check_values(column: np.ndarray, where: str) -> None:
    """Refuse lists, and texts that are not numbers, among the values of a column."""
    for row, value in enumerate(column if column.dtype.kind in "OUT" else ()):
        if isinstance(value, np.ndarray | list | tuple):
            raise InputTypeError(
                f"{where} has lists. Give them as an array: numpy.stack(column)."
            )
        if isinstance(value, str):
            try:
                float(value)
            except ValueError as error:
                raise InputTypeError(
                    f"{where} has {shown(value)} in row {row} (from 0). Give numbers."
                ) from error


def check_listed_integers(values: object, array: np.ndarray, source: str) -> None:
    """Refuse a list of points with integers that its array of floats has rounded."""
    from ..io.formats.point_tables import check_integers

    listed = isinstance(values, Sequence) and array.dtype.kind == "f"
    if listed and (np.abs(array) >= MOST_EXACT).any():
        check_integers(np.array(values, object), source)


def check_nothing_masked(values: object, name: str) -> None:
    """Raise InputError if an array has masked values, which NumPy would drop."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(f"{name} has masked values; fill them in or leave rows out")


def _of_sequence(values: list[object]) -> np.ndarray:
    """Return a list as an array: of numbers if all have one type, else of objects."""
    kinds = set(map(type, values))
    # NumPy would make floats or objects of integers beyond 64 bits
    integers: list[int] = values if kinds == {int} else []  # type: ignore[assignment]
    short = integers and min(integers) >= -(1 << 63) and max(integers) < 1 << 63
    if short or (len(kinds) <= 1 and kinds <= {float, bool}):
        return np.array(values)
    if len(kinds) == 1 and issubclass(kinds.pop(), np.number | np.bool_):
        return np.array(values)
    objects = np.empty(len(values), object)
    objects[:] = values  # elements that are tuples stay whole
    return objects


def _missing(values: object) -> np.ndarray:
    """Return the positions of missing values in a column of a table."""
    if hasattr(values, "null_count"):  # PyArrow has an attribute, Polars a method
        count = values.null_count
        if not (count() if callable(count) else count):
            return np.empty(0, np.int64)
        missing = _of_table(values.is_null(), "is_null")  # type: ignore[attr-defined]
    elif hasattr(values, "isna"):
        missing = values.isna()
    else:
        missing = np.empty(0, np.bool_)
    return np.flatnonzero(np.asarray(missing))


def _of_table(values: object, name: str) -> np.ndarray:
    """Return a column of pandas, Polars or PyArrow as an array of NumPy."""
    of_arrow = not callable(getattr(values, "null_count", len))  # Polars: a method
    options = {"zero_copy_only": False} if of_arrow else {}  # PyArrow copies bits then
    try:
        array: np.ndarray = values.to_numpy(**options)  # type: ignore[attr-defined]
        return array
    except (NotImplementedError, ValueError) as error:
        kind = getattr(values, "type", type(values).__name__)
        raise InputTypeError(f"{name} has values of type {kind}; cast them") from error


def _exact_numbers(values: list[float], name: str) -> np.ndarray:
    """Return numbers of several types as an array that rounds none of them.

    Raises InputTypeError if a value is not a number; InputError if no type holds all of
    them.
    """
    kinds = set(map(type, values))
    wrong = tuple(kind for kind in kinds if not _is_number(kind))
    if wrong:
        position = next(i for i, value in enumerate(values) if type(value) in wrong)
        raise _no_number(values[position], position, name)
    if not any(issubclass(kind, float | np.floating) for kind in kinds):
        return _exact_integers(values, name)
    if any(issubclass(kind, np.longdouble) for kind in kinds):
        raise InputTypeError(f"{name} has values of type longdouble; cast to float64")
    # Narrow floats fit float64, and integers up to 2^53 do.
    for position, value in enumerate(values):
        if not isinstance(value, float | np.floating) and not is_exact(int(value)):
            raise InputError(
                f"{name} has {value} at position {position} beside fractions, and "
                "float64 does not hold both exactly; give integers alone, or round "
                "them first"
            )
    return np.array([float(value) for value in values])


def _is_number(kind: type) -> bool:
    return issubclass(kind, int | float | np.integer | np.floating | np.bool_)


def _exact_integers(values: list[float], name: str) -> np.ndarray:
    integers = [int(value) for value in values]
    low, high = min(integers, default=0), max(integers, default=0)
    if low >= -(1 << 63) and high < 1 << 63:
        return np.array(integers, np.int64)
    if low >= 0 and high < 1 << 64:
        return np.array(integers, np.uint64)
    raise InputError(
        f"{name} has integers from {low} to {high}; 64 bits, signed or unsigned, do "
        "not hold both"
    )


def _no_number(value: object, position: int, name: str) -> InputError:
    nothing = type(value).__name__ in ("NAType", "NaTType")  # of pandas
    if value is None or value is np.ma.masked or nothing:
        return InputTypeError(
            f"{name} has a missing value ({value}) at position {position}; fill it in "
            "or leave it out"
        )
    if isinstance(value, list | tuple | np.ndarray):
        return InputError(
            f"{name} has a {type(value).__name__} at position {position}; give one "
            "dimension"
        )
    return InputTypeError(
        f"{name} has {str(value)[:40]!r} ({type(value).__name__}) at position "
        f"{position}; give numbers"
    )


def warn_of_first_id(smallest: int) -> None:
    """Say that no edge names the vertices below the smallest end.

    A function that the user's function calls calls this one.
    """
    if smallest > 0:
        warnings.warn(
            f"the edges: their {ids_begin_above_0(smallest)}; "
            "nodes=numpy.unique([src, dst]) leaves out ids without an edge, and "
            "num_vertices says that they are meant",
            UserWarning,
            stacklevel=4,
        )


def warn_of_similarity(weight_name: str, maximum: bool | None) -> None:
    """Say that similarities are minimised, unless the user has chosen.

    The function that a user calls calls this one.
    """
    from ..io.formats.table_columns import is_similarity

    if maximum is None and is_similarity(weight_name):
        warnings.warn(
            f"weight: {weight_name}, of which the smallest are taken; if a "
            "larger value means nearer, give maximum=True, else maximum=False",
            UserWarning,
            stacklevel=3,
        )
