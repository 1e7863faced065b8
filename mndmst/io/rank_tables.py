"""Tables of text that ranks write, one after the other, under the names of vertices."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from .atomic_output import AtomicOutput
from .endings import Kind
from .layout import writing
from .name_tables import name_cells, number_cells, write_rows
from .vertex_names import GraphNames

# The suffixes of tables, and the separators of their columns
SEPARATORS = {".csv": ",", ".tsv": "\t"}


def write_table(
    outputs: AtomicOutput,
    path: Path,
    header: Sequence[str],
    columns: Sequence[np.ndarray],
    names: GraphNames | None,
    kind: Kind,
) -> None:
    """Write a table whose rows are spread over the ranks; every rank calls it.

    The file becomes `path` with the other outputs. Ranks write in turn, and one at a
    time holds the names in memory.

    Parameters
    ----------
    header : sequence of str
        The names of the columns.
    columns : sequence of ndarray
        This rank's rows, in rank order. The first two columns are vertices.
    names : GraphNames or None
        The names of vertices; None for numbers.
    kind : Kind
        Decides which existing file is replaced.

    Raises
    ------
    OutputError
        On every rank, if any of them could not write.
    """
    comm, separator = outputs.ranks, SEPARATORS[path.suffix]
    vertices = name_cells(names)
    cells = [vertices, vertices, *(number_cells for _ in columns[2:])]
    temporary = outputs.begin(path, kind)
    for turn in range(comm.size):
        # Rank 0 begins, and every rank appends behind the ranks before it
        with comm.raise_on_all(), writing(path):
            if turn == comm.rank:
                with (
                    names.held() if names is not None else nullcontext(),
                    temporary.open("a", encoding="utf-8") as file,
                ):
                    if turn == 0:
                        file.write(separator.join(header) + "\n")
                    write_rows(file, columns, cells, separator)
