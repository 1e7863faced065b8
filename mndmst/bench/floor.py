"""What the memory of this machine allows, measured beside the kernels.

A forest cannot be found without reading the CSR rows once, nor without looking up the
components at the ends of the light edges, which make most of it.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..graph.model import Rows
from ..graph.tuning import Tuning
from .kernels.gather import gather


@dataclass(frozen=True)
class Floor:
    """Milliseconds, the best of some passes.

    Attributes
    ----------
    threads : int
    stream : float
        To read `indptr`, `indices` and `keys` once.
    gather : float
        To look up a 4-byte label for each light edge, in no order.
    """

    threads: int
    stream: float
    gather: float

    @property
    def ms(self) -> float:
        """The time of both."""
        return self.stream + self.gather


def measure(rows: Rows, threads: int, passes: int = 5) -> Floor:
    """Measure both on rows in memory.

    Parameters
    ----------
    rows : Rows
        The whole graph.
    threads : int
        How many read at once, each its share.
    passes : int
    """
    label = np.arange(len(rows), dtype=np.uint32)
    edges = min(rows.num_arcs // 2, int(Tuning.default.light_edges * len(rows)))
    picked = np.random.default_rng(0).integers(0, len(rows), edges, np.uint32)
    gather(label, picked, 0, 0)  # compile

    def stream(part: int) -> None:
        for array in (rows.indptr, rows.indices, rows.keys):
            low, high = _share(len(array), part, threads)
            if low < high:
                array[low:high].max()

    def look_up(part: int) -> None:
        gather(label, picked, *_share(edges, part, threads))

    with ThreadPoolExecutor(threads) as pool:
        taken = [
            min(_milliseconds(pool, work, threads) for _ in range(passes))
            for work in (stream, look_up)
        ]
    return Floor(threads, *taken)


def _share(length: int, part: int, parts: int) -> tuple[int, int]:
    return length * part // parts, length * (part + 1) // parts


def _milliseconds(
    pool: ThreadPoolExecutor, work: Callable[[int], None], threads: int
) -> float:
    begin = time.perf_counter()
    list(pool.map(work, range(threads)))
    return 1e3 * (time.perf_counter() - begin)
