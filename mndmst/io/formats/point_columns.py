"""The choice of the coordinates in a table of points: one rule for all formats.

1. `--columns lon,lat` names the coordinates, in that order.
2. Otherwise every column of numbers is a coordinate, except ids, index columns and
   labels by name: these are left out, and one of them gives the ids of the rows.
3. A column of text, dates or booleans that is not such an id is an error: it may be a
   coordinate that is not written as a number. So is a table that is read as edges by
   the names of its columns, such as src,dst,weight.
4. For haversine the latitude comes first, whatever the order of the columns, if their
   names say which is which; angles in degrees by name are an error.
5. A column of whole numbers with an unknown name that never repeat may be an id, which
   is an error (`refuse_ids`).
6. A column of lists, such as embeddings, has all coordinates. Beside coordinates in
   other columns it is an error.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO

import numpy as np

from ...host.errors import ConfigError, InputError
from .table_columns import (
    EMPTY,
    NUMBER,
    OPTION,
    VECTOR,
    Column,
    choose_columns,
    is_ignored,
    knows_ends,
    listed,
    plain,
    position_of,
    titled,
)

# Names of ids, groups and results, which are not coordinates, beside edge columns.
_NOT_COORDINATES = re.compile(
    r"(row|obs|observation|sample|point|node|vertex|case|record|station|city|user|item)?"
    r"(id|index|idx|name|no|nr|key|code|uuid)"
    r"|(u|uu|gu|[ceghnoprstv])id|[a-z]*(objid|sourceid)"
    r"|(subhalo|halo|galaxy|star|hit|cell|track|particle|event|device|object|run|trip"
    r"|patient|subject|session|customer|client|product|order|account|image|file|doc"
    r"|document|frame|gene|read|seq|query|region|zone|site|sensor|tag|entity|tweet"
    r"|post|page|photo|video|song|movie|book|store|shop|house|building|parcel|road)"
    r"(id|ids|idx|no|nr)"
    r"|rownames|row|vertex|node|title|class|cluster|clusters|component|target|group"
    r"|species|probability"
)

# The words of a name that is an id: hit_id, haloId, ID_STAR
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s_\-.:/]+")
_ID_WORDS = frozenset(("id", "ids", "uid", "uuid", "guid", "gid", "oid", "fid", "idx"))
# Names of coordinates: x, lon, pc1, dim_0, ...
_COORDINATE = re.compile(
    r"[a-hl-mo-z]|(x|y|z|pc|dim|d|f|v|var|feature|feat|umap|tsne|col|coord)\d+"
    r"|[xyz](coord|coordinate|pos|mm|cm|m|km)|(pos|coord|position|center|centroid)[xyz]"
    r"|(lon|lat|long|lng)(deg|degrees|rad|radians)?|longitude|latitude|easting|northing"
    r"|ra|dec|height|width|depth|elevation|altitude|time|timestamp"
)
# Names of columns with labels or results; such columns have no ids of rows
_GROUPS = (
    "label", "labels", "type", "class", "cluster", "clusters", "component", "target",
    "group",
    "species", "probability", "oneway", "reversed",
)  # fmt: skip
# Names of angles on the globe or the sky
_LATITUDE = re.compile(r"lat|latitude|dec|declination")
_LONGITUDE = re.compile(r"lon|lng|long|longitude|ra|rightascension")
_RADIANS = re.compile(r"(radians|radian|rad)$")
_DEGREES = re.compile(r"(degrees|degree|degs|deg|°)$")
# Names in an option that a message gives; a wide table has hundreds of columns
_MOST_NAMES, _MOST_LETTERS = 12, 240
# Rows of which whole numbers that never repeat may be ids, and that are counted
LEAST_IDS, LEAST_COUNTED = 10, 3


@dataclass(frozen=True)
class PointColumns:
    """The columns with the coordinates of points, and with the ids of their rows."""

    names: tuple[str, ...]  # of all columns; positions from 1 in a text without names
    coordinates: tuple[int, ...]  # positions from 0
    ids: int | None
    headed: bool  # whether the table names its columns
    is_vector: bool = False  # whether one column has lists of all coordinates
    remark: str = ""  # how the coordinates are taken, for `text`

    def text(self) -> str:
        """Return one line that names the columns."""
        left_out = [i for i in range(len(self.names)) if i not in self.coordinates]
        line = "coordinates: " if self.headed else "coordinates: columns "
        line += listed(titled(self.names[i]) for i in self.coordinates) + self.remark
        if left_out:
            line += f"; left out: {listed(titled(self.names[i]) for i in left_out)}"
        if self.ids is not None:
            line += f"; ids of the rows: {titled(self.names[self.ids])}"
        return line


def names_of(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of columns in `lon,lat`, which may be quoted, or a sequence."""
    if given is None:
        return ()
    names = (
        next(csv.reader([given], skipinitialspace=True), [])
        if isinstance(given, str)
        else list(map(str, given))
    )
    names = [name.strip() for name in names]
    if not all(names) or not names or len(set(names)) < len(names):
        raise ConfigError(
            f"--columns {given}: give the names of the coordinates, such as lon,lat."
        )
    return tuple(names)


def choose_coordinates(
    table: object,
    columns: Sequence[Column],
    picked: Sequence[str] = (),
    headed: bool = True,
    metric: str = "",
) -> PointColumns:
    """Return the columns of the coordinates.

    `picked` has the names that the user gives; positions from 1 if the table is not
    headed. The order of coordinates matters to the `metric` haversine alone.
    """
    names = tuple(column.name for column in columns)
    if headed and not picked:
        _refuse_edges(table, columns)
    not_coordinates = [i for i in range(len(names)) if headed and is_id(names[i])]
    if picked:
        chosen = [position_of(table, names, OPTION + name, name) for name in picked]
        if len(set(chosen)) < len(chosen):
            raise ConfigError(f"--columns names a column of {table} twice.")
    else:
        chosen = [i for i in range(len(names)) if i not in not_coordinates]
        if not chosen and len(names) == 1:
            chosen = [0]  # a single column is the coordinate, whatever its name
    is_vector = [columns[i].kind for i in chosen] == [VECTOR]
    if not is_vector:
        _check_numbers(table, columns, chosen, not_coordinates, metric)
    if not chosen:
        raise InputError(
            f"{table}: has no column of coordinates, only "
            f"{listed(map(titled, names))}. Name them: --columns lon,lat."
        )
    ids = [i for i in not_coordinates if i not in chosen]
    named = [i for i in ids if names[i].strip() and plain(names[i]) not in _GROUPS]
    nameless = [i for i in ids if not names[i].strip()]
    id_column = next(iter(named + nameless), None)
    remark = ""
    if metric == "haversine" and headed and len(chosen) == len(LAT_LON):
        chosen, remark = _latitude_first(table, names, chosen)
    return PointColumns(names, tuple(chosen), id_column, headed, is_vector, remark)


def _check_numbers(
    table: object,
    columns: Sequence[Column],
    chosen: Sequence[int],
    not_coordinates: Sequence[int],
    metric: str,
) -> None:
    """Refuse coordinates that are not numbers, and lists beside other coordinates."""
    wrong = [i for i in chosen if columns[i].kind not in (NUMBER, EMPTY)]
    if not wrong:
        return
    first = min(wrong, key=lambda i: columns[i].kind == VECTOR)
    problem = "does not hold numbers"
    if columns[first].kind == VECTOR:
        problem = "has lists of numbers, which are all coordinates of a point"
    numbers = [
        column.name
        for i, column in enumerate(columns)
        if column.kind == NUMBER and i not in not_coordinates
    ]
    readings = [[column.name] for column in columns if column.kind == VECTOR][:1]
    readings += [numbers] * bool(numbers)
    options = map(columns_option, readings or [["lon", "lat"]])
    alleles = " Of a table of alleles, give --metric alleles." * (metric == "hamming")
    raise InputError(
        f"{table}: column {titled(columns[first].name)} {problem}. Name the "
        f"coordinates: {' or '.join(options)}.{alleles}"
    )


def columns_option(names: Sequence[str]) -> str:
    """Return `--columns` with names for a message; a few of them if they are many."""
    if len(names) > _MOST_NAMES or sum(map(len, names)) > _MOST_LETTERS:
        few = ",".join(name[:20] for name in names[:3])
        return f"--columns {few},... with all {len(names)} names"
    line = StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return f"--columns {line.getvalue()}"


LAT_LON = ("latitude", "longitude")


def _latitude_first(
    table: object, names: Sequence[str], chosen: Sequence[int]
) -> tuple[list[int], str]:
    """Return two coordinates, the latitude first, and words that say so."""
    kinds = [angle_of(names[i]) for i in chosen]
    known = [kind for kind, _ in kinds]
    if "degrees" in (unit for _, unit in kinds):
        shown_names = " and ".join(titled(names[i]) for i in chosen)
        raise InputError(
            f"{table}: columns {shown_names} are in degrees, and haversine takes "
            "radians. Convert them with numpy.radians, and name them without degrees."
        )
    if known[0] and known[0] == known[1]:
        raise InputError(
            f"{table}: columns {titled(names[chosen[0]])} and "
            f"{titled(names[chosen[1]])} are both a {known[0]}. Give a latitude and a "
            "longitude: --columns A,B."
        )
    if not any(known):
        return list(chosen), " (taken as latitude and longitude, in radians)"
    swapped = known[0] == "longitude" or known[1] == "latitude"
    ordered = list(reversed(chosen)) if swapped else list(chosen)
    return ordered, " (latitude and longitude by their names, in radians)"


def angle_of(name: str) -> tuple[str, str]:
    """Return the angle that a column's name means, or "", and its unit, or ""."""
    letters = re.sub(r"[\s_\-.:()\[\]]+", "", name.casefold())
    unit = ""
    if _DEGREES.search(letters):
        letters, unit = _DEGREES.sub("", letters), "degrees"
    elif _RADIANS.search(letters):
        letters, unit = _RADIANS.sub("", letters), "radians"
    if _LATITUDE.fullmatch(letters):
        return "latitude", unit
    if _LONGITUDE.fullmatch(letters):
        return "longitude", unit
    return "", ""


def check_angles(names: Sequence[object], source: str) -> None:
    """Refuse a data frame whose columns say that haversine would read them wrong."""
    if len(names) != len(LAT_LON) or not all(isinstance(name, str) for name in names):
        return
    texts = list(map(str, names))
    ordered, _ = _latitude_first(source, texts, [0, 1])
    if ordered != [0, 1]:
        raise InputError(
            f"{source}: its columns are {texts[0]} and {texts[1]}, and haversine takes "
            f"the latitude first: give {source}[[{texts[1]!r}, {texts[0]!r}]]."
        )


def refuse_ids(
    table: object,
    columns: PointColumns,
    points: np.ndarray,
    whole: Sequence[bool],
) -> None:
    """Refuse a column of whole numbers that may be the ids of the rows.

    `whole` says which coordinates are written as whole numbers. Such a column has no
    known name, and counts the rows, or never repeats while all others do.
    """
    count, width = points.shape
    if width < 2 or count < LEAST_COUNTED:
        return
    names = [columns.names[i] for i in columns.coordinates]
    distinct = [
        k for k in range(width) if whole[k] and len(np.unique(points[:, k])) == count
    ]
    if len(distinct) != 1:
        return
    (k,) = distinct
    if k and width > _MOST_NAMES:
        return  # of many columns, one is distinct by chance
    if columns.headed and _COORDINATE.fullmatch(plain(names[k])):
        return
    others = np.delete(points, k, axis=1)
    start = points[0, k]
    counts = start in (0, 1) and bool((points[:, k] == start + np.arange(count)).all())
    counts &= k == 0 and bool((others != np.rint(others)).any())
    if not counts and count < LEAST_IDS:
        return
    how = f"counts the rows from {start:.0f}" if counts else "never repeats"
    which = f"column {titled(names[k])}" if columns.headed else f"column {names[k]}"
    rest = [name for i, name in enumerate(names) if i != k]
    raise InputError(
        f"{table}: {which} has whole numbers and {how}, so it may be an index or ids. "
        f"Give {columns_option(rest)} to leave it out, or {columns_option(names)} if "
        "it is a coordinate."
    )


def _refuse_edges(table: object, columns: Sequence[Column]) -> None:
    """Raise an InputError if the names of columns are the names in a table of edges."""
    if not knows_ends([column.name for column in columns], surely=True):
        return
    try:
        chosen = choose_columns(table, columns)
    except InputError:
        return
    names = listed(titled(chosen.names[i]) for i in chosen.wanted)
    way = "cluster their forest: mndmst partition, solve and cluster"
    if any(columns[i].kind not in (NUMBER, EMPTY) for i in chosen.wanted):
        raise InputError(f"{table}: its columns {names} are edges. To cluster, {way}.")
    every = [c.name for c in columns if c.kind in (NUMBER, EMPTY)]
    coordinates = [name for name in every if not is_ignored(name)]
    raise InputError(
        f"{table}: its columns {names} can be edges or coordinates. If they are edges, "
        f"{way}. If they are coordinates, say so: {columns_option(coordinates)}."
    )


def knows_points(names: Sequence[str]) -> bool:
    """Return whether some names are known for coordinates or ids of points."""
    return any(_COORDINATE.fullmatch(plain(name)) or is_id(name) for name in names)


def is_id(name: str) -> bool:
    """Return whether a column has ids, an index, labels or results by its name."""
    words = [word.casefold() for word in _WORDS.split(name.strip()) if word]
    is_word = bool(words) and (words[-1] in _ID_WORDS or words[0] == "id")
    return (
        is_word
        or is_ignored(name)
        or _NOT_COORDINATES.fullmatch(plain(name)) is not None
    )
