"""A process that solves a graph whenever it reads a line, and says what it took.

Started by `ours.Process` with a folder, the number of threads and perhaps a core.
"""

import json
import os
import sys
from pathlib import Path

from .graphs import Graph
from .ours import Kernel

_RESET_PEAK = "5"  # see clear_refs in proc(5)


def main() -> None:
    """Read the graph, then answer every line of standard input with one of JSON."""
    folder, threads, *cores = sys.argv[1:]
    if cores:
        os.sched_setaffinity(0, set(map(int, cores)))
    graph = Graph.load(Path(folder))
    kernel = Kernel(graph.rows(), graph.weights.dtype, int(threads))
    del graph  # the keys have taken the weights' place
    for _ in sys.stdin:
        before = _reset_peak()
        ms, forest = kernel.timed()
        extra = None if before is None else _status("VmHWM") - before
        answer = kernel.answer(forest)
        reply = {"ms": ms, "extra_bytes": extra, **answer._asdict()}
        del forest
        print(json.dumps(reply), flush=True)


def _reset_peak() -> int | None:
    """Forget the highest memory so far; return what is held now, in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return None
    return _status("VmRSS")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


if __name__ == "__main__":
    main()
