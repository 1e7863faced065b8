"""`mndmst bench gpu`: the forest kernels on graphs generated on the device.

From CSR rows in device memory to the forest's edges in device memory. The forest of
a small graph of each kind is compared with that of the CPU worker.
"""

import re
from collections.abc import Iterator
from typing import Any

from ..backends import cuda
from ..errors import ConfigError, MissingExtraError
from ..report import versions

NAMES = ("rmat24", "rmat22", "gnm23", "road24")
CHECKED_SCALE = 14


def run(names: tuple[str, ...], repeat: int) -> Iterator[dict[str, Any]]:
    """Measure graphs with keys of 32 and 64 bits; yield a record for each.

    Parameters
    ----------
    names : tuple of str
        A kind and a scale: ``rmat24``, ``gnm23`` (2^scale vertices, 16 edges each),
        ``road24`` (1.25 times as many).
    repeat : int
        Runs to take the median of, after one to warm up.

    Raises
    ------
    ConfigError
        If a name is not understood.
    MissingExtraError
        If there is no device.
    """
    graphs = [_parsed(name) for name in names]
    reason = cuda.unavailable()
    if reason is not None:
        raise MissingExtraError(f"bench gpu: {reason}")
    from ..backends.cuda import bench

    for kind, scale in graphs:
        for keys in ("uint32", "uint64"):
            record = bench.measure(kind, scale, keys, repeat)
            yield record | {"agrees": bench.agrees(kind, CHECKED_SCALE, keys)}


def machine() -> dict[str, Any]:
    """Return what the figures depend on: devices and versions."""
    devices = [] if cuda.unavailable() else cuda.device_names()
    return {"devices": devices, "versions": versions()}


def block(record: dict[str, Any]) -> str:
    """Return the lines about one graph, for people."""
    stages = ", ".join(f"{name} {ms:.2f}" for name, ms in record["stages"])
    agrees = "" if record["agrees"] else "  DISAGREES with the CPU worker"
    return (
        f"{record['graph']}, {record['keys']} keys: n={record['n']} m={record['m']} "
        f"edges={record['edges']}{agrees}\n"
        f"  {record['ms']:.2f} ms, {record['giga_edges_per_s']:.1f} G edges/s, "
        f"{record['ms'] / record['read_ms']:.1f} x one read of the rows "
        f"({record['read_ms']:.2f} ms)\n  {stages}"
    )


def _parsed(name: str) -> tuple[str, int]:
    found = re.fullmatch(r"(rmat|gnm|road)(\d{1,2})", name)
    if found is None:
        raise ConfigError(
            f"no graph is called {name}; write a kind (rmat, gnm, road) and a scale, "
            f"such as {', '.join(NAMES)}"
        )
    return found[1], int(found[2])
