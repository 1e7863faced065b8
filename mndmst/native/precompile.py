"""The kernels of each command, and their compilation ahead by parallel processes.

`signatures.txt` lists every kernel that a command calls, with the types of its
arguments: under `solve`, `verify` and `update` for graphs in files, `arrays` and
`matrices` for graphs in memory, each with a type of weights; under `points`, `products`
for points in many dimensions, and `service`; under `versions` for points that change,
with a type of coordinates; and under `others` for kernels that no command waits for.
`python -m tests.called_kernels` writes the file from the kernels of its runs, and a
test compares the two. A kernel that the list lacks is compiled in its first call.

The parent writes fixed-size records of kernels to a file. All worker processes share
its position: each reads the next record, compiles that kernel and saves its code.
"""

import functools
import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..host import PACKAGE_PARENT
from ..host.cores import core_count
from ..host.formatting import counted
from ..host.launcher import launched_rank
from ..host.progress import notice
from ..host.signals import interrupts_blocked
from .cache_dirs import directories, has_compiler, writable
from .code_store import RUNTIME_NAME, has
from .loader import announced, compile_and_save
from .processor_levels import best_level

# Bytes of a record in the workers' file; a read returns a whole record.
RECORD = 2048
# Seconds between reports of a compilation.
REPORT_SECONDS = 10.0
# Thresholds of a worker's garbage collector, which takes 11 % of a compilation by
# default and 6 % with these, for 17 MB of memory.
COLLECTIONS = 50_000, 20, 50
FILE = Path(__file__).with_name("signatures.txt")


class KernelSignature(NamedTuple):
    """A kernel's name (`module.function`) and the types of its arguments as text."""

    name: str
    signature: str


def listed_kernels(
    user: str = "", weights: np.dtype | None = None
) -> list[KernelSignature]:
    """Return the kernels of one user (see `signatures.txt`), or of all users.

    The first entry is the runtime, which allocates memory for the others. Of the users
    with weights, kernels for weights of one type are returned. Kernels of packages that
    this installation lacks (`points`) are left out.
    """
    wanted = user if weights is None else f"{user}:{weights.str[1:]}"
    kernels = [KernelSignature(RUNTIME_NAME, "")]
    installed = {entry.name for entry in FILE.parents[1].iterdir()}
    for line in FILE.read_text().splitlines():
        if not line.startswith("#"):
            users, name, signature = line.split(" ", 2)
            package = name.partition(".")[0]
            if package in installed and (not wanted or wanted in users.split(",")):
                kernels.append(KernelSignature(f"mndmst.{name}", signature))
    return kernels


def without_code(
    wanted: Sequence[KernelSignature], dirs: Sequence[Path]
) -> list[KernelSignature]:
    """Return the kernels without code in any of the directories."""
    return [entry for entry in wanted if not has(dirs, entry.name, entry.signature)]


@functools.cache
def compile_for(user: str, weights: np.dtype | None = None) -> None:
    """Compile a user's missing kernels in parallel, on all cores."""
    with announced():
        compile_side_by_side(uncompiled(user, weights))


def uncompiled(user: str, weights: np.dtype | None = None) -> list[KernelSignature]:
    """Return a user's kernels without cached code; see `listed_kernels`.

    The list is empty without a compiler, or if no cache directory is writable.
    """
    if not has_compiler() or not writable():
        return []
    return without_code(listed_kernels(user, weights), directories())


def compile_side_by_side(
    wanted: Sequence[KernelSignature],
    jobs: int | None = None,
    directory: Path | None = None,
    processors: str | None = None,
    report: Callable[[int, int], object] = lambda done, count: None,
) -> None:
    """Compile kernels in parallel processes, and save their code.

    One warning names the kernels that failed to compile, or says that a full disk
    prevents compilation; the first calls of kernels try again. By default there is a
    process per core, code is for `best_level` and goes to the user's cache. `report`
    receives, from time to time, how many kernels have code, and how many there are.
    """
    jobs = min(jobs or core_count(), len(wanted))
    folder = directory or writable()
    if not jobs or folder is None:
        return
    try:
        failed = _run_workers(wanted, jobs, folder, processors or best_level(), report)
    except OSError as error:
        if launched_rank() == 0:
            notice(
                f"{folder}: kernels cannot be compiled ahead there ({error}), so each "
                "is compiled when it is first called. Free some megabytes, or point "
                "MNDMST_CACHE_DIR at another directory."
            )
    else:
        _warn(failed)


def _run_workers(
    wanted: Sequence[KernelSignature],
    jobs: int,
    folder: Path,
    processors: str,
    report: Callable[[int, int], object],
) -> list[str]:
    """Compile kernels in processes; return the lines that these have printed.

    Raises OSError if the folder has no space left, or the system starts no process.
    """
    import subprocess  # few runs compile
    import tempfile

    path = filter(None, (str(PACKAGE_PARENT), os.environ.get("PYTHONPATH")))
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(path))
    command = [sys.executable, "-m", __name__, str(os.getpid()), str(folder)]
    command.append(processors)
    # All workers read records from one open file, and append lines to another.
    with (
        tempfile.TemporaryFile(dir=folder, buffering=0) as records,
        tempfile.TemporaryFile("w+", dir=folder) as failed,
    ):
        for entry in wanted:
            records.write("\t".join(entry).encode().ljust(RECORD))
        records.seek(0)
        workers: list[subprocess.Popen] = []
        try:
            with interrupts_blocked():  # a worker would print a traceback
                for _ in range(jobs):
                    workers.append(
                        subprocess.Popen(
                            command, stdin=records, stdout=failed, env=environment
                        )
                    )
            for worker in workers:
                while worker.poll() is None:
                    try:
                        worker.wait(REPORT_SECONDS)
                    except subprocess.TimeoutExpired:
                        missing = without_code(wanted, [folder])
                        report(len(wanted) - len(missing), len(wanted))
        except BaseException:
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.wait()
            raise
        failed.seek(0)
        return failed.read().splitlines()


def _warn(failed: Sequence[str]) -> None:
    """Warn of kernels that failed to compile, with the reason of the first."""
    if failed:
        name, why = failed[0].split("\t")
        others = f" and {counted(len(failed) - 1, 'other')}" * (len(failed) > 1)
        notice(
            f"{name}{others} could not be compiled ahead ({why}). If kernels have "
            "changed, write native/signatures.txt again: python -m "
            "tests.called_kernels"
        )


def _work(parent: int, directory: Path, processors: str) -> None:
    """Compile kernels of the records until their end or the end of the parent process.

    A stale list may name removed kernels or wrong types; such entries are reported, and
    the others are compiled.
    """
    gc.set_threshold(*COLLECTIONS)
    while os.getppid() == parent and (record := os.read(0, RECORD)):
        name, signature = record.decode().rstrip(" ").split("\t")
        try:
            compile_and_save(name, signature, None, processors, directory)
        except Exception as error:  # Numba raises many kinds
            why = str(error).strip().partition("\n")[0].replace("\t", " ")
            print(name, why, sep="\t", flush=True)


if __name__ == "__main__":
    _work(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
