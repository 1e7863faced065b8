"""`python -m tests.benchmarks gpu`: the forest kernels on graphs made on the device.

From CSR rows in device memory to the forest's edges in device memory. The forest of
every graph, or of a small graph of its kind, is compared with that of the CPU worker,
edge by edge.
"""

import re
from collections.abc import Iterator
from typing import Any

from mndmst.backends.cuda import device_names, unavailable
from mndmst.host.errors import ConfigError, MissingExtraError
from mndmst.host.formatting import counted
from mndmst.solver.run_report import versions

NAMES = ("rmat24", "rmat22", "gnm23", "road24")
DEGREE = 16  # edges for each vertex, unless the name says otherwise


def run(
    names: tuple[str, ...], keys: tuple[str, ...], repeat: int, verify: bool
) -> Iterator[dict[str, Any]]:
    """Measure graphs with keys of each type; yield a record for each.

    A name is a kind and a scale: ``rmat24``, ``gnm23`` (2^scale vertices, 16 edges
    each, or the number in ``rmat24x8``), ``road24`` (1.25 times the vertices). A type
    is ``uint32`` or ``uint64``. Times are the median of `repeat` runs after one to warm
    up. With `verify`, the forests of these graphs are compared; otherwise of
    small ones. Raises ConfigError if a name is not understood; MissingExtraError if
    there is no device.
    """
    graphs = [_parsed(name) for name in names]
    reason = unavailable()
    if reason is not None:
        raise MissingExtraError(f"bench gpu: {reason}")
    from .kernels import gpu as bench

    for name, (kind, scale, degree) in zip(names, graphs, strict=True):
        for key in keys:
            record = bench.measure(kind, scale, degree, key, repeat, verify)
            yield {"graph": name, **record}


def machine() -> dict[str, Any]:
    """Return facts that figures depend on: devices and versions."""
    devices = [] if unavailable() else device_names()
    return {"devices": devices, "versions": versions()}


def block(record: dict[str, Any]) -> str:
    """Return the lines about one graph, for people."""
    stages = ", ".join(f"{name} {ms:.2f}" for name, ms in record["stages"])
    agrees = "the CPU worker's" if record["agrees"] else "NOT the CPU worker's"
    return (
        f"{record['graph']}, {record['keys']} keys: n={record['n']} "
        f"(with edges: {record['occupied']}) m={record['m']} edges={record['edges']}\n"
        f"  {record['ms']:.2f} ms, {record['giga_edges_per_s']:.1f} G edges/s, "
        f"{record['ms'] / record['read_ms']:.1f} x one read of the rows "
        f"({record['read_ms']:.2f} ms)\n  {stages}\n"
        f"  forest of {counted(record['verified_edges'], 'edge')}: {agrees}"
    )


def _parsed(name: str) -> tuple[str, int, int]:
    found = re.fullmatch(r"(rmat|gnm|road)(\d{1,2})(?:x(\d{1,4}))?", name)
    if found is None:
        raise ConfigError(
            f"there is no graph {name}; write a kind (rmat, gnm, road) and a scale, "
            f"such as {', '.join(NAMES)}, or rmat24x8 for 8 edges for each vertex"
        )
    return found[1], int(found[2]), int(found[3] or DEGREE)
