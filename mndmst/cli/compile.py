"""The command `compile`."""

import argparse
import platform
import time

from ..backends import ACCELERATORS, accelerator
from ..host.caches import UNUSED_DAYS
from ..host.formatting import counted
from ..host.progress import notice
from ..native.processor_levels import NAMES
from .options import add_file
from .parser import Commands, threads


def add_compile(commands: Commands) -> None:
    """Add the command to the parser."""
    compiler = commands.add_parser(
        "compile",
        help="compile all kernels ahead, for images and shared file systems",
        description="Compile all kernels in parallel processes. Without this "
        "command, the first run on a machine compiles the kernels that it calls.",
    )
    add_file(
        compiler,
        "--into",
        "directory for the machine code; other users set MNDMST_KERNELS to it "
        "(default: the cache of this user)",
        metavar="DIR",
    )
    compiler.add_argument(
        "--level",
        choices=NAMES,
        help="target processors: any x86 with AVX2, any ARM with atomic instructions "
        "(Graviton 2, Grace), or native for this one (default: the portable level if "
        "this processor supports it, else native)",
    )
    compiler.add_argument(
        "--jobs",
        type=threads(1),
        metavar="N",
        help="number of processes (default: one per core)",
    )
    compiler.add_argument(
        "--clean",
        action="store_true",
        help="compile nothing, but remove files of mndmst from the cache of this user "
        f"that no run has used for {UNUSED_DAYS} days; compile without --into does so, "
        "too",
    )
    for name in ACCELERATORS:
        compiler.add_argument(
            f"--{name}",
            action="append_const",
            const=name,
            dest="accelerators",
            help=f"also compile the kernels of {name.upper()} devices; needs the extra "
            f"{name}, and no device",
        )
    compiler.set_defaults(process=_compile)


def _compile(arguments: argparse.Namespace) -> int:
    from ..host.errors import ConfigError, has_points
    from ..native import cache_dirs
    from ..native.precompile import compile_side_by_side, listed_kernels, without_code
    from ..native.processor_levels import NATIVE, best_level

    if arguments.clean:
        given = arguments.into, arguments.level, arguments.jobs, arguments.accelerators
        if any(given):
            raise ConfigError("--clean goes alone; it cleans the cache of this user.")
        return _clean(arguments.quiet, summary=True)
    level = arguments.level or best_level()
    if level not in (NATIVE, best_level()) and arguments.into is None:
        raise ConfigError(
            f"--level {level}: this processor ({platform.machine()}) does not run "
            "code of this level. Use --level native, or name a directory for other "
            "machines with --into."
        )
    directory = cache_dirs.directory_for(arguments.into, cache_dirs.state(level))
    wanted = listed_kernels()
    todo = without_code(wanted, [directory])

    def report(done: int, count: int) -> None:
        if not arguments.quiet:
            notice(f"{done} of {count} kernels compiled")

    compile_side_by_side(todo, arguments.jobs, directory, level, report)
    missing = len(without_code(wanted, [directory]))
    if missing:
        raise ConfigError(
            f"{directory}: {missing} of {len(wanted)} kernels could not be compiled or "
            "written there. Give it a directory with some free megabytes."
        )
    nbytes = sum(file.stat().st_size for file in directory.glob("*.o"))
    print(
        f"{len(wanted)} kernels for {level} in {directory}, {nbytes / 1e6:.1f} MB; "
        f"{len(todo)} compiled now"
    )
    for name in arguments.accelerators or ():
        kind = accelerator(name)
        compilers = [kind.compile_kernels]
        if has_points():
            from ..points.devices import searches_on

            compilers.append(searches_on(kind).compile_kernels)
        for compile_kernels in compilers:
            directory, count = compile_kernels(arguments.into, arguments.jobs)
            print(f"{count} modules for {name} in {directory}")
    if arguments.into is None:
        _clean(arguments.quiet)
    return 0


def _clean(quiet: bool, summary: bool = False) -> int:
    """Remove unused files of the cache, and print each; `summary` prints the total."""
    from ..native.cache_cleaning import remove_unused

    removed = remove_unused()
    for file in () if quiet else removed:
        day = time.strftime("%Y-%m-%d", time.localtime(file.last_used))
        megabytes = f"{file.nbytes / 1e6:.1f} MB"
        print(f"removed {file.path}, {megabytes}, last used on {day}")
    if summary:
        megabytes = f"{sum(file.nbytes for file in removed) / 1e6:.1f} MB"
        print(
            f"removed {counted(len(removed), 'entry')} of the cache, "
            f"{megabytes}, unused for {UNUSED_DAYS} days"
        )
    return 0
