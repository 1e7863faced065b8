"""Tables with comments, headers in comments, and names that begin with # or %.

Each is read as it is meant, or refused where a line may be a comment or a row.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mndmst.host.errors import MndmstError
from mndmst.io.formats import read_edges
from mndmst.points.point_files import read_point_table

from .case import expect

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": " "}
HEADERS = (("source", "target", "weight"), ("node1", "node2", "score"), ("u", "v", "w"),
           ("from", "to", "length"))  # fmt: skip
WORDS = ("a", "b", "python", "data", "x1", "gene12", "Zürich", "tag")
MARKED = ("#python", "#data", "%x", "#1", "##", "%%b", "#a b")
COMMENTS = ("#", "# a remark", "% made by hand", "#!/usr/bin/r", "# 2026-01-31, v2",
            "# x: 1, y: 2", "# https://example.org/a,b")  # fmt: skip
# A comment with the form of a row, which may be refused
ROW_LIKE = ("#a{0}b{0}3", "%python{0}data{0}7")


def check(draw: random.Random, folder: Path) -> str:
    """Write a table of edges or of points and read it; return the outcome."""
    return draw.choice((check_edges, check_points))(draw, folder)


def check_edges(draw: random.Random, folder: Path) -> str:
    """Write edges between names; read them."""
    suffix = draw.choice(list(SEPARATORS))
    separator = SEPARATORS[suffix]
    some = [word for word in (*WORDS, *MARKED) if separator not in word]
    names = draw.sample(some if draw.random() < 0.5 else list(WORDS), 5)
    quoted = draw.random() < 0.4
    rows = [(*draw.sample(names, 2), draw.randrange(1, 99)) for _ in range(8)]
    lines = [separator.join((_cell(u, quoted), _cell(v, quoted), str(w)))
             for u, v, w in rows]  # fmt: skip
    header = draw.choice(("none", "line", "comment"))
    words = draw.choice(HEADERS)
    doubtful = not quoted and any(row[0][0] in "#%" for row in rows)
    doubtful |= header == "none" and rows[0][0][0] in "#%"
    doubtful |= add_comments(draw, lines, separator)
    if header != "none":
        lines.insert(0, "# " * (header == "comment") + separator.join(words))
    path = write(draw, folder / f"edges{suffix}", lines)
    about = f"{header}\n{path.read_text()}"
    try:
        edges = read_edges(path)
    except MndmstError as error:
        expect(doubtful and str(path) in str(error), f"{error} for {about}")
        return "edges: refused"
    expect(edges.names is not None, f"no names: {about}")
    texts = edges.names.texts()
    ends = [[texts[i] for i in column.tolist()] for column in (edges.src, edges.dst)]
    found = list(zip(*ends, edges.weight.tolist(), strict=True))
    expect(found == rows, f"{found} in place of {rows} for {about}")
    return f"edges: header {header}"


def check_points(draw: random.Random, folder: Path) -> str:
    """Write points with names; read them."""
    suffix = draw.choice(list(SEPARATORS))
    separator = SEPARATORS[suffix]
    kind = draw.choice(("names", "marks", "numbers"))
    some = MARKED if kind == "marks" else WORDS
    ids: Sequence = [word for word in some if separator not in word]
    if kind == "numbers":
        ids = range(1, 9)
    ids = draw.sample(ids, min(len(ids), draw.randint(3, 7)))
    quoted = draw.random() < 0.4
    points = [(draw.randrange(50) / 4, draw.uniform(-1, 1)) for _ in ids]
    lines = [separator.join((_cell(str(name), quoted), *map(repr, point)))
             for name, point in zip(ids, points, strict=True)]  # fmt: skip
    header = draw.choice(("line", "comment"))
    doubtful = kind == "marks" and not quoted
    doubtful |= add_comments(draw, lines, separator)
    lines.insert(0, "# " * (header == "comment") + separator.join(("id", "x", "y")))
    path = write(draw, folder / f"points{suffix}", lines)
    about = f"{header}\n{path.read_text()}"
    try:
        found = read_point_table(path)
    except MndmstError as error:
        expect(doubtful and str(path) in str(error), f"{error} for {about}")
        return "points: refused"
    expect(np.array_equal(found.points, points), f"{found.points} for {about}")
    expect(found.ids is not None and found.ids.tolist() == ids, f"{found} for {about}")
    return f"points: header {header}"


def _cell(text: str, quoted: bool) -> str:
    return f'"{text}"' if quoted else text


def add_comments(draw: random.Random, lines: list[str], separator: str) -> bool:
    """Add comments and empty lines; return whether one has the form of a row."""
    like = False
    for _ in range(draw.randrange(4)):
        comment = draw.choice((*COMMENTS, "", *ROW_LIKE))
        like |= comment in ROW_LIKE
        lines.insert(draw.randint(0, len(lines)), comment.format(separator))
    return like


def write(draw: random.Random, path: Path, lines: list[str]) -> Path:
    """Write lines with an end that is drawn; return the path."""
    path.write_bytes((draw.choice(("\n", "\r\n")).join(lines) + "\n").encode())
    return path
