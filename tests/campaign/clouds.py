"""Points beside columns of ids, and matrices of distances with names."""

import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet

from mndmst.host.errors import MndmstError
from mndmst.points.point_files import read_point_table

from .case import expect, refusal

IDS = ("hit_id", "halo_id", "cell_id", "track_id", "objid", "source_id", "uid", "ID",
       "haloID", "SOURCE_ID", "objID", "hitId", "particle_id", "cell id", "galaxy_id",
       "uuid", "gid", "patient_id", "idx")  # fmt: skip
UNKNOWN = ("foo", "counter", "tile", "ticket")
WIDTHS = (1, 3, 9, 18, 19)  # digits of ids
CORNERS = ("", "name", "snp-dists 0.8.2", "FILE", "dist")
FLAWS = ("similarity", "asymmetric", "missing", "negative", "twice")
EXACT = 1 << 53


class Matrix(NamedTuple):
    """Distances between named points, and the cells that say them."""

    names: list[str]
    distances: list[list[float]]
    cells: list[list[str]]


def check(draw: random.Random, folder: Path) -> str:
    """Write a cloud or a matrix and read it; return the outcome."""
    return draw.choice((check_ids, check_unknown, check_matrix))(draw, folder)


def check_ids(draw: random.Random, folder: Path) -> str:
    """Read points beside ids with a known name: they are no coordinate."""
    count, name = draw.randint(2, 30), draw.choice(IDS)
    ids = draw_ids(draw, count)
    points = [[draw.randrange(9), draw.uniform(-1, 1)] for _ in range(count)]
    path, order = write_cloud(draw, folder, name, ids, points)
    try:
        found = read_point_table(path)
    except MndmstError as error:
        expect(False, f"{name}: {error}")
    points = [
        [point["xy".index(one)] for one in order if one != name] for point in points
    ]
    expect(np.array_equal(found.points, points), f"{name}: {found.points}")
    expect(found.ids is not None and found.ids.tolist() == ids, f"{name}: {found.ids}")
    expect(name in "".join(found.notes), f"{name}: {found.notes}")
    return "ids by their name"


def check_unknown(draw: random.Random, folder: Path) -> str:
    """Read points beside whole numbers: refused, or coordinates that are named."""
    count, name = draw.randint(2, 30), draw.choice(UNKNOWN)
    ids = draw_ids(draw, count)
    points = [[draw.randrange(3), draw.randrange(2)] for _ in range(count)]
    path, order = write_cloud(draw, folder, name, ids, points)
    about = f"{name}: {ids}"
    message = refusal(lambda: read_point_table(path), path)
    if message is not None:
        expect("--columns" in message, f"{message} for {about}")
        found = read_point_table(path, columns="x,y")
        expect(np.array_equal(found.points, points), f"{found.points} for {about}")
        return "unknown whole numbers: refused"
    expect(count < 10 and max(ids) <= EXACT, f"not refused: {about}")
    found = read_point_table(path)
    expect(f"coordinates: {', '.join(order)}" in found.notes, found.notes)
    columns = dict(zip((*"xy", name), (*zip(*points, strict=True), ids), strict=True))
    its = np.array([columns[word] for word in order], np.float64).T
    expect(np.array_equal(found.points, its), f"{found.points} for {about}")
    return "unknown whole numbers: a coordinate"


def draw_ids(draw: random.Random, count: int) -> list[int]:
    """Return different whole numbers of many digits or few."""
    digits = max(draw.choice(WIDTHS), len(str(count)))
    low, high = 10 ** (digits - 1), min(10**digits, 1 << 63)
    found: dict[int, None] = {}
    while len(found) < count:
        found[draw.randrange(low if count < high - low else 0, high)] = None
    return list(found)


def write_cloud(
    draw: random.Random, folder: Path, name: str, ids: list[int], points: list[list]
) -> tuple[Path, list[str]]:
    """Write points x, y and ids; return the file, and its columns in their order."""
    columns = {"x": [x for x, _ in points], "y": [y for _, y in points], name: ids}
    names = draw.sample(list(columns), 3)
    if draw.random() < 0.3:
        path = folder / "points.parquet"
        table = pyarrow.table({one: columns[one] for one in names})
        pyarrow.parquet.write_table(table, path)
        return path, names
    separator, suffix = draw.choice(((",", ".csv"), ("\t", ".tsv"), (";", ".csv")))
    rows = zip(*(columns[one] for one in names), strict=True)
    lines = [names, *([repr(value) for value in row] for row in rows)]
    path = folder / f"points{suffix}"
    path.write_text("".join(f"{separator.join(line)}\n" for line in lines))
    return path, names


def check_matrix(draw: random.Random, folder: Path) -> str:
    """Read a matrix of distances with names, or one with a flaw, which is refused."""
    matrix = draw_matrix(draw)
    flaw = draw.choice((*FLAWS, *[None] * 10))
    shape = "square"
    if flaw is None:
        shape = draw.choice(("square", "square", "lower", "upper", "phylip"))
    else:
        spoil(draw, matrix, flaw)
    path = write_matrix(draw, folder, matrix, shape, blank=flaw is None)
    about = f"{shape} {flaw}\n{path.read_text()}"
    try:
        found = read_point_table(path, metric="precomputed")
    except MndmstError as error:
        expect(flaw is not None and str(path) in str(error), f"{error} for {about}")
        return f"matrix: {flaw} refused"
    expect(flaw is None, f"not refused: {about}")
    expect(np.array_equal(found.points, matrix.distances), f"{found.points} {about}")
    names = [] if found.ids is None else [str(one) for one in found.ids.tolist()]
    expect(names == matrix.names, f"{names} for {about}")
    return f"matrix: {shape}"


def draw_matrix(draw: random.Random) -> Matrix:
    """Return a symmetric matrix, some of whose cells may be missing on one side."""
    n = draw.randint(3, 8)
    kind = draw.choice(("s{}", "Oslo-{}", "x y {}", "{}a", "#{}"))
    names = [kind.format(i) for i in draw.sample(range(100), n)]
    whole = draw.random() < 0.6
    distances = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i):
            value = draw.randrange(20) if whole else draw.uniform(0, 9)
            distances[i][j] = distances[j][i] = value
    cells = [[repr(value) if i != j else "0" for j, value in enumerate(row)]
             for i, row in enumerate(distances)]  # fmt: skip
    return Matrix(names, distances, cells)


def spoil(draw: random.Random, matrix: Matrix, flaw: str) -> None:
    """Give the cells of a matrix a flaw."""
    i, j = sorted(draw.sample(range(len(matrix.names)), 2))
    if flaw == "similarity":
        for k in range(len(matrix.names)):
            matrix.cells[k][k] = "1"
    elif flaw == "asymmetric":
        matrix.cells[i][j] = repr(float(matrix.distances[i][j]) + 1)
    elif flaw == "missing":
        matrix.cells[i][j] = matrix.cells[j][i] = "NA"
    elif flaw == "negative":
        matrix.cells[i][j] = matrix.cells[j][i] = "-1"
    else:
        matrix.names[j] = matrix.names[i]


def write_matrix(
    draw: random.Random, folder: Path, matrix: Matrix, shape: str, blank: bool
) -> Path:
    """Write a matrix as programs do; `blank` allows a diagonal without numbers."""
    names, cells = matrix.names, [list(row) for row in matrix.cells]
    if blank and shape == "square" and draw.random() < 0.3:
        missing = draw.choice(("", "-", "NA"))
        for k in range(len(names)):
            cells[k][k] = missing
    suffix, separator = draw.choice(((".tsv", "\t"), (".csv", ",")))
    if shape == "phylip":
        suffix, separator = ".txt", "\t"
        lines = [[str(len(names))]]
    else:
        lines = [[draw.choice(CORNERS), *names]]
    empty = ""
    for k, (name, row) in enumerate(zip(names, cells, strict=True)):
        if shape == "lower":
            row = row[: k + 1] + [empty] * (len(names) - k - 1)
        elif shape == "upper":
            row = [empty] * k + row[k:]
        lines.append([name, *row])
    path = folder / f"matrix{suffix}"
    path.write_text("".join(f"{separator.join(line)}\n" for line in lines))
    return path
