"""The command `bench`."""

from typing import Any


def add_bench(commands: Any) -> None:
    """Add the command to the parser."""
    from ..bench.commands import add_devices

    bench = commands.add_parser(
        "bench",
        help="time the kernels beside other programs",
        description="Time the kernels of a device beside other programs.",
    )
    add_devices(bench)
