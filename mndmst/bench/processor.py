"""What of the processors of this machine matters to threads, as the system tells it."""

from pathlib import Path
from typing import Any

_CPU = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
UNKNOWN = "unknown"


def processor_facts() -> dict[str, Any]:
    """Return sockets, NUMA nodes, caches of a core, and the policy of huge pages.

    Returns
    -------
    dict
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
