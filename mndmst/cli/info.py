"""The command `info`."""

import argparse
import platform
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import InputError, MissingExtraError
from ..host.formatting import one_line, to_json
from ..host.launcher import launched_processes
from .options import add_flag
from .parser import Commands

if TYPE_CHECKING:
    from ..comm.communicator import Comm
    from ..comm.placement import RankPlacement

# No kernel has a parallel loop, so it does not matter which layer Numba would choose.
THREADING = "threads of our own, no Numba threading layer"


def add_info(commands: Commands) -> None:
    """Add the command to the parser."""
    info = commands.add_parser(
        "info",
        help="describe a graph, a forest or this installation",
        description="Describe a graph or a forest. Without a file, describe this "
        "installation for bug reports: versions, devices and, under mpirun or srun, "
        "the host and cores of each rank.",
    )
    info.add_argument(
        "path", type=Path, nargs="?", help="graph, forest or other result"
    )
    add_flag(
        info,
        "--check",
        "read the whole graph and check checksums, ids, weights and reverse arcs",
    )
    add_flag(info, "--json", "print JSON")
    info.set_defaults(process=_info)


def _info(arguments: argparse.Namespace) -> int:
    if arguments.path is None:
        return _print_installation(arguments.json, arguments.quiet)
    show = partial(describe, arguments.path, arguments.json, arguments.check)
    if launched_processes() == 1:
        return show()
    from .ranks import on_rank_0

    return on_rank_0(show)


def _print_installation(as_json: bool, quiet: bool) -> int:
    """Print versions and devices, and under a launcher the placement of ranks.

    Without a launcher MPI is not started: login nodes often forbid it.
    """
    from ..comm.placement import warnings

    if launched_processes() == 1:
        return print_facts(describe_installation(), as_json)
    from ..comm.world import world

    comm = world()
    ranks = describe_ranks(comm)
    if ranks is None:
        return 0
    facts = describe_installation()
    if as_json:
        return print_facts(facts | {"ranks": [p._asdict() for p in ranks]}, as_json)
    print_facts(facts, as_json)
    print(*(rank.line() for rank in ranks), sep="\n")
    for warning in () if quiet else warnings(ranks):
        print(f"warning: {warning}")
    return 0


def describe(path: Path, as_json: bool = False, check: bool = False) -> int:
    """Print the facts of a graph or a result file, and return 0.

    Raises InputError, after the facts, if the file is damaged.
    """
    from ..io import file_info as facts_of

    facts = facts_of.describe(path)
    if check and facts.get("kind") == "graph":
        from ..io.file_info import check_graph
        from ..io.shards.sharded_graph import open_graph

        facts |= check_graph(open_graph(path))
    print_facts(facts, as_json)
    damage = facts.get("damage")
    if isinstance(damage, list) and damage:
        raise InputError(
            f"{path}: damaged ({damage[0]}). Copy it again from where it is whole, or "
            "make it again."
        )
    return 0


def print_facts(facts: dict[str, object], as_json: bool) -> int:
    """Print facts as a table or as JSON; return 0."""
    if as_json:
        print(to_json(facts, indent=1))
        return 0
    width = max(map(len, facts))
    for name, value in facts.items():
        shown = "(see --json)" if isinstance(value, dict) else value
        print(f"{one_line(name):<{width}}  {one_line(str(shown))}")
    return 0


def describe_installation() -> dict[str, object]:
    """Return versions, the MPI library and the devices of this machine.

    MPI is not started, since login nodes often forbid it.
    """
    from ..backends import ACCELERATORS, accelerator
    from ..host.cores import core_count
    from ..solver.run_report import versions

    facts: dict[str, object] = dict(versions())
    facts["platform"] = platform.platform()
    facts["cores"] = core_count()
    facts["threading"] = THREADING
    facts["mpi"] = _mpi_library()
    for name in ACCELERATORS:
        kind = accelerator(name)
        facts[name] = kind.unavailable() or ", ".join(kind.device_names())
    return facts


def describe_ranks(comm: "Comm") -> "list[RankPlacement] | None":
    """Return the hosts and cores of all ranks on rank 0, None elsewhere. Collective."""
    from ..comm.placement import locate
    from ..solver.devices import visible_devices

    visible = visible_devices(comm, "auto")
    return comm.gather(locate(comm).equipped(visible.ids, visible.device))


def _mpi_library() -> str:
    from ..comm import mpi_library

    try:
        return mpi_library.version()
    except MissingExtraError as error:
        return str(error)
