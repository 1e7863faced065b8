"""Points from files, and examples of points."""

import hashlib
import os
import uuid
import warnings
from io import TextIOWrapper
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO

import numpy as np

from ..host.errors import InputError
from ..io.allowance import check_room
from ..io.opening import opened

ARRAY_COPIES, TEXT_COPIES = 3, 12
EXAMPLES = ("rings", "blobs")
# For each point, while its two coordinates are drawn.
BYTES_OF_EXAMPLE = 100

HASHED = 1 << 16  # points at a time

# Float64 holds all integers up to it.
MOST_EXACT = 1 << 53

# The squares of differences of coordinates up to it can be added up in float64.
LARGEST = 1e150


def read_points(source: str | Path, mapped: bool = False) -> np.ndarray:
    """Return points from an .npy or .csv file; a first row of names is skipped.

    Parameters
    ----------
    mapped : bool
        Leave those of an .npy file there, as they are: `checked_points` is for what
        is taken of them.

    Returns
    -------
    ndarray of float64, shape (points, dimensions)

    Raises
    ------
    InputError
        If the file does not hold such an array, or a coordinate is no number.
    """
    path = Path(source)
    mapped = mapped and path.suffix == ".npy"
    try:
        with opened(path) as file, warnings.catch_warnings():
            # Of NumPy, for files that are empty or of old versions
            warnings.simplefilter("ignore", UserWarning)
            copies = ARRAY_COPIES if path.suffix == ".npy" else TEXT_COPIES
            nbytes = copies * os.fstat(file.fileno()).st_size
            if mapped:
                points = np.load(path, mmap_mode="r", allow_pickle=False)
                check_shape(points, f"{path}: ")
                return points
            check_room(path, nbytes, "the list of its points")
            if path.suffix == ".npy":
                points = np.load(file, allow_pickle=False)
            else:
                points = _read_table(file)
    except (OSError, ValueError, EOFError, SyntaxError, TokenError) as error:
        raise InputError(
            f"{path}: cannot be read as points ({error}). Give an .npy file of an "
            "array, a point a row, or numbers separated by commas."
        ) from error
    return checked_points(points, f"{path}: ")


def check_shape(points: np.ndarray, source: str = "") -> None:
    """Raise InputError if an array does not hold a point a row."""
    if points.size == 0:
        raise InputError(f"{source}holds no points. Give one a row.")
    if points.ndim != 2 or points.dtype.kind not in "iuf":
        raise InputError(f"{source}has {points.dtype}{list(points.shape)}, no points.")


def checked_points(points: np.ndarray, source: str = "", first: int = 0) -> np.ndarray:
    """Return points as float64.

    Parameters
    ----------
    points : ndarray of numbers, shape (points, dimensions)
    source : str
        What messages begin with.
    first : int
        The number of the first of these points.

    Raises
    ------
    InputError
        If it is no such array, or a coordinate cannot be computed with.
    """
    check_shape(points, source)
    check_integers(points, source, first)
    points = points.astype(np.float64, copy=False)
    if not np.isfinite(points).all():
        row = first + int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise InputError(f"{source}point {row} has a coordinate that is no number.")
    if np.abs(points).max() > LARGEST:
        row = first + int(np.flatnonzero((np.abs(points) > LARGEST).any(axis=1))[0])
        raise InputError(
            f"{source}point {row} has a coordinate beyond {LARGEST:g}, whose distances "
            "float64 cannot hold. Mend or scale it."
        )
    return points


def check_integers(points: np.ndarray, source: str, first: int = 0) -> None:
    """Refuse integers that float64 would round: distances of some would be 0.

    Parameters
    ----------
    points : ndarray of any type, first axis points
    source, first
        See `checked_points`.

    Raises
    ------
    InputError
        Names the first of them.
    """
    if points.dtype.kind not in "iu" or points.dtype.itemsize < 8:
        return
    for begin in range(0, len(points), HASHED):
        part = points[begin : begin + HASHED]
        # Python compares an integer with a float exactly.
        large = part[(part > MOST_EXACT) | (part < -MOST_EXACT)].tolist()
        wrong = next((number for number in large if float(number) != number), None)
        if wrong is not None:
            row = first + begin + int(np.flatnonzero((part == wrong).any(axis=-1))[0])
            raise InputError(
                f"{source}point {row} has the coordinate {wrong}, which float64 would "
                "round. Subtract the smallest number of each column first."
            )


def _read_table(file: BinaryIO) -> np.ndarray:
    """Return numbers separated by commas, a row of names before them skipped."""
    text = TextIOWrapper(file, "utf-8-sig")
    try:
        names = _rows_of_names(text)
        text.seek(0)
        return np.loadtxt(text, delimiter=",", comments="#", ndmin=2, skiprows=names)
    finally:
        text.detach()  # whoever has opened the file closes it


def _rows_of_names(file: TextIOWrapper) -> int:
    """Return how many lines end with one of names, none of which is a number."""
    for number, line in enumerate(file, start=1):
        if words := line.partition("#")[0].strip():
            return 0 if any(map(_is_number, words.split(","))) else number
    return 0


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def example_points(name: str, count: int, seed: int = 1) -> np.ndarray:
    """Return points in the plane that fall into clusters, a tenth of them noise.

    Parameters
    ----------
    name : {"rings", "blobs"}
        Rings inside each other, or round clouds of different density.
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


def named_points(name: str | Path, count: int, mapped: bool = False) -> np.ndarray:
    """Return the points of a file, or so many of the example of that name."""
    if str(name) in EXAMPLES:
        check_room(name, BYTES_OF_EXAMPLE * count, f"an example of {count:,} points")
        return example_points(str(name), count)
    return read_points(name, mapped)


def uuid_of(points: np.ndarray) -> str:
    """Return what points are called in files that belong to them, by their contents."""
    digest = hashlib.sha256(repr(points.shape).encode())
    for begin in range(0, len(points), HASHED):
        part = points[begin : begin + HASHED]
        digest.update(np.ascontiguousarray(part, np.float64).data)
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest.hexdigest()))
