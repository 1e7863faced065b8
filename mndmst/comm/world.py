"""The communicator of all ranks: that of MPI, or of one process without MPI."""

# ruff: noqa: D102 -- methods of SingleProcess are described in Comm

import sys
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from ..host.cores import usable_cores
from ..host.launcher import launched_processes, started_alone
from . import messages, mpi_library
from .communicator import Comm, SmallT, ValueT
from .exchange import Coded


def world(polite: bool = False) -> Comm:
    """Return the communicator of all ranks; start MPI if a launcher has started them.

    A process without a launcher is the only rank. It needs no MPI library, whose start
    takes up to a second, unless its program has loaded one. With `polite`, waiting
    ranks yield their core, as they always do if there are more ranks than cores. Raises
    ConfigError if the launcher started more processes than this MPI library sees;
    MissingExtraError if no MPI library can be loaded.
    """
    if started_alone() and "mpi4py.MPI" not in sys.modules:
        return SingleProcess()
    comm = Comm.dup(mpi_library.start().COMM_WORLD, polite)
    launched = launched_processes()
    if comm.size == 1 and launched > 1:
        raise mpi_library.other_launcher(
            launched, "sees only one", mpi_library.version()
        )
    mpi_library.widen_binding(comm)
    return comm


class SingleProcess(Comm):
    """The communicator of one process, without MPI."""

    def __init__(self, shared: messages.Shared | None = None) -> None:
        alone = SimpleNamespace(rank=0, size=1)
        super().__init__(alone, shared)  # type: ignore[arg-type]  # calls no MPI
        self.shared.one_host = True

    def _reduce(self, value: SmallT, operation: str) -> SmallT:
        array = np.array(value)
        return array if isinstance(value, np.ndarray) else array.item()

    def allgather(self, value: int | float | np.ndarray) -> np.ndarray:
        return np.array(value)[np.newaxis]

    def exscan(self, value: SmallT) -> SmallT:
        before = np.zeros_like(value)
        return before if isinstance(value, np.ndarray) else before.item()

    def bcast(self, value: ValueT | None, root: int = 0) -> ValueT:
        return value  # type: ignore[return-value]  # the root's

    def gather(self, value: ValueT, root: int = 0) -> list[ValueT] | None:
        return [value]

    def allgatherv(self, array: np.ndarray) -> np.ndarray:
        return np.array(array)

    def gather_arrays(self, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
        return []

    def barrier(self, politely: bool = False) -> None:
        pass

    def split(self, color: int | None) -> "SingleProcess | None":  # type: ignore[override]
        return None if color is None else SingleProcess(self.shared)

    def cores(self) -> set[int]:
        return set(usable_cores())

    def free(self) -> None:
        pass

    def progress(self) -> None:
        pass

    def alltoallv(
        self, counts: np.ndarray, *columns: np.ndarray | Coded
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        given = (c.data if isinstance(c, Coded) else c for c in columns)
        return np.array(counts, np.int64), [np.array(column) for column in given]

    def reply(
        self, asked: np.ndarray, counts: np.ndarray, *columns: np.ndarray | Coded
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        return self.alltoallv(counts, *columns)

    def isendrecv(
        self, arrays: Sequence[np.ndarray], dest: int, source: int
    ) -> Callable[[], list[np.ndarray]]:
        return lambda: [np.array(array) for array in arrays]
