"""Kinds of output files: their suffixes, and which existing file an output may replace.

An output replaces an ordinary file that proves to be an earlier result of the same
kind. It replaces any other ordinary file on request alone (`--overwrite`), and never a
link, a directory, a device or a pipe.

The proof is a mark inside the file, which every writer sets and the reader finds
without reading all of it:

- HDF5: the attribute `format` of the root;
- JSON and GeoJSON: the first two entries, `format` and `creator`;
- HTML: `<meta name="generator">`; PNG: the text `Software`; SVG: the creator's title;
  PDF: `Creator` of the document information.

A file of another suffix (.csv, .npy, .gr and so on) has no place for a mark that its
readers skip. A header line or a suitable content is not a proof.
"""

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

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

_HDF5 = (".h5", ".hdf5", "")
_PICTURE = (".png", ".svg", ".pdf")
INDEX_NAME = "index.h5"  # of a directory of shards, where no other output goes
# Names whose files have a place for a mark.
MARKED = (".h5", ".hdf5", ".json", ".geojson", ".html", ".png", ".svg", ".pdf", "")
_HEAD_BYTES, _TAIL_BYTES = 1 << 16, 1 << 18
_PNG = b"\x89PNG\r\n\x1a\n"


class Kind(NamedTuple):
    """A kind of outputs."""

    name: str  # names an output in messages
    # Of the names that it may have; "" for a name without one. An empty tuple leaves
    # the names to the writer.
    endings: tuple[str, ...]
    # The mark inside a file; empty where its format has no place for one
    format: str = ""
    advice: str = ""  # how to get it in other formats


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
ADDRESS = Kind("file of an address", (), "mndmst-address")
PICTURE = Kind("picture of clusters", (*_PICTURE, ".html"), "mndmst-clusters-picture")
FOREST_PICTURE = Kind(
    "picture of a forest", (*_PICTURE, ".geojson"), "mndmst-forest-picture"
)
PAGE = Kind("page of a report", (".html", *_PICTURE), "mndmst-report-page")


def check_ending(path: Path, kind: Kind) -> None:
    """Refuse a file name whose suffix contradicts the output's format."""
    if kind.endings and path.suffix not in kind.endings:
        advice = f"; {kind.advice}" * bool(kind.advice)
        endings = ", ".join(filter(None, kind.endings))
        raise ConfigError(f"{path}: give a name in {endings}{advice}")


def json_mark(kind: Kind) -> dict[str, str]:
    """Return the entries that a JSON file of a kind begins with."""
    return {"format": kind.format, "creator": f"mndmst {__version__}"}


def hdf5_mark(format: str, version: int = 1) -> dict[str, Any]:
    """Return the attributes that the root of an HDF5 file of a format begins with."""
    creator = f"mndmst {__version__}"
    return {"format": format, "version": version, "creator": creator}


def text_mark(kind: Kind) -> str:
    """Return the text that a page or a picture of a kind carries."""
    return f"mndmst {__version__} ({kind.format})"


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
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES)
    if is_hdf5(head):
        with open_hdf5(path) as content:
            return bool(read_attribute(content, "format") == kind.format)
    if head.startswith(b"{"):
        begin = rb'\{\s*"format":\s*"%s",\s*"creator":\s*"mndmst [^"]*"'
        return re.match(begin % kind.format.encode(), head) is not None
    mark = rb"mndmst [^()<>]{1,40} \(%s\)" % re.escape(kind.format.encode())
    return re.fullmatch(mark, _text_mark_of(head, tail)) is not None


def _text_mark_of(head: bytes, tail: bytes) -> bytes:
    """Return the creator's mark in a page or a picture; "" if there is none."""
    if head.startswith(_PNG):
        return _software_of_png(head)
    if head.startswith(b"%PDF-"):
        return _creator_of_pdf(tail)
    if head.startswith(b"<!DOCTYPE html"):
        found = re.search(rb'<meta name="generator" content="([^"]*)">', head)
    elif head.startswith(b"<?xml") and b"<svg" in head:
        title = rb"<dc:creator>\s*<cc:Agent>\s*<dc:title>([^<]*)</dc:title>"
        found = re.search(title, head)
    else:
        return b""
    return found[1] if found else b""


def _software_of_png(head: bytes) -> bytes:
    """Return the text `Software`, which stands before the pixels."""
    place = len(_PNG)
    while place + 8 <= len(head):
        length, name = int.from_bytes(head[place : place + 4]), head[place + 4 :][:4]
        key, _, text = head[place + 8 : place + 8 + length].partition(b"\0")
        if (name, key) == (b"tEXt", b"Software"):
            return text
        if name == b"IDAT":
            break
        place += 12 + length
    return b""


def _creator_of_pdf(tail: bytes) -> bytes:
    """Return `Creator` of the document information that the trailer names."""
    trailer = re.search(rb"trailer\s*<<[^>]*/Info (\d+) 0 R", tail)
    if trailer is None:
        return b""
    entries = re.search(rb"\n%s 0 obj\s*<<(.*?)>>\s*endobj" % trailer[1], tail, re.S)
    creator = entries and re.search(rb"/Creator \(((?:\\.|[^\\])*?)\)\s", entries[1])
    return re.sub(rb"\\(.)", rb"\1", creator[1]) if creator else b""
