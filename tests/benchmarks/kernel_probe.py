"""A process that solves a graph for every line it reads, and prints the time.

Started by `contenders.Process` with a folder, the number of threads and perhaps a core.
"""

import json
import os
import sys
from pathlib import Path

from .contenders import KernelContender
from .graphs import BenchGraph
from .machine import peak, reset_peak


def main() -> None:
    """Read the graph, then answer every line of standard input with one of JSON."""
    folder, threads, *cores = sys.argv[1:]
    if cores:
        os.sched_setaffinity(0, set(map(int, cores)))
    graph = BenchGraph.load(Path(folder))
    kernel = KernelContender(graph.rows(), graph.weights.dtype, int(threads))
    del graph  # the keys have taken the weights' place
    for _ in sys.stdin:
        before = reset_peak()
        ms, forest = kernel.timed()
        extra = None if before is None else peak() - before
        answer = kernel.answer(forest)
        reply = {"ms": ms, "extra_bytes": extra, **answer._asdict()}
        del forest
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
