"""A graph of the service: its rows, its columns of weights, and its version."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from ..comm.communicator import Comm
from ..host.errors import ConfigError
from ..host.progress import Progress
from ..io.weight_columns import WeightColumn, find_columns
from ..run.config import Config
from .resident import Choice, Found, Resident, Weighed

# The graph's own weights, among the columns
OWN = "weight"


class HeldGraph:
    """A graph that clients know by a name.

    Attributes
    ----------
    name : str
    resident : Resident
    version : int
        How many batches of changes it has had.
    stored : dict of WeightColumn
        Columns beside the shards.
    """

    def __init__(
        self, name: str, resident: Resident, stored: dict[str, WeightColumn]
    ) -> None:
        self.name, self.resident, self.stored = name, resident, stored
        self.version = 0
        self._columns: dict[str, Weighed] = {}

    @classmethod
    def load(
        cls, comm: Comm, name: str, path: Path, config: Config, progress: Progress
    ) -> "HeldGraph":
        """Read a graph. Collective; raises as `part_graph`."""
        resident = Resident.load(comm, path, config, progress)
        with comm.raise_on_all():
            stored = find_columns(resident.run.graph) if comm.rank == 0 else {}
        return cls(name, resident, comm.bcast(stored))

    @property
    def num_vertices(self) -> int:
        """Vertices of the graph."""
        return self.resident.run.num_vertices

    @property
    def version_name(self) -> str:
        """The name of the forest of the present version."""
        return f"{self.name}.v{self.version}"

    @property
    def columns(self) -> dict[str, str]:
        """The types of all columns, by name."""
        known = {OWN: self.resident.weighed.dtype.name}
        known |= {name: column.dtype.name for name, column in self.stored.items()}
        return known | {name: w.dtype.name for name, w in self._columns.items()}

    def outdated(self, forests: Iterable[str]) -> list[str]:
        """Return the forests of versions before the last one."""
        numbers = {}
        for forest in forests:
            graph, _, number = forest.rpartition(".v")
            if graph == self.name and number.isdecimal():
                numbers[forest] = int(number)
        return [name for name, number in numbers.items() if number < self.version - 1]

    def forest(self, progress: Progress, proceed: Callable[[], None]) -> Found:
        """Compute the forest of the present version. Collective."""
        resident, choice = self.resident, Choice(digest=True)
        return resident.solve(resident.weighed, choice, progress, proceed)

    def column(self, name: str) -> Weighed:
        """Return the rows with the weights of a column. Collective.

        A column stays with the rows once it has been used.

        Raises
        ------
        ConfigError
            On every rank, if there is none of that name.
        InputError
            On every rank, if its file is damaged.
        """
        if name == OWN:
            return self.resident.weighed
        if name not in self._columns:
            self.store(name, self._read(name))
        return self._columns[name]

    def values(self, name: str) -> np.ndarray:
        """Return a column's weights of the edges that begin here. Collective."""
        if name != OWN and name not in self._columns:
            return self._read(name)
        return self.resident.own_weights(self.column(name))

    def store(self, name: str, weights: np.ndarray) -> None:
        """Keep weights of the edges that begin here as a column. Collective."""
        if name == OWN:
            error = ConfigError(f"{OWN!r} is the graph's own; give another name")
            error.ranks = self.resident.run.comm.size
            raise error
        self._columns[name] = self.resident.weigh(weights)

    def _read(self, name: str) -> np.ndarray:
        run, order = self.resident.run, self.resident.order
        with run.comm.raise_on_all():
            if name not in self.stored:
                raise ConfigError(
                    f"{self.name} has no column {name!r}; there are "
                    f"{', '.join(self.columns)}"
                )
            return self.stored[name].read(order.first, order.first + order.count)
        raise AssertionError("the block returns or raises")
