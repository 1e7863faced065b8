"""The machine of a measurement: processor, versions, and the floor its memory sets.

A forest needs one read of the CSR rows, and a lookup of the components at the ends of
the light edges.
"""

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mndmst.graph.model import Rows
from mndmst.graph.tuning import Tuning
from mndmst.host.cores import core_count, processor_name
from mndmst.host.formatting import counted
from mndmst.solver.run_report import versions

from .kernels.gather import gather

_CPU = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
UNKNOWN = "unknown"


def processor_facts() -> dict[str, Any]:
    """Return sockets, NUMA nodes, caches of a core, and the policy of huge pages.

    `sockets` and `numa_nodes` count; `caches` has the size of each level, the data
    cache first; `huge_pages` is the rule for private and for shared memory.
    """
    packages = _CPU.glob("cpu[0-9]*/topology/physical_package_id")
    kinds = ((place, _word(place / "type")) for place in _caches())
    rules = (_rule(_HUGE_PAGES / name) for name in ("enabled", "shmem_enabled"))
    return {
        "sockets": len({_word(path) for path in packages}) or 1,
        "numa_nodes": len(list(_NODES.glob("node[0-9]*"))) or 1,
        "caches": [_word(at / "size") for at, kind in kinds if kind != "Instruction"],
        "huge_pages": " / ".join(rules),
    }


def _caches() -> list[Path]:
    return sorted((_CPU / "cpu0/cache").glob("index[0-9]*"))


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return UNKNOWN


def _rule(path: Path) -> str:
    """Return the choice that a file has in brackets."""
    return _word(path).partition("[")[2].partition("]")[0] or UNKNOWN


def machine(packages: tuple[str, ...]) -> dict[str, Any]:
    """Return facts that figures depend on: processor, cores, load, versions.

    `packages` are the peers that take part.
    """
    return {
        "cpu": processor_name(),
        "cores": core_count(),
        **processor_facts(),
        "load": round(os.getloadavg()[0], 2),
        "kernel": platform.release(),
        "versions": versions() | {name: _version(name) for name in packages},
    }


def header(facts: dict[str, Any]) -> str:
    """Return the lines that come first."""
    found = ", ".join(f"{name} {value}" for name, value in facts["versions"].items())
    return (
        f"{facts['cpu']}, {counted(facts['cores'], 'core')}, load {facts['load']}\n"
        f"{counted(facts['sockets'], 'socket')}, "
        f"{counted(facts['numa_nodes'], 'NUMA node')}, caches "
        f"{', '.join(facts['caches'])}, huge pages {facts['huge_pages']}\n{found}\n"
        "From CSR rows in memory to the forest's edges; medians of all turns.\n"
        "M edges/s: undirected edges. Ranks: separate processes, a graph each; the "
        "slowest's time.\nB/edge, B/vertex: peak memory beyond the rows. "
        "Of floor: the time to read the rows and to look up a label for each light "
        "edge, as a share.\nOutside: the share of the time outside kernels, in the "
        "interpreter and NumPy."
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


@dataclass(frozen=True)
class Floor:
    """Milliseconds, the best of some passes."""

    threads: int
    stream: float  # To read `indptr`, `indices` and `keys` once
    gather: float  # To look up a 4-byte label for each light edge, in no order

    @property
    def ms(self) -> float:
        """The time of both."""
        return self.stream + self.gather


def measure_floor(rows: Rows, threads: int, passes: int = 5) -> Floor:
    """Measure both on rows of a whole graph in memory; each thread reads its share."""
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
        read, looked_up = (
            min(_milliseconds(pool, work, threads) for _ in range(passes))
            for work in (stream, look_up)
        )
    return Floor(threads, read, looked_up)


def _share(length: int, part: int, parts: int) -> tuple[int, int]:
    return length * part // parts, length * (part + 1) // parts


def _milliseconds(
    pool: ThreadPoolExecutor, work: Callable[[int], None], threads: int
) -> float:
    begin = time.perf_counter()
    list(pool.map(work, range(threads)))
    return 1e3 * (time.perf_counter() - begin)


_RESET_PEAK = "5"  # see clear_refs in proc(5)


def reset_peak() -> int | None:
    """Reset the peak of resident memory; return the present bytes.

    None if the kernel does not allow it.
    """
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return None
    return _status("VmRSS")


def peak() -> int:
    """Return the highest resident memory since the last reset, in bytes.

    Not that of `getrusage`, which a new program inherits from its parent.
    """
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
