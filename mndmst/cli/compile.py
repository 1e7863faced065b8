"""The command `compile`."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    compiler = commands.add_parser(
        "compile",
        help="compile the kernels now, for images and shared file systems",
        description="Compile all kernels, by processes side by side. Without this "
        "command, the first run on a machine compiles those that it calls.",
    )
    compiler.add_argument(
        "--into",
        type=Path,
        metavar="DIR",
        help="directory for the code, which MNDMST_KERNELS names for other users; by "
        "default the user's own cache",
    )
    compiler.add_argument(
        "--level",
        choices=("x86-64-v3", "native"),
        help="processors that the code is for: all x86 with AVX2, or those like this "
        "one; by default the first if this processor has it",
    )
    compiler.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="processes to use; by default one for each core",
    )
    compiler.set_defaults(process=_compile)


def _compile(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError
    from ..native import places
    from ..native.ahead import compile_side_by_side
    from ..native.registry import entries, missing

    if arguments.jobs is not None and arguments.jobs < 1:
        raise ConfigError(f"--jobs {arguments.jobs}: there must be a process at least")
    level = arguments.level or places.level()
    if level == places.LEVEL != places.level():
        raise ConfigError(
            f"--level {level}: this processor lacks what code for it takes, and the "
            "code could not be tried. Use --level native, or another machine."
        )
    directory = places.place_for(arguments.into, level)
    wanted = entries()
    todo = missing(wanted, [directory])
    compile_side_by_side(todo, arguments.jobs, directory, level)
    left = len(missing(wanted, [directory]))
    if left:
        raise ConfigError(
            f"{directory}: {left} of {len(wanted)} kernels could not be compiled or "
            "written there. Give it a directory with some free megabytes."
        )
    nbytes = sum(file.stat().st_size for file in directory.glob("*.o"))
    print(
        f"{len(wanted)} kernels for {level} in {directory}, {nbytes / 1e6:.1f} MB; "
        f"{len(todo)} compiled now"
    )
    return 0
