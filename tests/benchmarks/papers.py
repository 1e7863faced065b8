"""`tests.benchmarks papers`: the tables of five papers, our figures beside theirs.

The figures of the papers are in `papers.toml`. A graph whose file is at hand is read by
its recipe; for another, a generated one of its kind stands in, of the same size or of
the largest asked for. As sizes differ, edges a second are what to compare.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt, log2
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from mndmst.backends.base import LabelledForest
from mndmst.backends.cuda import device_names, make_device, unavailable
from mndmst.host.cores import core_count
from mndmst.host.errors import ConfigError
from mndmst.host.launcher import find_mpirun
from mndmst.host.memory import free_bytes
from mndmst.io.partitioner.graph_recipe import Recipe, load_recipe, open_recipe
from mndmst.io.partitioner.partition import build_shards
from mndmst.io.partitioner.random_graphs import open_random
from mndmst.io.partitioner.vertex_numbering import symmetric_rows
from mndmst.report.peers import Answer

from .contenders import Contender, KernelContender
from .graphs import BenchGraph
from .whole_commands import solve

# Stages that a program whose graph is in memory and stays there does not have
_ASIDE = ("import", "start", "kernels", "read", "sort", "digest", "write")


def solve_on_ranks(graph: BenchGraph, repeat: int) -> dict[str, float]:
    """Return the median milliseconds of `solve` without files, on 1 rank and more.

    Raises MndmstError if there is no mpirun, or a run fails.
    """
    find_mpirun()  # without one, an error before any work
    cores = core_count()
    with TemporaryDirectory(prefix="mndmst-") as name:
        folder = Path(name)
        build_shards(graph.edges(), folder / "graph", 4)
        return {
            f"{ranks} rank{'s' * (ranks > 1)}": median(
                _solve_on_ranks(folder, ranks) for _ in range(repeat + 1)
            )
            for ranks in sorted({1, 2, cores})
        }


def _solve_on_ranks(folder: Path, ranks: int) -> float:
    _, record = solve(folder / "graph", ranks, ())
    stages = record["ranks"][0]["stages"]
    kept = (entry["seconds"] for entry in stages if entry["stage"] not in _ASIDE)
    return 1e3 * sum(kept)


_PAPERS = Path(__file__).with_name("papers.toml")
_PARTITIONS = Path(__file__).parents[2] / "partitions"
# Bytes a graph takes in memory for each arc, while it is read and turned into rows
_ARC_BYTES = 64
_TO_MS = {"ms": 1.0, "s": 1e3}


@dataclass(frozen=True)
class PapersPlan:
    """The runs of `bench papers`."""

    papers: tuple[str, ...]  # Some of `names()`
    scale: int  # Graphs that stand in have at most 2^scale vertices
    repeat: int  # Runs of each; times are medians
    data: Path  # Where files of graphs may be


def names() -> tuple[str, ...]:
    """Return the names of the papers."""
    return tuple(_load())


def run(plan: PapersPlan) -> Iterator[dict[str, Any]]:
    """Run the tables; yield a record for each row.

    It has `paper`, `table` and `row` as in `papers.toml`; `graph`, `vertices` and
    `edges` of the graph that was used; `ours`, a dictionary of milliseconds. Raises
    ConfigError if the recipes were not installed; MissingExtraError if KaGen, which
    makes some of the graphs, is not installed.
    """
    done: dict[tuple[str, str], dict[str, Any]] = {}
    for key in plan.papers:
        paper = _load()[key]
        for table in paper["tables"]:
            for row in table["rows"]:
                recipe = _recipe(row["graph"])
                name, how = _choose(recipe, row.get("like") or table["like"], plan)
                case = (name, "ranks" if table["ours"] == "ranks" else "kernel")
                if case not in done:
                    done[case] = _measure(_graph(recipe, name, how), case[1], plan)
                yield {"paper": paper, "table": table, "row": row, **done[case]}


def text(record: dict[str, Any]) -> str:
    """Return one row for people: a line for theirs and one for ours."""
    row, table = record["row"], record["table"]
    columns = zip(table["columns"], row.get("figures", ()), strict=True)
    theirs = [
        f"{name} {_figure(value, unit, row.get('edges'))}"
        for (name, unit), value in columns
    ]
    speedup = table["ours"] == "threads"
    base = next(iter(record["ours"].values()))
    ours = [
        f"{name} {base / ms:.2f} x"
        if speedup and name != "1 thread"
        else f"{name} {_figure(ms, 'ms', record['edges'])}"
        for name, ms in record["ours"].items()
    ]
    lines = [f"  {row['graph']}"]
    if theirs:
        lines.append(f"    theirs  {_size(row.get('edges'))}{'; '.join(theirs)}")
    where = record["graph"] if record["graph"] != row["graph"] else "the same graph"
    lines.append(f"    ours    {where}, {_size(record['edges'])}{'; '.join(ours)}")
    return "\n".join(lines)


def header(paper: dict[str, Any], table: dict[str, Any], first: bool) -> str:
    """Return the lines above the rows of a table, with the paper if it is its first."""
    lines = [f"  {table['title']}"]
    if first:
        lines = [f"\n{paper['citation']}", f"  theirs: {paper['hardware']}", *lines]
        lines[2:2] = [f"  {paper['note']}"] if "note" in paper else []
    return "\n".join(lines)


def _load() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_PAPERS.read_text())


def _recipe(name: str) -> Recipe:
    if not _PARTITIONS.is_dir():
        raise ConfigError(
            "bench papers needs the recipes in partitions/, which are part of the "
            "source tree and were not installed. Run it in a checkout."
        )
    return load_recipe(_PARTITIONS / f"{name}.toml")


def _choose(
    recipe: Recipe, like: dict[str, Any], plan: PapersPlan
) -> tuple[str, Path | dict[str, Any]]:
    """Return what to run for a recipe: its name and file, or a graph that stands in."""
    file = plan.data / recipe.source.get("file", "")
    arcs = recipe.counts.get("arcs", 0)
    if file.is_file() and arcs * _ARC_BYTES < free_bytes():
        return recipe.name, file
    vertices = recipe.counts.get("vertices", 1 << plan.scale)
    scale = min(plan.scale, round(log2(vertices)))
    n, given = 1 << scale, dict(like)
    factor = given.pop("factor", None)
    if given["kind"] in ("rmat", "ssca2"):
        given["scale"] = scale
    elif given["kind"] == "grid2d":
        given["side"] = isqrt(n)
    else:
        given["n"] = n
    if factor is not None:
        given["m"] = factor * n
    parameters = ", ".join(f"{key} {value}" for key, value in given.items())
    return f"a graph of {parameters} in its place", given


def _graph(recipe: Recipe, name: str, how: Path | dict[str, Any]) -> BenchGraph:
    edges = (
        open_recipe(recipe, how).read()
        if isinstance(how, Path)
        else open_random(weights="int32", **how).read()
    )
    return BenchGraph(name, "given", *symmetric_rows(edges))


def _measure(graph: BenchGraph, ours: str, plan: PapersPlan) -> dict[str, Any]:
    """Time solves on ranks, or the kernels, on a graph."""
    if ours == "ranks":
        times = solve_on_ranks(graph, plan.repeat)
    else:
        times = _time_kernels(graph, plan.repeat)
    facts = {"vertices": graph.num_vertices, "edges": graph.num_edges}
    return {"graph": graph.name, **facts, "ours": times}


def _time_kernels(graph: BenchGraph, repeat: int) -> dict[str, float]:
    """Return the milliseconds from rows in memory to a forest: CPU, and GPU if any."""
    rows, dtype = graph.rows(), graph.weights.dtype
    cores = core_count()
    alone = KernelContender(rows, dtype, 1)
    kernels: list[Contender] = [alone]
    kernels += [KernelContender(rows, dtype, t) for t in sorted({2, cores}) if t > 1]
    if unavailable() is None:
        kernels.append(GpuKernel(alone))
    answers = {kernel.answer(kernel.solve()) for kernel in kernels}
    if len(answers) > 1:
        raise RuntimeError(f"{graph.name}: the answers differ: {answers}")
    return {
        kernel.name: median(kernel.timed()[0] for _ in range(repeat))
        for kernel in kernels
    }


class GpuKernel(Contender):
    """The GPU worker's kernel, from CSR rows in host memory to the forest's edges."""

    def __init__(self, cpu: KernelContender) -> None:
        self.name = f"{device_names()[0]}, copies included,"
        self.cpu = cpu
        self.backend = make_device(0)

    def solve(self) -> LabelledForest:
        """Return the forest."""
        return self.backend.msf(self.backend.upload(self.cpu.rows))

    def answer(self, forest: LabelledForest) -> Answer:
        """Add up the weights exactly."""
        return self.cpu.answer(forest)


def _figure(value: float, unit: str, edges: int | None) -> str:
    """Return a figure with its unit, and the edges a second that it means."""
    if unit not in _TO_MS or not edges:
        return f"{value:g} {unit}"
    rate = edges / (value * _TO_MS[unit]) / 1e3
    return f"{value:.4g} {unit} = {rate:.3g} Medges/s"


def _size(edges: int | None) -> str:
    return "" if edges is None else f"{edges / 1e6:.3g} M edges: "
