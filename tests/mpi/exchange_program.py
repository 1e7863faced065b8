"""Commands, one after the other, on ranks that compare the types of what they exchange.

A rank without rows, points or changes must make its empty arrays of the type that the
others have: MPI moves bytes, and does not say what they were. After a command that
fails on all ranks, the next one runs.

    mpirun -n 5 python exchange_program.py '[["solve", "graph"], ["linkage", "p.npy"]]'
"""

import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from mndmst.__main__ import main
from mndmst.comm.communicator import Comm
from mndmst.comm.exchange import Coded

# Longer than the types of all columns that ranks exchange at once
MOST_BYTES = 200


def type_of(value: Any) -> str:
    """Return the type of an array, of the bytes of a `Coded` column, or of numbers."""
    column = value.data if isinstance(value, Coded) else value
    return np.asarray(column).dtype.str


def compared(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(comm: Comm, *arguments: Any, **named: Any) -> Any:
        numbers = arguments[:1] if name == "_reduce" else arguments
        mine = np.zeros(MOST_BYTES, np.uint8)
        text = " ".join(type_of(value) for value in numbers).encode()
        mine[: len(text)] = list(text)
        every = np.empty((comm.size, MOST_BYTES), np.uint8)
        # As the program itself: a rank that waits leaves its core to others.
        comm.all_ranks("Allgather", mine, every)
        if (every != mine).any():
            types = [bytes(row).rstrip(b"\0").decode() for row in every]
            sys.stderr.write(f"{name}: types differ between ranks: {types}\n")
            sys.stderr.flush()
            comm.mpi.Abort(3)
        return method(comm, *arguments, **named)

    return call


for name in ("alltoallv", "allgatherv", "allgather", "_reduce"):
    setattr(Comm, name, compared(name, getattr(Comm, name)))
status = 0
for words in json.loads(sys.argv[1]):
    try:
        status = main(words) or status
    except SystemExit as end:  # an error in the arguments
        status = int(end.code or 0) or status
sys.exit(status)
