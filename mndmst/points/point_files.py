"""Points from files, and examples of points."""

import hashlib
import os
import uuid
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import BinaryIO, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from ..host.errors import ConfigError, InputError, MndmstError
from ..host.formatting import counted
from ..host.memory import FREE_MEMORY
from ..host.memory_costs import EXAMPLE_POINT_BYTES, POINT_ARRAY_COPIES
from ..host.warning_filters import filtered_warnings
from ..io.file_access import opened, unreadable
from ..io.formats.allele_tables import read_allele_text, read_typed_alleles
from ..io.formats.distance_tables import read_distance_text, read_typed_distances
from ..io.formats.matrix_values import (
    DISTANCES,
    MatrixValues,
    check_square,
    check_values,
)
from ..io.formats.packed_files import ARRAY_ERRORS, readable, unpacked_suffix
from ..io.formats.point_columns import names_of
from ..io.formats.point_tables import (
    POINT_ARRAYS,
    TYPED_POINTS,
    check_integers,
    ids_of_words,
    read_point_text,
    read_typed_points,
    split_key,
)
from ..io.formats.table_columns import LEAST_MATRIX
from ..io.formats.typed_tables import ParquetTable
from ..io.memory_limit import check_room
from ..io.names import Names, names_of_values
from .metrics import resembles_similarities
from .row_metrics import ALLELE_METRICS
from .search.search_steps import start_in_thread

EXAMPLES = ("rings", "blobs")
EXAMPLE_POINTS = 100_000
HASHED = 1 << 24  # bytes that are hashed at once
TableT = TypeVar("TableT")
OptionsT = ParamSpec("OptionsT")

# The sum of squared differences of coordinates up to this does not overflow in float64.
LARGEST = 1e150


class PointTable(NamedTuple):
    """Points of a file."""

    points: np.ndarray  # float64; of any type of numbers if the file is mapped
    # int64 or str: the points' ids, if a column has them
    ids: np.ndarray | None = None
    id_name: str = ""  # the name of this column
    notes: tuple[str, ...] = ()  # lines for users that say how the file is read
    names: tuple[str, ...] = ()  # of the coordinates, if the table names its columns
    uuid: Future[str] | None = None  # `uuid_of` the points, if an output needs it

    def as_distances(self) -> "PointTable":
        """Return the table as a matrix of distances, without a `matrix_note`."""
        notes = tuple(note for note in self.notes if not note.endswith(AS_POINTS))
        return self._replace(notes=notes, names=())


def read_point_table(
    source: str | Path,
    mapped: bool = False,
    columns: str | Sequence[str] | None = None,
    key: str | None = None,
    typed: bool = False,
    finite: bool = True,
    metric: str = "",
    values: MatrixValues = DISTANCES,
) -> PointTable:
    """Return points from a file, with one point in each row, and their ids.

    The file is an array: .npy, or .npz, where `points.npz:name` or `key` names one of
    several; or a table: .csv, .tsv, .txt, each also compressed, .parquet, .arrow or
    .feather. `columns` are the coordinates of a table, such as "lon,lat"; numbers from
    1 if columns have no names. The default is all columns of numbers but ids, index
    columns and labels (`io.formats.point_tables`).

    With `mapped`, the points of an .npy file are memory-mapped and unchecked: callers
    pass the part that they use to `checked_points`. With `typed`, arrays and lists of
    float16 and float32 keep their type. Without `finite`, coordinates may be infinite
    or NaN. For the `metric` haversine a column named as a latitude comes first; for
    alleles a table has loci as columns (`io.formats.allele_tables`); for precomputed a
    table is a matrix (`io.formats.distance_tables`) of distances or other `values`.

    Raises InputError if the file does not hold points, or a coordinate is not finite or
    too large; ConfigError if there is no such column or array; MissingExtraError for
    tables that need PyArrow.
    """
    path, key = split_key(Path(source), key)
    chosen_names = names_of(columns)
    suffix = unpacked_suffix(path)
    if suffix in POINT_ARRAYS:
        if chosen_names:
            raise ConfigError(f"--columns goes with tables, and {path} has an array.")
        if key is not None and suffix != ".npz":
            raise ConfigError(f"--key goes with .npz files, and {path} is another.")
        points = _read_array(path, mapped and suffix == ".npy", key)
        if mapped and suffix == ".npy":
            return PointTable(points)
        points = checked_points(points, f"{path}: ", typed=typed, finite=finite)
        if values is not DISTANCES:
            return _of_matrix(path, points, values)
        return _with_note(path, PointTable(points))
    if key is not None:
        raise ConfigError(f"--key goes with .npz files, and {path} is another.")
    if metric == "precomputed":
        if chosen_names:
            raise ConfigError(
                f"--columns names coordinates, and {path} has distances. Leave it out."
            )
        return _read_distances(path, values)
    if metric in ALLELE_METRICS:
        return _read_alleles(path, chosen_names)
    table = _read_table(path, read_typed_points, read_point_text, chosen_names, metric)
    points = checked_points(table.points, f"{path}: ", typed=typed, finite=finite)
    chosen = table.columns
    name = "" if chosen.ids is None else chosen.names[chosen.ids]
    named = chosen.headed and not chosen.is_vector
    names = tuple(chosen.names[i] for i in chosen.coordinates if named)
    result = PointTable(points, table.ids, name, (chosen.text(),), names)
    return _with_note(path, result)


def is_point_array(source: str | Path) -> bool:
    """Return whether `read_point_table` takes a file as an array, without columns."""
    return unpacked_suffix(split_key(Path(source), None)[0]) in POINT_ARRAYS


def _read_table(
    path: Path,
    typed: Callable[Concatenate[ParquetTable, OptionsT], TableT],
    text: Callable[Concatenate[Path, OptionsT], TableT],
    *args: OptionsT.args,
    **options: OptionsT.kwargs,
) -> TableT:
    """Read a table with `typed` if it is Parquet or Arrow, and with `text` if not."""
    suffix = unpacked_suffix(path)
    if suffix in TYPED_POINTS:
        return typed(TYPED_POINTS[suffix](path, FREE_MEMORY), *args, **options)
    with readable(path):
        return text(path, *args, **options)


def _read_distances(path: Path, values: MatrixValues) -> PointTable:
    """Return a matrix from a table, and the names of its points."""
    table = _read_table(path, read_typed_distances, read_distance_text, values)
    ids = None if table.names is None else ids_of_words(table.names)
    return PointTable(table.matrix, ids, "name", (f"{path}: {table.note}",))


def _read_alleles(path: Path, picked: Sequence[str]) -> PointTable:
    """Return the alleles of a table as points, whose coordinates are the loci."""
    table = _read_table(path, read_typed_alleles, read_allele_text, picked)
    samples, note = ids_of_words(table.samples), f"{path}: {table.note}"
    return PointTable(table.alleles, samples, table.id_name, (note,), table.loci)


def _of_matrix(path: Path, matrix: np.ndarray, values: MatrixValues) -> PointTable:
    """Return a square array of values that are not distances, with a note on them."""
    check_square(matrix, f"{path}: ")
    further = check_values(f"{path}: ", matrix, values)
    note = f"{path}: {values.noun}s of {counted(len(matrix), 'point')}; {further}"
    return PointTable(matrix, notes=(note,))


def _read_array(path: Path, mapped: bool, key: str | None) -> np.ndarray:
    try:
        # NumPy warns of files that Python 2 has written
        with opened(path) as file, filtered_warnings("ignore", r"Reading `\.npy`"):
            if mapped:
                points: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
                check_shape(points, f"{path}: ")
                return points
            if unpacked_suffix(path) == ".npz":
                return _read_npz(path, file, key)
            nbytes = POINT_ARRAY_COPIES * os.fstat(file.fileno()).st_size
            check_room(FREE_MEMORY, path, nbytes, "the list of its points")
            return np.asarray(np.load(file, allow_pickle=False))
    except MndmstError:
        raise
    except (FileNotFoundError, PermissionError) as error:
        raise unreadable(path, error) from error
    except ARRAY_ERRORS as error:
        raise InputError(
            f"{path}: cannot be read as points ({error}). Give an .npy file of an "
            "array, a point a row, or numbers separated by commas."
        ) from error


def _read_npz(path: Path, file: BinaryIO, key: str | None) -> np.ndarray:
    """Return an array of an .npz file: the array named `key`, or the only one."""
    with zipfile.ZipFile(file) as packed:
        sizes = {
            entry.filename.removesuffix(".npy"): entry.file_size
            for entry in packed.infolist()
        }
    names = ", ".join(sizes)
    if key is None and len(sizes) != 1:
        raise InputError(
            f"{path}: has {counted(len(sizes), 'array')}: {names}. Name one: "
            f"{path.name}:{next(iter(sizes), 'name')}, or --key."
        )
    key = next(iter(sizes)) if key is None else key
    if key not in sizes:
        raise ConfigError(f"{path}: has no array {key}; it has {names}.")
    nbytes = POINT_ARRAY_COPIES * sizes[key]
    check_room(FREE_MEMORY, path, nbytes, "the list of its points")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return np.asarray(arrays[key])


def _with_note(path: Path, table: PointTable) -> PointTable:
    """Return points, with a note if they look like a matrix."""
    note = matrix_note(table.points)
    return table._replace(notes=(*table.notes, f"{path} {note}")) if note else table


AS_POINTS = "its rows are taken as points"


def matrix_note(points: np.ndarray) -> str:
    """Return what points look like if they may be distances or similarities, or ""."""
    count = len(points)
    if count < LEAST_MATRIX or points.shape != (count, count):
        return ""
    if not np.array_equal(points, points.T):
        return ""
    diagonal = points.diagonal()
    if not diagonal.any():
        values, kind = "zeros", "distances"
    elif (
        np.count_nonzero(points) > count  # more than a diagonal
        and resembles_similarities(diagonal, points.max(axis=1))
        and points.min() < diagonal.min()
    ):
        values = "the largest value of every row"
        kind = "similarities (metric precomputed takes correlations, with from)"
    else:
        return ""
    return (
        f"is a square symmetric matrix with {values} on its diagonal, such as one of "
        f"{kind}; {AS_POINTS}"
    )


def check_shape(points: np.ndarray, source: str = "") -> None:
    """Raise InputError if an array does not hold points."""
    if points.size == 0:
        raise InputError(f"{source}holds no points. Give one a row.")
    if points.ndim != 2 or points.dtype.kind not in "iuf":
        raise InputError(f"{source}has {points.dtype}{list(points.shape)}, no points.")


def checked_points(
    points: np.ndarray,
    source: str = "",
    first: int = 0,
    typed: bool = False,
    finite: bool = True,
) -> np.ndarray:
    """Return points as float64; with `typed`, float16 and float32 keep their type.

    Messages begin with `source`, and number points from `first` on. Raises InputError
    if the array does not hold points, or a coordinate is too large or, if `finite`, not
    finite.
    """
    check_shape(points, source)
    check_integers(points, source, first)
    small = points.dtype.kind == "f" and points.itemsize < 8
    if not (typed and small):
        points = points.astype(np.float64, copy=False)
    if finite and not np.isfinite(points).all():
        point = first + int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InputError(
            f"{source}point {point} (from 0) has a coordinate that is not a finite "
            "number. Fix it, or leave the point out."
        )
    if small or np.abs(points).max() <= LARGEST:
        return points
    large = (np.abs(points) > LARGEST).any(axis=1) & np.isfinite(points).all(axis=1)
    if large.any():
        point = first + int(np.flatnonzero(large)[0])
        raise InputError(
            f"{source}point {point} (from 0) has a coordinate beyond {LARGEST:g}, "
            "whose distances float64 cannot hold. Fix or scale it."
        )
    return points


def example_points(name: str, count: int, seed: int = 1) -> np.ndarray:
    """Return points in the plane that form clusters, and a tenth of noise.

    "rings" are concentric; "blobs" are round clouds of different density.
    """
    generator = np.random.default_rng(seed)
    noise = generator.uniform(-6, 6, (count // 10, 2))
    count -= len(noise)
    if name == "rings":
        radius = generator.choice([1.0, 2.5, 4.5], count, p=[0.2, 0.3, 0.5])
        angle = generator.uniform(0, 2 * np.pi, count)
        centres = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        spread = np.full(count, 0.12)
    else:
        blob = generator.integers(0, 7, count)
        centres = np.stack([4 * np.cos(blob), 4 * np.sin(2.0 * blob)], axis=1)
        spread = 0.15 + 0.08 * blob
    points = centres + spread[:, None] * generator.standard_normal((count, 2))
    return np.concatenate([points, noise])


def named_points(
    name: str | Path,
    count: int | None = None,
    mapped: bool = False,
    columns: str | None = None,
    key: str | None = None,
    typed: bool = False,
    finite: bool = True,
    metric: str = "",
    values: MatrixValues = DISTANCES,
) -> PointTable:
    """Return the points of a file, or `count` points of the example with this name.

    Raises ConfigError for `count` with a file, and options of files with an example.
    """
    if str(name) not in EXAMPLES:
        if count is not None:
            raise ConfigError(
                "--count is the number of points of an example, "
                f"{' or '.join(EXAMPLES)}, and {name} is a file. Leave it out."
            )
        return read_point_table(
            name, mapped, columns, key, typed, finite, metric, values
        )
    if columns or key:
        raise ConfigError(f"--columns and --key go with files, and {name} is not one.")
    count = EXAMPLE_POINTS if count is None else count
    nbytes = EXAMPLE_POINT_BYTES * count
    check_room(FREE_MEMORY, name, nbytes, f"an example of {count:,} points")
    return PointTable(example_points(str(name), count))


def names_of_ids(source: str | Path, ids: np.ndarray | None) -> Names | None:
    """Return the ids of points as names of vertices; None if two are equal."""
    if ids is None or len(np.unique(ids)) < len(ids):
        return None
    return names_of_values(source, ids.tolist())


def uuid_of(points: np.ndarray) -> str:
    """Return a UUID of the coordinates, by which forest files identify their points."""
    digest = hashlib.sha256(repr(points.shape).encode())
    count = max(1, HASHED // (8 * points.shape[1]))
    with np.errstate(all="ignore"):  # a check refuses numbers beyond float64
        for begin in range(0, len(points), count):
            part = points[begin : begin + count]
            digest.update(np.ascontiguousarray(part, np.float64).data)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest.hexdigest()))


def start_uuid(points: np.ndarray) -> Future[str]:
    """Start to compute `uuid_of` points, which must not change meanwhile."""
    return start_in_thread(partial(uuid_of, points), "mndmst-uuid")
