"""Suffixes of output files, which choose the format."""

from pathlib import Path
from typing import NamedTuple

from ..host.errors import ConfigError


class Kind(NamedTuple):
    """A kind of outputs.

    Attributes
    ----------
    name : str
        What an output is, for messages.
    endings : tuple of str
        Of the names that it may have; "" for a name without one. An empty tuple leaves
        the names to the writer.
    format : str
        The mark inside a file (`overwrite_rule`); empty where its format has no
        place for one.
    advice : str
        How to get it in other formats.
    """

    name: str
    endings: tuple[str, ...]
    format: str = ""
    advice: str = ""


_HDF5 = (".h5", ".hdf5", "")
FOREST = Kind(
    "forest",
    _HDF5,
    "mndmst-forest",
    "mndmst convert makes .csv, .parquet and others of a forest",
)
# The forest as a table of edges, which the writer chooses by the ending
FOREST_OR_TABLE = FOREST._replace(endings=(*_HDF5, ".csv", ".tsv"))
LABELS = Kind("file of labels", (*_HDF5, ".csv", ".tsv"), "mndmst-labels")
CLUSTERS = Kind("cluster file", (*_HDF5, ".csv", ".nwk"), "mndmst-clusters")
PREDICTIONS = CLUSTERS._replace(
    name="file of predicted labels", endings=(*_HDF5, ".csv")
)
COLUMN = Kind("column of weights", (".h5",), "mndmst-column")
POINTS = Kind("file of points", (".npy",))
TABLE = Kind("table", (".csv", ".parquet", ".arrow"))
EDGES = Kind("file of edges", ())
REPORT = Kind("report", (".json", ""), "mndmst-report")
TRACE = Kind("trace", (".json", ""), "mndmst-trace")
BENCH_RECORD = Kind("record of bench", (".json", ""), "mndmst-bench-record")
ADDRESS = Kind("file of an address", (), "mndmst-address")
_PICTURE = (".png", ".svg", ".pdf")
PICTURE = Kind("picture of clusters", (*_PICTURE, ".html"), "mndmst-clusters-picture")
FOREST_PICTURE = Kind(
    "picture of a forest", (*_PICTURE, ".geojson"), "mndmst-forest-picture"
)
BENCH_PICTURE = Kind("picture of bench", _PICTURE, "mndmst-bench-picture")
PAGE = Kind("page of a report", (".html", *_PICTURE), "mndmst-report-page")


def check_ending(path: Path, kind: Kind) -> None:
    """Refuse a file name whose suffix contradicts the output's format.

    Raises
    ------
    ConfigError
        If it does, or says none where one is needed.
    """
    if kind.endings and path.suffix not in kind.endings:
        advice = f"; {kind.advice}" * bool(kind.advice)
        endings = ", ".join(filter(None, kind.endings))
        raise ConfigError(f"{path}: give a name in {endings}{advice}")
