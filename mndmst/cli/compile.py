"""The command `compile`."""

import argparse
import platform
from pathlib import Path
from typing import Any

from ..native.processor_levels import NAMES
from .parser import threads


def add_compile(commands: Any) -> None:
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
        choices=NAMES,
        help="processors that the code is for: all x86 with AVX2, all ARM with atomic "
        "instructions (Graviton 2, Grace), or those like this one; by default the "
        "level of this architecture if this processor has it, else native",
    )
    compiler.add_argument(
        "--jobs",
        type=threads(1),
        metavar="N",
        help="processes to use; by default one for each core",
    )
    compiler.set_defaults(process=_compile)


def _compile(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError
    from ..native import cache_dirs
    from ..native.precompile import compile_side_by_side, listed_kernels, without_code
    from ..native.processor_levels import NATIVE, best_level

    level = arguments.level or best_level()
    if level not in (NATIVE, best_level()):
        raise ConfigError(
            f"--level {level}: this processor ({platform.machine()}) does not run "
            "code of this level. Use --level native, or another machine."
        )
    directory = cache_dirs.place_for(arguments.into, level)
    wanted = listed_kernels()
    todo = without_code(wanted, [directory])
    compile_side_by_side(todo, arguments.jobs, directory, level)
    left = len(without_code(wanted, [directory]))
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
