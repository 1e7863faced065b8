"""Files that count from 1: their ids in every command, in Python and in a service."""

import csv
import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import oracle
from oracle import Answer

import mndmst

from .case import expect
from .commands import Commands

Weights = dict[tuple[int, int], int | float]
# Texts that `convert` writes, and that are read here without the program
TEXTS = (".csv", ".tsv", ".txt", ".gr", ".mtx", ".json", ".ncol")


class Made(NamedTuple):
    """A graph of a file whose ids count from 1, and the folder it lies in."""

    folder: Path
    n: int
    edges: Weights  # by ids, the smaller one first
    maximum: bool
    fresh: Iterator[int | float]  # further weights
    order: str  # of the vertices; then weights are different, since ties follow it

    def answer(self, edges: Weights | None = None) -> Answer:
        """Return the forest in ids; the vertex 0 that it adds is a tree of its own."""
        given = self.edges if edges is None else edges
        ends = np.array(list(given), np.int64).reshape(-1, 2)
        weight = np.array(list(given.values()))
        solve = oracle.maximum_kruskal if self.maximum else oracle.kruskal
        return solve(self.n + 1, ends[:, 0], ends[:, 1], weight)

    def rows(self, edges: Weights | None = None) -> list[tuple]:
        """Return the edges of the forest."""
        answer = self.answer(edges)
        columns = (answer.src, answer.dst, answer.weight)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def labels(self) -> list[int]:
        """Return the smallest vertex of the tree of each vertex."""
        answer = self.answer()
        found = oracle.smallest_of_trees(self.n + 1, answer.src, answer.dst)
        return found[1:].tolist()


def check(draw: random.Random, folder: Path, commands: Commands) -> str:
    """Write a file, partition and solve it, and take two further steps."""
    made, path = draw_file(draw, folder)
    maximum = ["--maximum"] * made.maximum
    way = ["--parts", draw.randint(1, 3), "--reorder", made.order]
    run(commands, "partition", path, folder / "g", *way, *maximum, "-q")
    run(commands, "solve", folder / "g", "-o", folder / "f.h5", "--backend", "cpu")
    # After --reorder files of results, and a service, have the new ids
    steps = draw.sample([*STEPS, *[python, serve] * (made.order == "none")], 2)
    for step in steps:
        step(draw, made, commands)
    kind = "maximum" if made.maximum else "minimum"
    return f"{path.suffix} {kind}: {' '.join(step.__name__ for step in steps)}"


def draw_file(draw: random.Random, folder: Path) -> tuple[Made, Path]:
    """Draw a graph and write it in a format that counts from 1."""
    n = draw.randint(2, 30)
    whole = draw.random() < 0.7
    suffix = draw.choice([name for name in FILES if whole or name not in INTEGERS])
    order = draw.choice(("none", "none", "degree", "rcm"))
    weights = draw.choices(range(1, 10), k=1000)
    if order != "none":
        weights = draw.sample(range(1, 1001), 1000)
    fresh = iter(weights if whole else [weight + 0.0625 for weight in weights])
    pairs = [draw.sample(range(1, n + 1), 2) for _ in range(draw.randint(1, 3 * n))]
    edges = {(min(pair), max(pair)): next(fresh) for pair in pairs}
    made = Made(folder, n, edges, draw.random() < 0.4, fresh, order)
    path = folder / f"edges{suffix}"
    path.write_text(FILES[suffix](n, edges))
    return made, path


def dimacs(n: int, edges: Weights) -> str:
    """Return the text of a `.gr` file."""
    arcs = [f"a {u} {v} {w}\na {v} {u} {w}\n" for (u, v), w in edges.items()]
    return f"c drawn\np sp {n} {2 * len(edges)}\n{''.join(arcs)}"


def matrix_market(n: int, edges: Weights) -> str:
    """Return the text of a `.mtx` file."""
    whole = all(isinstance(weight, int) for weight in edges.values())
    entries = "".join(f"{v} {u} {w}\n" for (u, v), w in edges.items())
    kind = "integer" if whole else "real"
    banner = f"%%MatrixMarket matrix coordinate {kind} symmetric"
    return f"{banner}\n% drawn\n{n} {n} {len(edges)}\n{entries}"


def metis(n: int, edges: Weights) -> str:
    """Return the text of a METIS file."""
    rows: list[list[str]] = [[] for _ in range(n)]
    for (u, v), weight in edges.items():
        rows[u - 1].append(f"{v} {weight}")
        rows[v - 1].append(f"{u} {weight}")
    lines = "".join(f"{' '.join(row)}\n" for row in rows)
    return f"{n} {len(edges)} 001\n{lines}"


def counted_list(n: int, edges: Weights) -> str:
    """Return the text of an edge list that says where it begins to count."""
    rows = "".join(f"{u}\t{v}\t{w}\n" for (u, v), w in edges.items())
    return f"# {n} vertices from 1\n{rows}"


FILES: dict[str, Callable[[int, Weights], str]] = {
    ".gr": dimacs, ".mtx": matrix_market, ".metis": metis, ".graph": metis,
    ".txt": counted_list,
}  # fmt: skip
INTEGERS = (".metis", ".graph")


def run(commands: Commands, *words: object) -> str:
    """Run a command that must succeed; return its output."""
    ended = commands.run(*words)
    expect(ended.status == 0, f"{' '.join(map(str, words))}: {ended.err[-2000:]}")
    return ended.out


def table(path: Path) -> list[tuple]:
    """Return the rows below the names of a table, as numbers."""
    _, *rows = csv.reader(path.read_text().splitlines())
    return [tuple(map(number, row)) for row in rows]


def number(text: str) -> int | float:
    """Return the number of a text."""
    return float(text) if "." in text or "e" in text else int(text)


def forest_table(draw: random.Random, made: Made, commands: Commands) -> None:
    """Solve into a table, and convert the forest into another."""
    folder = made.folder
    run(commands, "solve", folder / "g", "-o", folder / "f.csv", "--backend", "cpu")
    run(commands, "convert", folder / "f.h5", folder / "c.csv")
    for name in ("f.csv", "c.csv"):
        found = sorted((*sorted(row[:2]), row[2]) for row in table(folder / name))
        expect(found == made.rows(), f"{name}: {found} in place of {made.rows()}")


def component_table(draw: random.Random, made: Made, commands: Commands) -> None:
    """Write the labels of components."""
    out = made.folder / "labels.csv"
    run(commands, "components", made.folder / "g", "-o", out, "--backend", "cpu")
    check_parts(table(out), made.labels(), made)


def check_parts(rows: Iterable[tuple], right: list[int], made: Made) -> None:
    """Check the labels of all ids; in another order, which are the same ones."""
    found = dict(rows)
    expect(sorted(found) == list(range(1, made.n + 1)), f"ids {sorted(found)}")
    labels = [found[vertex] for vertex in sorted(found)]
    pairs = set(zip(labels, right, strict=True))
    same = len(pairs) == len(set(labels)) == len(set(right))
    same &= made.order != "none" or (list(found), labels) == (sorted(found), right)
    expect(same, f"labels {found} in place of {right}")


def update(draw: random.Random, made: Made, commands: Commands) -> None:
    """Change edges by their ids; verify the forest of the changed graph."""
    folder, edges = made.folder, dict(made.edges)
    lines = ["op,src,dst,weight"]
    for pair in draw.sample(list(edges), min(3, len(edges))):
        ends = ",".join(map(str, draw.sample(pair, 2)))
        if draw.random() < 0.5:
            del edges[pair]
            lines.append(f"delete,{ends},")
        else:
            edges[pair] = next(made.fresh)
            lines.append(f"set,{ends},{edges[pair]}")
    new = tuple(sorted(draw.sample(range(1, made.n + 1), 2)))
    if new not in made.edges:
        edges[new] = next(made.fresh)
        lines.append(f"insert,{new[0]},{new[1]},{edges[new]}")
    (folder / "changes.csv").write_text("\n".join(lines) + "\n")
    given = folder / "g", folder / "f.h5", folder / "changes.csv"
    run(commands, "update", *given, "-o", folder / "u.csv")
    out = "-o", folder / "u.h5", "--graph-out", folder / "next"
    run(commands, "update", *given, *out)
    right = made.rows(edges)
    found = sorted((*sorted(row[:2]), row[2]) for row in table(folder / "u.csv"))
    expect(found == right, f"{lines}: {found} in place of {right}")
    said = run(commands, "verify", folder / "next", folder / "u.h5")
    expect("VERDICT ok" in said, said)


def convert(draw: random.Random, made: Made, commands: Commands) -> None:
    """Convert the file, or the graph, into a text, and read that here."""
    suffix = draw.choice(TEXTS)
    source = draw.choice([made.folder / "g", *made.folder.glob("edges.*")])
    out = made.folder / f"out{suffix}"
    run(commands, "convert", source, out)
    found = {(*sorted(row[:2]), row[2]) for row in read(out)}
    right = {(*pair, weight) for pair, weight in made.edges.items()}
    expect(found == right, f"{source.name} to {suffix}: {found} in place of {right}")


def read(path: Path) -> list[tuple]:
    """Return the edges of a text."""
    text, suffix = path.read_text(), path.suffix
    if suffix == ".json":
        names = "source", "target", "weight"
        return [
            tuple(edge[name] for name in names) for edge in json.loads(text)["edges"]
        ]
    lines = [line for line in text.splitlines() if line[:1] not in ("#", "%", "c", "p")]
    rows = [line.replace(",", " ").split() for line in lines]
    if suffix in (".csv", ".tsv", ".mtx"):
        rows = rows[1:]  # below the names, or the sizes
    return [tuple(map(number, row[suffix == ".gr" :])) for row in rows]


def cluster(draw: random.Random, made: Made, commands: Commands) -> None:
    """Divide the forest into clusters, by their number or a threshold."""
    answer, out = made.answer(), made.folder / "clusters.csv"
    sign = -1 if made.maximum else 1
    order = np.argsort(sign * answer.weight, kind="stable")
    if draw.random() < 0.5:
        count = draw.randint(answer.trees - 1, made.n)
        rule, kept = ("--count", count), order[: made.n - count]
    else:
        threshold = draw.choice((2, 4.5, 7, *answer.weight.tolist()))
        rule = "--threshold", threshold
        kept = np.flatnonzero(sign * answer.weight <= sign * threshold)
    run(commands, "cluster", made.folder / "f.h5", *rule, "-o", out)
    labels = oracle.smallest_of_trees(made.n + 1, answer.src[kept], answer.dst[kept])
    right = np.unique(labels[1:], return_inverse=True)[1].tolist()
    _, *rows = csv.reader(out.read_text().splitlines())
    check_parts([(int(row[0]), int(row[1])) for row in rows], right, made)


def python(draw: random.Random, made: Made, commands: Commands) -> None:
    """Ask the forest of the file in Python."""
    forest = mndmst.Forest.read(made.folder / "f.h5")
    right = made.rows()
    found = sorted((*sorted(edge[:2]), edge[2]) for edge in forest)
    expect(found == right, f"{found} in place of {right}")
    labels = zip(forest.nodes.tolist(), forest.labels.tolist(), strict=True)
    check_parts(labels, made.labels(), made)
    edges = [(*sorted(edge[:2]), edge[2]) for edge in forest]
    ask = forest.path_min if made.maximum else forest.path_max
    for _ in range(5):
        u, v = (draw.randint(1, made.n) for _ in range(2))
        position = ask(u, v)
        found = edges[position] if position >= 0 else None
        expect(found == worst(made, u, v), f"the bottleneck of {u}, {v} is {found}")


def worst(made: Made, u: int, v: int) -> tuple | None:
    """Return the last edge in the order on the path between two vertices."""
    rows = made.rows()
    path = oracle.path([row[:2] for row in rows], u, v)
    sign = -1 if made.maximum else 1
    edges = [rows[i] for i in path or ()]
    return max(edges, key=lambda e: (sign * e[2], *e[:2]), default=None)


def serve(draw: random.Random, made: Made, commands: Commands) -> None:
    """Ask a service of the graph, change an edge and ask again."""
    from services import Served

    words = made.folder / "g", "-q", "--backend", "cpu"
    service = Served(made.folder, draw.randint(1, 2), *words)
    try:
        with service.connect() as client:
            graph, edges = client["g"], dict(made.edges)
            compare(graph, made)
            pair = draw.choice(list(edges))
            del edges[pair]
            graph.delete([pair[1]], [pair[0]])
            compare(graph, made._replace(edges=edges))
            client.shutdown()
        service.process.communicate(timeout=60)
    finally:
        service.kill()


def compare(graph: Any, made: Made) -> None:
    """Compare the edges, the forest, the labels and a path of a graph at a service."""
    found = {(*sorted(row[:2]), row[2]) for row in columns(graph.edges())}
    expect(found == {(*pair, w) for pair, w in made.edges.items()}, f"edges {found}")
    rows = sorted((*sorted(row[:2]), row[2]) for row in columns(graph.forest.table))
    expect(rows == made.rows(), f"forest {rows} in place of {made.rows()}")
    labels = zip(graph.nodes.tolist(), graph.components().tolist(), strict=True)
    check_parts(labels, made.labels(), made)
    ask = graph.path_min if made.maximum else graph.path_max
    edge = tuple(ask(1, made.n).values())
    edge = None if edge[0] is None else (*sorted(edge[:2]), edge[2])
    right = worst(made, 1, made.n)
    expect(edge == right, f"the bottleneck is {edge} in place of {right}")


def columns(table: Any) -> list[tuple]:
    """Return the rows of an Arrow table."""
    names = ("src", "dst", "weight")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


STEPS = (forest_table, component_table, update, convert, cluster)
