"""Datasets of HDF5 files that are not trusted: checked before they are read.

HDF5 follows links into other files, composes datasets of others, loads filters, and
takes memory for whole chunks, all as a file asks for. What is read here is in the file
itself, in chunks of bounded size, with the filters that mndmst uses; the code that
unpacks it knows how much there may be.
"""

import math
from pathlib import Path

import h5py
import numpy as np

from ...host.errors import InputError
from ...kernels.threads import ALONE, Threads
from ..file_errors import CHUNK_BYTES
from .chunk_filters import FILTERS, applied_filters
from .chunk_reader import read_range

# Chunks that mndmst writes have `CHUNK_BYTES`.
LARGEST_CHUNK = 16 * CHUNK_BYTES
LONGEST_TEXT = 1 << 10


def checked_dataset(
    path: Path,
    file: h5py.File,
    name: str,
    length: int | None = None,
    remake: str = "Make the graph again",
    dimensions: int = 1,
) -> h5py.Dataset:
    """Return a dataset that is as long as it should be, really there, checksummed.

    Parameters
    ----------
    path : Path
        Names the file in errors.
    length : int, optional
        What the header says.
    remake : str
        What to do about it.

    Raises
    ------
    InputError
        Otherwise: HDF5 itself fills in zeros for what was never written.
    """
    dataset, problem = _own_item(file, name)
    if not problem:
        problem = _problem(dataset, length, dimensions)
    if problem:
        raise InputError(f"{path}: dataset {name} {problem}. {remake}.")
    return dataset


def read_dataset(
    path: Path,
    dataset: h5py.Dataset,
    begin: int = 0,
    end: int | None = None,
    threads: Threads = ALONE,
) -> np.ndarray:
    """Return the entries [begin, end) of a dataset that has been checked; else all.

    Raises
    ------
    InputError
        If a chunk is damaged or missing.
    OSError
        If the file cannot be read.
    """
    end = len(dataset) if end is None else min(end, len(dataset))
    target = np.empty(max(0, end - begin), dataset.dtype)
    read_range(path, dataset, begin, target, threads)
    return target


def _own_item(file: h5py.File, name: str) -> tuple[h5py.Dataset, str]:
    """Return the object of a name in the file itself, and a text for its fault."""
    place = file
    for step in name.split("/"):
        found = place.get(step, getlink=True) if isinstance(place, h5py.Group) else None
        if found is None:
            return place, "is missing"
        if not isinstance(found, h5py.HardLink):
            return place, "is a link, which may lead into another file"
        place = place[step]
    return place, ""


def _problem(dataset: h5py.Dataset, length: int | None, dimensions: int) -> str:
    """Return a text for a dataset's fault before any entry is read; "" if none."""
    if not isinstance(dataset, h5py.Dataset):
        return "is missing"
    # To ask for the shape of a virtual one might open other files.
    if dataset.is_virtual:
        return "is virtual: put together out of others"
    if dataset.id.get_create_plist().get_external_count():
        return "is stored in another file"
    if dataset.ndim != dimensions:
        return f"has {dataset.ndim} dimensions where {dimensions} is expected"
    if dataset.dtype.kind not in "iufS" or dataset.dtype.itemsize > LONGEST_TEXT:
        return "does not hold numbers or short texts"
    if length is not None and len(dataset) != length:
        return f"has {len(dataset)} entries where {length} are expected"
    return _storage_problem(dataset) if len(dataset) else ""


def _storage_problem(dataset: h5py.Dataset) -> str:
    filters = applied_filters(dataset)
    if not dataset.fletcher32 or dataset.chunks is None:
        return "has no checksums"
    if not set(filters) <= FILTERS or len(set(filters)) < len(filters):
        return "is stored through a filter that mndmst does not use"
    width = dataset.dtype.itemsize * math.prod(dataset.shape[1:])
    chunk = dataset.chunks[0]
    if width * chunk > min(LARGEST_CHUNK, max(CHUNK_BYTES, width * len(dataset))):
        return f"has chunks of {width * chunk:,} bytes, too large for it"
    if dataset.id.get_num_chunks() * chunk < len(dataset):
        return "was not written to its end"
    return ""
