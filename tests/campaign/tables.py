"""Random tables of edges and of points: the right numbers, or one clear line."""

import csv
import gzip
import io
import json
import lzma
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import zstandard

from mndmst.host.errors import MndmstError
from mndmst.io.formats import read_edges
from mndmst.points.point_files import read_point_table

from .case import CaseError, expect, refusal

ENDS = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("u", "v"), ("i", "j"),
    ("node1", "node2"), ("start", "end"), ("tail", "head"), ("V1", "V2"),
    (":START_ID", ":END_ID"), ("From Node", "To Node"), ("row", "col"),
)  # fmt: skip
WEIGHTS = ("weight", "w", "cost", "distance", "dist", "length", "len", "travel_time",
           "time", "value", "similarity", "Shape_Length", "length (m)")  # fmt: skip
UNKNOWN = ("lanes", "capacity", "foo", "q7", "timestamp", "speed")
IDS = ("id", "key", "Unnamed: 0", "edge_id", "osmid", "index", "")
REMARKS = ("name", "label", "remark", "highway")
COORDINATES = ("x", "y", "z", "lon", "lat", "height", "pc1", "pc2")
WORDS = ("", "a b", 'say "x"', "Zürich", "a,b", "a;b", "a\tb", "#f00", "%", "x", "'",
         "7 up", "-")  # fmt: skip
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".zst": lambda data: zstandard.ZstdCompressor().compress(data),
}
Table = dict[str, list]


class Made(NamedTuple):
    """A table in a file.

    Attributes
    ----------
    path : Path
    header : list of str
    format : str
    """

    path: Path
    header: list[str]
    format: str


def check(draw: random.Random, folder: Path) -> str:
    """Write a random table and read it; return the outcome."""
    return draw.choice((check_edges, check_edges, check_points))(draw, folder)


def check_edges(draw: random.Random, folder: Path) -> str:
    """Read a table of edges whose names are known, or are not; return the outcome."""
    count, vertices = draw.randrange(1, 40), draw.randrange(2, 30)
    ends = [[draw.randrange(vertices) for _ in range(count)] for _ in range(2)]
    weights = _weights(draw, count)
    source, target = map(_cased(draw), draw.choice(ENDS))
    weight = _cased(draw)(draw.choice(WEIGHTS))
    kind = draw.choice(("known", "known", "known", "bare", "two", "strange", "named"))
    if kind in ("strange", "named"):
        source, target, weight = draw.sample(UNKNOWN, 3)
    columns: Table = {source: ends[0], target: ends[1], weight: weights}
    if kind == "bare":
        del columns[weight]
        weights = [1] * count
    if kind == "two":
        known = {plain(name) for name in columns}
        other = draw.choice([name for name in WEIGHTS if plain(name) not in known])
        columns[other] = _weights(draw, count)
    _add_others(draw, columns, count, numbers=kind != "bare")
    if min(weights) >= 0 and draw.random() < 0.5:
        columns["reverse_cost"] = [draw.random() for _ in range(count)]
    made = write(draw, folder, columns)
    about = f"{made.format} {made.header} {kind}\n{_beginning(made.path)}"
    asked = None
    if kind in ("two", "strange", "named"):
        asked = f"source={source},target={target},weight={weight}"
    if kind in ("two", "strange"):
        message = refusal(lambda: read_edges(made.path), made.path)
        expect(message is not None, f"not refused: {about}")
        expect("--columns" in str(message), f"{message} for {about}")
    try:
        found = read_edges(made.path, columns=asked)
    except MndmstError as error:
        raise CaseError(f"{error} for {about}") from error
    expected = list(zip(*ends, map(float, weights), strict=True))
    columns_found = (found.src.tolist(), found.dst.tolist(), found.weight.tolist())
    got = list(zip(*columns_found, strict=True))
    expect(got == expected, f"{got} in place of {expected} for {about}")
    return f"edges: {kind}"


def check_points(draw: random.Random, folder: Path) -> str:
    """Read a table of points with ids, or by names; return the outcome."""
    count, dimensions = draw.randrange(1, 30), draw.randrange(1, 4)
    names = [_cased(draw)(name) for name in draw.sample(COORDINATES, dimensions)]
    columns: Table = {name: _reals(draw, count) for name in names}
    expected = np.array(list(columns.values())).T
    ids: list | None = None
    if draw.random() < 0.6:
        ids = draw.sample(range(1000), count)
        columns[draw.choice(IDS)] = ids
    asked = None
    if draw.random() < 0.4:
        columns["remark"] = [draw.choice(WORDS[1:]) for _ in range(count)]
        asked = list(names)
    made = write(draw, folder, columns, links=False)
    about = f"{made.format} {made.header}\n{_beginning(made.path)}"
    if asked is not None:
        message = refusal(lambda: read_point_table(made.path), made.path)
        expect(message is not None, f"not refused: {about}")
    try:
        found = read_point_table(made.path, columns=asked)
    except MndmstError as error:
        raise CaseError(f"{error} for {about}") from error
    order = names if asked else [name for name in made.header if name in names]
    expected = expected[:, [names.index(name) for name in order]]
    expect(np.array_equal(found.points, expected), f"{found.points} for {about}")
    if ids is not None:
        expect(found.ids is not None and found.ids.tolist() == ids, about)
    return "points: " + ("by name" if asked else "by the rule")


def write(
    draw: random.Random, folder: Path, columns: Table, links: bool = True
) -> Made:
    """Write columns in a random order and format."""
    names = list(columns)
    draw.shuffle(names)
    shuffled = {name: columns[name] for name in names}
    typed = ("parquet", "arrow", *(("json", "links") if links else ()))
    format = draw.choice(("csv", "tsv", "ssv", "txt", "csv", *typed))
    if format in ("json", "links") or (format == "txt" and "" in names):
        format = "csv" if not links or format == "txt" else format
    if format in ("parquet", "arrow"):
        data = _typed(shuffled, format)
    elif format in ("json", "links"):
        data = _json(draw, shuffled, format)
    else:
        data = _text(draw, shuffled, format)
    suffix = {"ssv": ".csv", "links": ".json"}.get(format, f".{format}")
    packing = draw.choice(list(PACK))
    path = folder / f"table{suffix}{packing}"
    path.write_bytes(PACK[packing](data))
    return Made(path, names, format + packing)


def plain(name: str) -> str:
    """Return a name without case and blanks."""
    return name.casefold().replace("_", "").replace(" ", "")


def _text(draw: random.Random, columns: Table, format: str) -> bytes:
    separator = {"csv": ",", "tsv": "\t", "ssv": ";", "txt": " "}[format]
    several = len(columns) > 1  # else nothing says what separates columns
    commas = format in ("tsv", "ssv") and several and draw.random() < 0.4
    numbers = {
        name
        for name, values in columns.items()
        if any(isinstance(value, float) for value in values)
    }

    def cell(name: str, value: object) -> object:
        if commas and name in numbers:
            return repr(value).replace(".", ",")
        return repr(value) if isinstance(value, float) else value

    rows: list[list[object]] = [list(columns)]
    rows += [
        [cell(name, value) for name, value in zip(columns, row, strict=True)]
        for row in zip(*columns.values(), strict=True)
    ]
    quoting = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    if any(str(value)[:1] in ("#", "%") for row in rows for value in row):
        quoting = csv.QUOTE_ALL  # else a line of comment
    cells = [str(value) for row in rows for value in row]
    if format == "txt" and ("" in cells or any("\t" in cell for cell in cells)):
        quoting = csv.QUOTE_ALL
    ends = draw.choice(("\n", "\r\n"))
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator="\n")
    writer.writerows(rows)
    lines = file.getvalue().splitlines()
    for _ in range(draw.randrange(3)):
        extra = draw.choice(("", "# a comment", "#", "# 1 2"))
        lines.insert(draw.randrange(len(lines) + 1), extra)
    text = ends.join(lines) + ends * draw.randrange(3)
    return (b"\xef\xbb\xbf" if draw.random() < 0.3 else b"") + text.encode()


def _typed(columns: Table, format: str) -> bytes:
    table, file = pyarrow.table(columns), io.BytesIO()
    if format == "parquet":
        pyarrow.parquet.write_table(table, file, row_group_size=7)
    else:
        with pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=7)
    return file.getvalue()


def _json(draw: random.Random, columns: Table, format: str) -> bytes:
    rows = zip(*columns.values(), strict=True)
    records = [dict(zip(columns, row, strict=True)) for row in rows]
    if format == "json":
        return json.dumps(records).encode()
    nodes = [{"id": i} for i in range(1000)]
    return json.dumps(
        {"nodes": nodes, draw.choice(("links", "edges")): records}
    ).encode()


def _weights(draw: random.Random, count: int) -> list:
    whole = draw.choice((True, False))
    if whole:
        most = draw.choice((9, 1 << 20, 1 << 53))
        return [draw.randrange(-most, most) for _ in range(count)]
    return _reals(draw, count)


def _reals(draw: random.Random, count: int) -> list[float]:
    scale = draw.choice((1.0, 1e-9, 1e12))
    return [scale * draw.uniform(-1, 1) for _ in range(count)]


def _cased(draw: random.Random) -> Callable[[str], str]:
    return draw.choice((str, str.lower, str.upper, str.title))


def _add_others(draw: random.Random, columns: Table, count: int, numbers: bool) -> None:
    """Add columns that are neither ends nor weights."""
    for name in draw.sample(IDS, draw.randrange(3)):
        columns.setdefault(name, draw.sample(range(1000), count))
    for name in draw.sample(REMARKS, draw.randrange(3)):
        columns.setdefault(name, [draw.choice(WORDS) for _ in range(count)])
    if numbers and draw.random() < 0.3:
        columns.setdefault("lanes", [draw.randrange(5) for _ in range(count)])


def _beginning(path: Path) -> str:
    return path.read_bytes()[:400].decode(errors="replace")
