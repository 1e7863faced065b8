"""Compile kernels before they are called, by processes side by side.

What is to be compiled lies in a pipe, and each process takes the next of it.
"""

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..host.cores import core_count
from ..host.formatting import counted
from .arguments import named
from .cache_dirs import directories, writable
from .code_store import RUNTIME_NAME, Code, has, keep
from .processor_levels import best_level

PARENT = Path(__file__).parents[2]
# Bytes of an entry in the pipe; the system hands out so many at once or none.
RECORD = 2048


FILE = Path(__file__).with_name("signatures.txt")


class KernelSignature(NamedTuple):
    """A kernel, as `module.name`, and the types of its arguments as text."""

    name: str
    signature: str


def listed_kernels(
    user: str = "", weights: np.dtype | None = None
) -> list[KernelSignature]:
    """Return the kernels that somebody calls, or all.

    The first is what takes memory for the others.

    Parameters
    ----------
    user : {"solve", "verify", "update", "arrays", "matrices", "points", "service"}
    weights : dtype, optional
        For the first five.
    """
    wanted = user if weights is None else f"{user}:{weights.str[1:]}"
    found = [KernelSignature(RUNTIME_NAME, "")]
    for line in FILE.read_text().splitlines():
        if not line.startswith("#"):
            users, name, signature = line.split(" ", 2)
            if not wanted or wanted in users.split(","):
                found.append(KernelSignature(f"mndmst.{name}", signature))
    return found


def without_code(
    wanted: Sequence[KernelSignature], places: Sequence[Path]
) -> list[KernelSignature]:
    """Return those kernels that have no code in some places."""
    return [entry for entry in wanted if not has(places, *entry)]


@functools.cache
def compile_for(user: str, weights: np.dtype | None = None) -> None:
    """Compile what somebody calls and nobody has compiled, on all cores."""
    compile_side_by_side(uncompiled(user, weights))


def uncompiled(user: str, weights: np.dtype | None = None) -> list[KernelSignature]:
    """Return what somebody calls and nobody has compiled; see `registry.entries`.

    It is empty if there is no place to keep code in.
    """
    return (
        without_code(listed_kernels(user, weights), directories()) if writable() else []
    )


def compile_side_by_side(
    listed_kernels: Sequence[KernelSignature],
    jobs: int | None = None,
    directory: Path | None = None,
    processors: str | None = None,
) -> None:
    """Compile kernels by several processes, and keep their code.

    A kernel that a process fails to compile is compiled when it is called. One line
    tells of all of them.

    Parameters
    ----------
    jobs : int, optional
        How many processes; by default one for each core.
    directory : Path, optional
        Where the code is kept; by default where this user's is.
    processors : str, optional
        The level of the code, of `levels.NAMES`; by default `best_level`.
    """
    jobs = min(jobs or core_count(), len(listed_kernels))
    if not jobs:
        return
    reading, writing = os.pipe()
    environment = dict(os.environ, PYTHONPATH=_with_package())
    command = [sys.executable, "-m", __name__, str(os.getpid())]
    folder = directory or writable()
    command += [str(folder), processors or best_level()]
    # All of them append lines to one open file.
    with tempfile.TemporaryFile("w+", dir=folder) as failed:
        workers = [
            subprocess.Popen(command, stdin=reading, stdout=failed, env=environment)
            for _ in range(jobs)
        ]
        os.close(reading)
        _hand_out(listed_kernels, writing)
        for worker in workers:
            worker.wait()
        failed.seek(0)
        _tell(failed.read().splitlines())


def _hand_out(listed_kernels: Sequence[KernelSignature], writing: int) -> None:
    """Put kernels into the pipe of the processes that compile them, and close it."""
    with os.fdopen(writing, "wb") as pipe:
        try:
            for entry in listed_kernels:
                pipe.write("\t".join(entry).encode().ljust(RECORD))
            pipe.flush()
        except BrokenPipeError:  # all of them have failed
            pass


def _tell(failed: Sequence[str]) -> None:
    """Say which kernels could not be compiled; why, of the first."""
    if failed:
        name, why = failed[0].split("\t")
        others = f" and {counted(len(failed) - 1, 'other')}" * (len(failed) > 1)
        sys.stderr.write(
            f"mndmst: {name}{others} could not be compiled ahead ({why}). If kernels "
            "have changed, write native/signatures.txt again: python -m "
            "tests.called_kernels\n"
        )


def _with_package() -> str:
    """Return a search path on which a new process finds this package."""
    others = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(PARENT), *([others] if others else [])])


def _work(parent: int, directory: Path, processors: str) -> None:
    """Compile what the pipe has, as long as the process that fills it is there.

    A list that is older than the sources may name a kernel that is no more, or other
    types; the rest is compiled all the same.
    """
    while os.getppid() == parent:
        record = os.read(0, RECORD)
        if not record:
            return
        name, signature = record.decode().rstrip(" ").split("\t")
        try:
            code = _code_of(name, signature, processors)
        except Exception as error:  # of Numba there are many kinds
            why = str(error).strip().partition("\n")[0].replace("\t", " ")
            print(name, why, sep="\t", flush=True)
        else:
            keep(name, signature, code, directory)


def _code_of(name: str, signature: str, processors: str) -> Code:
    from .compiler import compile_kernel, compile_runtime

    if name == RUNTIME_NAME:
        return compile_runtime(processors)
    return compile_kernel(named(name).function, signature, processors)


if __name__ == "__main__":
    _work(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
