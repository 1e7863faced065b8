"""Graphs in other formats, told by the file's suffix; one module per format.

A format is a module with `open_file(path) -> EdgeFile`, to be read in pieces of
bounded size by any number of processes (`mndmst.io.edge_file`), or, for formats that
are small by nature, `read(path) -> Edges`. If it can be written, it has
`write(edges, path)`. To add one, add it to the table below.
"""

from pathlib import Path
from typing import Any

from ...errors import ConfigError, InputError
from ..edge_file import EdgeFile, EdgesInMemory
from ..edges import Edges
from . import dimacs, matrix_market, scipy_npz, shards

_FORMATS: dict[str, Any] = {
    ".gr": dimacs,
    ".mtx": matrix_market,
    ".npz": scipy_npz,
    ".h5": shards,
}
_WRITERS = {".gr": dimacs.write, ".mtx": matrix_market.write, ".npz": scipy_npz.write}
_COMPRESSIONS = (".gz", ".xz")


def open_edges(path: str | Path) -> EdgeFile:
    """Open a graph: DIMACS `.gr`, Matrix Market `.mtx`, SciPy `.npz`, or shards.

    Integer weights stay integers and reals become float64. Files may be compressed
    (`.gz`, `.xz`).

    Parameters
    ----------
    path : str or Path
        A directory is taken for shards.

    Returns
    -------
    EdgeFile
        Formats that cannot be read in pieces have been read whole.

    Raises
    ------
    InputError
        If the format is not known, or the file is missing, damaged or wrong.
    MissingExtraError
        If the format needs SciPy and it is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such file or directory.")
    suffix = ".h5" if path.is_dir() else _suffix(path)
    if suffix not in _FORMATS:
        raise InputError(
            f"{path}: unknown format {suffix or 'without suffix'}; known are "
            f"{', '.join(_FORMATS)}, each also with {' or '.join(_COMPRESSIONS)}."
        )
    module = _FORMATS[suffix]
    if hasattr(module, "open_file"):
        opened: EdgeFile = module.open_file(path)
        return opened
    return EdgesInMemory(str(path), module.read(path))


def read_edges(path: str | Path) -> Edges:
    """Read a graph into memory; see `open_edges`."""
    return open_edges(path).read()


def write_edges(edges: Edges, path: str | Path) -> None:
    """Write a graph as `.gr`, `.mtx` or `.npz`.

    The file appears under its name when it is whole.

    Parameters
    ----------
    edges : Edges
    path : str or Path

    Raises
    ------
    ConfigError
        If the suffix is none of these.
    OutputError
        If the file cannot be written.
    MissingExtraError
        If SciPy is not installed.
    """
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise ConfigError(
            f"{path}: cannot write {path.suffix or 'a file without suffix'}; give one "
            f"of {', '.join(_WRITERS)}."
        )
    _WRITERS[path.suffix](edges, path)


def _suffix(path: Path) -> str:
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
