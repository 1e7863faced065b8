"""Points of a command: reading, saving, the progress and the cost of a search."""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import about
from .options import print_notes

if TYPE_CHECKING:
    import numpy as np

    from ..io.atomic_output import AtomicOutput
    from ..points.point_files import PointTable
    from ..points.search_reporter import SearchReporter


def load_points(
    arguments: argparse.Namespace,
    mapped: bool = False,
    typed: bool = False,
    finite: bool = True,
) -> "PointTable":
    """Return the points that a command reads, and print notes on the columns."""
    from ..io.formats.matrix_values import values_from
    from ..points.point_files import named_points
    from ..points.row_metrics import ALLELE_METRICS, MISSING_RULES

    metric = getattr(arguments, "metric", "")  # the command neighbours has no --metric
    table = named_points(
        arguments.points,
        arguments.count,
        mapped,
        arguments.columns,
        arguments.key,
        typed,
        finite,
        metric,
        values_from(getattr(arguments, "from", None)),
    )
    if metric == "precomputed":
        table = table.as_distances()
    if metric in ALLELE_METRICS:
        rule = arguments.metric_params.get("missing_rule", "ignore")
        note = f"distance: {ALLELE_METRICS[metric]}; {MISSING_RULES[rule]}"
        table = table._replace(notes=(*table.notes, note))
    print_notes(table.notes, arguments.quiet)
    return table


def save_points(files: "AtomicOutput", path: Path | None, points: "np.ndarray") -> None:
    """Write points to a file, if one is named."""
    import numpy as np

    from ..io.output_kinds import POINTS

    if path is not None:
        with files.file(path, POINTS) as temporary, temporary.open("wb") as file:
            np.save(file, points)


@contextmanager
def reported(arguments: argparse.Namespace) -> Iterator["SearchReporter"]:
    """Yield a reporter of a search, and remove its bar at the end."""
    from ..host.progress import Progress, process_start
    from ..points.search_reporter import SearchReporter

    verbose = arguments.verbose and not arguments.quiet
    progress = Progress(not arguments.quiet, since=process_start(), verbose=verbose)
    try:
        with about(arguments.points):
            yield SearchReporter(progress)
    finally:
        progress.close()


def spent() -> str:
    """Return the seconds and the peak memory of this process, for lines RESULT."""
    from ..host.memory import peak_bytes
    from ..host.progress import process_start

    seconds = time.monotonic() - process_start()
    return f"seconds={seconds:.2f} peak_mib={peak_bytes() / 2**20:.0f}"
