"""Arcs from a file into memory, without the interpreter."""

import numpy as np

from ...kernels.arc_inspection import FINE, inspect_rows, make_keys
from ...kernels.read_progress import note_arcs
from ...native.kernel import kernel
from .checks import read_chunks

# What may be wrong, after what `inspect_rows` finds.
BAD_IDS, BAD_WEIGHTS = 4, 5


@kernel
def read_arcs(ids, weights, rows, arcs, check, words):
    """Read arcs, look at them, and note them.

    Parameters
    ----------
    ids, weights : checks.Chunks
        Their entries are numbered as the arcs of the rows.
    rows : graph.model.Csr
        Gets them, as `inspect_rows` leaves them.
    arcs : (int, int)
        The arcs [begin, end).
    check : kernels.arc_inspection.Check
    words : ndarray of int64
        Of `kernels.read_progress.ArcsRead`.

    Returns
    -------
    tuple
        What `inspect_rows` returns, no edges if the check is not the whole one; or
        `BAD_IDS` or `BAD_WEIGHTS`, and an arc whose chunk is not what was written.
    """
    begin, end = arcs
    num_vertices, rule, whole = check
    _, _, indices, bits = rows
    nothing = np.int64(0)
    done = read_chunks(ids, begin, indices[begin:end].view(np.uint8))
    if done < end:
        return BAD_IDS, nothing, np.int64(done), nothing, np.uint64(0)
    done = read_chunks(weights, begin, bits[begin:end].view(np.uint8))
    if done < end:
        return BAD_WEIGHTS, nothing, np.int64(done), nothing, np.uint64(0)
    if not whole and make_keys(bits[begin:end], rule):
        note_arcs(words, begin, end)
        return FINE, nothing, nothing, nothing, np.uint64(0)
    status, vertex, arc, edges, balance = inspect_rows(rows, arcs, num_vertices, rule)
    if status == FINE:
        note_arcs(words, begin, end)
    return status, vertex, arc, edges, balance
