"""Precompile the missing kernels of a command in parallel."""

from collections.abc import Callable

import numpy as np

from ..comm.communicator import Comm
from ..native.ahead import compile_side_by_side, uncompiled


def compile_kernels(
    comm: Comm, user: str, weights: np.dtype | None, say: Callable[[str], object]
) -> None:
    """Compile kernels; the ranks of a host divide them, and use all of its cores.

    Collective.

    Parameters
    ----------
    user, weights
        See `registry.entries`.
    say : callable
        Writes a message if there is anything to compile.
    """
    node = comm.node()
    left = uncompiled(user, weights)
    if node.max(len(left)):
        say("compiling kernels, once on this machine")
        cores = len(node.cores())
        sharers = min(node.size, cores)
        share = left[node.rank :: sharers] if node.rank < sharers else []
        compile_side_by_side(share, cores // sharers)
        node.barrier(politely=True)
    node.free()
