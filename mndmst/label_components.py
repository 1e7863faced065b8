"""Connected components: the second program on the calls of HyPar.

It differs from the spanning forest only in its exception condition: components may be
contracted along any edge of a part, so no edge inside a part remains. Weights still
determine which edges come first, as a sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np

from .comm.communicator import Comm
from .comm.directory import Directory
from .host.progress import Progress
from .io.atomic_output import AtomicOutput, Output, check_on_all
from .io.output_kinds import LABELS, REPORT
from .io.results.digest_and_total import forest_digest
from .io.results.graph_names import names_of_graph
from .io.results.labels_file import write_labels
from .io.results.text_tables import SEPARATORS, write_table
from .pipeline import contract
from .solver.config import Config
from .solver.contract import any_cut_edge
from .solver.devices import DeviceAssignment, on_working_ranks
from .solver.part_graph import part_graph
from .solver.run import Run
from .solver.run_report import Report, write_report
from .solver.write import smallest_vertices


class _ComponentFacts(TypedDict):
    """Fields that the summary and the report share; see `Components`."""

    num_vertices: int
    num_edges: int
    components: int
    largest: int
    histogram: list[int]
    digest: str


@dataclass(frozen=True, repr=False)
class Components:
    """The components of a graph, summarised; printed, it is the line RESULT."""

    num_vertices: int
    num_edges: int  # distinct undirected edges without self-loops
    components: int  # their number
    largest: int  # vertices of the largest component
    histogram: list[int]  # entry k counts the components of 2^k to 2^(k+1) - 1 vertices
    digest: str  # SHA-256 of the labels of all vertices as little-endian int64
    seconds: float
    report: dict[str, object] | None  # the run's report, on rank 0

    def text(self) -> str:
        """Return the histogram as a table."""
        lines = [f"{'vertices':>23} {'components':>15}"]
        for k, count in enumerate(self.histogram):
            if count:
                span = f"{1 << k:,} to {(2 << k) - 1:,}" if k else "1"
                lines.append(f"{span:>23} {count:>15,}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.line()

    def line(self) -> str:
        """Return the line that `components` ends with."""
        return (
            f"RESULT n={self.num_vertices} m={self.num_edges} "
            f"components={self.components} largest={self.largest} "
            f"digest={self.digest} seconds={self.seconds:.3f}"
        )


def connected_components(
    comm: Comm,
    path: str | Path,
    config: Config,
    progress: Progress,
    labels: Sequence[Path] = (),
    report: Path | None = None,
    overwrite: bool = False,
    numbers: bool = False,
) -> Components:
    """Find the connected components of a sharded graph. Collective.

    `path` is a directory of shards, its index, or a graph in one shard. The files
    `labels` get the label of each vertex, the smallest vertex of its component; tables
    have names instead unless `numbers`. `report` is the file of the run's record. With
    `overwrite` they may replace files that are not earlier results. The result is the
    same on every rank, except for the report. Raises MndmstError on every rank if the
    input, the options or the output cannot be used.
    """
    outputs: list[Output] = [(file, LABELS) for file in labels]
    outputs.append((report, REPORT))
    check_on_all(comm, [path], outputs, overwrite=overwrite)
    record = Report(comm, progress)

    def find(ranks: Comm, assigned: DeviceAssignment | None) -> Components:
        run = part_graph(ranks, path, config, record, assigned=assigned)
        contract(run, exception=any_cut_edge)
        return _label(run, labels, report, overwrite, numbers)

    return on_working_ranks(comm, path, config, record, find)


def _label(
    run: Run,
    targets: Sequence[Path],
    record: Path | None,
    overwrite: bool,
    numbers: bool,
) -> Components:
    """Label all vertices, count the components and write the outputs."""
    comm, report = run.comm, run.report
    with report.stage("labels"):
        labels = smallest_vertices(run.directory)
        sizes = component_sizes(run.directory, labels)
    with report.stage("digest"):
        digest = forest_digest(comm, labels)
    results: _ComponentFacts = {
        "num_vertices": run.num_vertices,
        "num_edges": run.num_edges,
        "components": comm.sum(len(sizes)),
        "largest": comm.max(int(sizes.max(initial=0))),
        "histogram": _histogram(comm, sizes),
        "digest": digest,
    }
    with AtomicOutput(comm, overwrite) as outputs:
        for target in targets:
            with report.stage("write"):
                if target.suffix in SEPARATORS:
                    names = None if numbers else names_of_graph(run.graph)
                    vertices = run.directory.first + np.arange(len(labels))
                    table, header = (vertices, labels), ("vertex", "component")
                    write_table(outputs, target, header, table, names, LABELS)
                else:
                    uuid, count = run.graph.uuid, results["components"]
                    ids = run.graph.id_range
                    first = 0 if ids is None else ids.first
                    write_labels(outputs, target, labels, uuid, count, digest, first)
        gathered = report.gather(config=run.config.as_dict(), **results)
        if record is not None:
            write_report(outputs, record, gathered)
    return Components(**results, seconds=comm.max(report.seconds), report=gathered)


def component_sizes(directory: Directory, labels: np.ndarray) -> np.ndarray:
    """Return the sizes of the components whose label this rank owns. Collective.

    `labels` has the label of each vertex that this rank owns.
    """
    local_labels, local_counts = np.unique(labels, return_counts=True)
    _, (label, count) = directory.comm.alltoallv(
        directory.count_by_owner(local_labels), local_labels, local_counts
    )
    sizes = np.zeros(len(labels), np.int64)
    np.add.at(sizes, label - directory.first, count)
    return sizes[sizes > 0]


def _histogram(comm: Comm, sizes: np.ndarray) -> list[int]:
    """Count sizes over all ranks by powers of two, up to the largest."""
    exponents = np.frexp(sizes.astype(np.float64))[1] - 1
    counts = comm.sum(np.bincount(exponents, minlength=64))
    return counts[: np.flatnonzero(counts).max(initial=-1) + 1].tolist()
