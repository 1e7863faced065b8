"""A graph of the service: its rows, its columns of weights, and its versions."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..changes.batch import Batch
from ..changes.changing import Applied, ChangingForest
from ..changes.current import CurrentForest
from ..changes.rows import ChangingRows
from ..comm.communicator import Comm
from ..graph.order import keys_to_weights
from ..host.errors import ConfigError, MndmstError
from ..host.progress import Progress
from ..io.weight_columns import OWN, WeightColumn, find_columns
from ..run.config import Config
from ..tree.index import ForestIndex
from .found import Found
from .journal import Journal
from .resident import Choice, Resident, Weighed


class Present(NamedTuple):
    """The forest of a version, on rank 0; it never changes."""

    version: int
    forest: CurrentForest


class HeldGraph:
    """A graph that clients know by a name.

    Attributes
    ----------
    name : str
    resident : Resident
    version : int
        How many batches of changes it has had.
    present : Present or None
        On rank 0, once queries or changes have asked for it. It is replaced as a whole.
    indexed : bool
        Whether rank 0 has it.
    journal : Journal or None
        On rank 0, if there is one.
    journaled : bool
        Whether rank 0 has one.
    """

    def __init__(
        self,
        name: str,
        resident: Resident,
        stored: dict[str, WeightColumn],
        version: int = 0,
    ) -> None:
        self.name, self.resident, self._stored = name, resident, stored
        self.version = version
        self.present: Present | None = None
        self.indexed = self.journaled = False
        self.journal: Journal | None = None
        self._columns: dict[str, Weighed] = {}
        self._changing: ChangingForest | None = None

    @classmethod
    def load(
        cls,
        comm: Comm,
        name: str,
        path: Path,
        config: Config,
        progress: Progress,
        version: int = 0,
    ) -> "HeldGraph":
        """Read a graph that has some version. Collective; raises as `part_graph`."""
        resident = Resident.load(comm, path, config, progress)
        stored: dict[str, WeightColumn] = {}
        with comm.raise_on_all():
            if comm.rank == 0:
                stored = find_columns(resident.run.graph)
        return cls(name, resident, comm.bcast(stored), version)

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
        known |= {name: column.dtype.name for name, column in self._stored.items()}
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
        """Return the forest of the present version. Collective."""
        resident = self.resident
        if self._changing is None:
            choice = Choice(digest=True)
            return resident.solve(resident.weighed, choice, progress, proceed)
        edges = resident.no_edges
        if self.present is not None:
            edges = self.present.forest.edges()
        found = Found.of(resident.run, [edges], resident.weighed.dtype)
        return found.add_digest(resident.run)

    def index(self, found: Found) -> None:
        """Index the forest of the present version on rank 0. Collective."""
        run = self.resident.run
        comm, edges = run.comm, found.order(run)
        counts = np.zeros(comm.size, np.int64)
        counts[0] = len(edges)
        _, (u, v, key) = comm.alltoallv(counts, edges.u, edges.v, edges.key)
        with comm.raise_on_all():
            if comm.rank == 0:
                weight = keys_to_weights(key, found.dtype)
                index = ForestIndex(self.num_vertices, u, v, weight)
                self.present = Present(self.version, CurrentForest.of(index))
        self.indexed = True

    def apply(self, batch: Batch | MndmstError | None) -> Applied:
        """Make changes, which nobody sees before `publish`. Collective.

        The forest has been indexed.

        Parameters
        ----------
        batch : Batch, or MndmstError
            On rank 0; see `ChangingForest.apply`.

        Raises
        ------
        MndmstError
            On every rank, if a change cannot be made; then none has been.
        """
        if self._changing is None:
            resident = self.resident
            resident.check_held()
            index = None if self.present is None else self.present.forest.index
            rows, dtype = resident.rows, resident.weighed.dtype
            facts = rows, dtype, index, self.version
            self._changing = ChangingForest(resident.run.comm, *facts)
        return self._changing.apply(batch)

    def publish(self, applied: Applied) -> None:
        """Let everybody see the version that a batch has made. Collective."""
        assert self._changing is not None
        resident, forest = self.resident, self._changing.forest
        if applied.inserted or applied.deleted:
            self._columns.clear()
            self._stored.clear()
        resident.outdated = True
        change = applied.inserted - applied.deleted
        resident.run = replace(resident.run, num_edges=resident.run.num_edges + change)
        self.version = applied.version
        if forest is not None:
            self.present = Present(applied.version, forest)

    def refresh(self) -> None:
        """Write the rows as they are now, before they are solved. Collective."""
        if self._changing is not None and self.resident.outdated:
            rows = self._changing.rows.current()
            self._changing.rows = ChangingRows(rows)
            self.resident.replace_rows(rows)

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
        with self.resident.run.comm.raise_on_all():
            if name == OWN:
                raise ConfigError(f"{OWN!r} is the graph's own; give another name")
        self._columns[name] = self.resident.weigh(weights)

    def _read(self, name: str) -> np.ndarray:
        with self.resident.run.comm.raise_on_all():
            if name not in self._stored:
                raise ConfigError(
                    f"{self.name} has no column {name!r}; there are "
                    f"{', '.join(self.columns)}. Columns end where edges come or go."
                )
        order = self.resident.order
        with self.resident.run.comm.raise_on_all():
            return self._stored[name].read(order.first, order.first + order.count)
        raise AssertionError("the block returns or raises")
