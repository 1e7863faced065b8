"""Kinds of output files: their suffixes, and which existing file an output may replace.

An output replaces an ordinary file that proves to be an earlier result of the same
kind. It replaces any other ordinary file on request alone (`--overwrite`), and never a
link, a directory, a device or a pipe.

The proof is a mark inside the file, which every writer sets and the reader finds
without reading all of it:

- HDF5: the attribute `format` of the root;
- JSON and GeoJSON: the first two entries, `format` and `creator`.

A file of another suffix (.csv, .npy, .png, .html and so on) proves nothing. A header
line, the name of a creator or a suitable content is not a proof.
"""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..host import __version__
from ..host.errors import ConfigError, InputError, OutputError
from .file_access import (
    MALFORMED,
    LockedFileError,
    is_hdf5,
    open_hdf5,
    opened,
    read_attribute,
)

HDF5 = (".h5", ".hdf5", "")
_PICTURE = (".png", ".svg", ".pdf")
INDEX_NAME = "index.h5"  # of a directory of shards, where no other output goes
MARKED = (".h5", ".hdf5", ".json", ".geojson", "")  # suffixes of files with a mark
CREATOR = f"mndmst {__version__}"  # what files say of the program that wrote them
_HEAD_BYTES = 1 << 10


class Kind(NamedTuple):
    """A kind of outputs."""

    name: str  # names an output in messages
    # Of the names that it may have; "" for a name without one. An empty tuple leaves
    # the names to the writer.
    endings: tuple[str, ...]
    # The mark inside HDF5 and JSON files; empty for a kind that is written as neither
    format: str = ""
    advice: str = ""  # how to get it in other formats


FOREST = Kind(
    "forest",
    HDF5,
    "mndmst-forest",
    "mndmst convert makes .csv, .parquet and others of a forest",
)
# The forest as a table of edges, which the writer chooses by the ending
FOREST_OR_TABLE = FOREST._replace(endings=(*HDF5, ".csv", ".tsv"))
LABELS = Kind("file of labels", (*HDF5, ".csv", ".tsv"), "mndmst-labels")
CLUSTERS = Kind(
    "cluster file", (*HDF5, ".csv", ".parquet", ".arrow", ".nwk"), "mndmst-clusters"
)
MODEL = CLUSTERS._replace(endings=HDF5)
PREDICTIONS = CLUSTERS._replace(
    name="file of predicted labels", endings=(*HDF5, ".csv", ".parquet", ".arrow")
)
FOREST_CHANGES = Kind("table of changes of a forest", (".csv", ".tsv"))
EVENTS = Kind("table of events of clusters", (".csv",))
ROOTED = Kind("rooted forest", (".csv", ".tsv", ".nwk"))
COLUMN = Kind("column of weights", (".h5",), "mndmst-column")
POINTS = Kind("file of points", (".npy",))
TABLE = Kind("table", (".csv", ".parquet", ".arrow"))
EDGES = Kind("file of edges", ())
REPORT = Kind("report", (".json", ""), "mndmst-report")
CONTEST = Kind("table of bench", (".md", ".csv", ".json"), "mndmst-bench")
TRACE = Kind("trace", (".json", ""), "mndmst-trace")
ADDRESS = Kind("file of an address", (), "mndmst-address")
PICTURE = Kind("picture of clusters", (*_PICTURE, ".html"))
FOREST_PICTURE = Kind(
    "picture of a forest", (*_PICTURE, ".geojson"), "mndmst-forest-picture"
)
PAGE = Kind("page of a report", (".html", *_PICTURE))


def check_ending(path: Path, kind: Kind) -> None:
    """Refuse a file name whose suffix contradicts the output's format."""
    if kind.endings and path.suffix not in kind.endings:
        advice = f"; {kind.advice}" * bool(kind.advice)
        endings = ", ".join(filter(None, kind.endings))
        raise ConfigError(f"{path}: give a name in {endings}{advice}")


def json_mark(kind: Kind) -> dict[str, str]:
    """Return the entries that a JSON file of a kind begins with."""
    return {"format": kind.format, "creator": CREATOR}


def hdf5_mark(format: str, version: int) -> dict[str, object]:
    """Return the attributes that the root of an HDF5 file of a format begins with."""
    return {"format": format, "version": version, "creator": CREATOR}


def check_replaceable(target: Path, kind: Kind, overwrite: bool) -> None:
    """Refuse an existing file that the output may not replace."""
    check_ordinary(target)
    if overwrite or not os.path.lexists(target) or is_earlier_result(target, kind):
        return
    suffix = target.suffix.lower()
    reason = f"is not a {kind.name} that mndmst has written"
    if suffix not in MARKED:
        reason = f"a {suffix} file does not prove which program wrote it"
    raise OutputError(
        f"{target}: exists, and {reason}. Give another name, or --overwrite (in Python "
        "overwrite=True) to replace the file."
    )


def check_ordinary(target: Path) -> None:
    """Refuse an existing link, directory, device or pipe."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    with suppress(OSError):
        if stat.S_ISLNK(mode) and not stat.S_ISREG(behind := target.stat().st_mode):
            mode = behind  # such as /dev/stdout
    if stat.S_ISLNK(mode):
        raise OutputError(
            f"{target}: is a symbolic link, and files are not written through links. "
            "Give the name of the file it points to, or remove the link."
        )
    if stat.S_ISDIR(mode):
        raise OutputError(f"{target}: is a directory; give a file in it.")
    if not stat.S_ISREG(mode):
        raise OutputError(
            f"{target}: is a device or a pipe, and outputs are whole files; give the "
            "name of a file."
        )


def is_earlier_result(path: Path, kind: Kind) -> bool:
    """Return whether a file carries the mark of a kind of outputs.

    Raises LockedFileError if another program has it open.
    """
    if not kind.format:
        return False
    try:
        return _carries_mark(path, kind)
    except LockedFileError:
        raise
    except (*MALFORMED, InputError):
        return False


def _carries_mark(path: Path, kind: Kind) -> bool:
    with opened(path) as file:
        head = file.read(_HEAD_BYTES)
    if is_hdf5(head):
        with open_hdf5(path) as content:
            return bool(read_attribute(content, "format") == kind.format)
    begin = rb'\{\s*"format":\s*"%s",\s*"creator":\s*"mndmst [^"]*"'
    return re.match(begin % kind.format.encode(), head) is not None
