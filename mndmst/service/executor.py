"""What every rank does for a request: all ranks together, one request at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..changes.batch import Batch
from ..comm.communicator import Comm
from ..host.errors import ConfigError, InputError, MndmstError
from ..io.edges import supported_weights
from .expression import columns_of, evaluate
from .found import Found
from .held import HeldGraph
from .jobs import CancelledError, Job, Told
from .resident import Choice, Weighed, lighter
from .snapshot import write_snapshot
from .updates import read_batch
from .uploads import Columns, Uploads

# So many forests of solves are kept until clients have read them.
KEPT_FORESTS = 8


class FatalError(MndmstError):
    """All ranks raise it together, and the service ends."""


class Executor:
    """The graphs of a rank, and what requests do with them.

    Parameters
    ----------
    graphs : dict of HeldGraph
        By their names.
    uploads : Uploads
        What clients have sent to this rank.

    Attributes
    ----------
    forests : dict of Found
        The forests that clients may read, by name; the same names on all ranks.
    """

    def __init__(
        self, comm: Comm, graphs: dict[str, HeldGraph], uploads: Uploads
    ) -> None:
        self.comm, self.graphs, self.uploads = comm, graphs, uploads
        self.forests: dict[str, Found] = {}
        self._solved = 0

    def execute(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        """Do what a request asks for. Collective.

        Parameters
        ----------
        fields : dict
            The request.
        job : Job or None
            On rank 0, to tell progress to.

        Raises
        ------
        MndmstError
            On every rank, if it cannot be done.
        """
        actions = {
            "solve": self._solve,
            "forest": self._forest,
            "store": self._store,
            "release": self._release,
            "index": self._index,
            "order": self._order,
            "update": self._update,
            "snapshot": self._snapshot,
        }
        return actions[fields["action"]](fields, job)

    def _proceed(self, job: Job | None) -> Callable[[], None]:
        """Return what raises on all ranks once the job has been cancelled."""

        def proceed() -> None:
            if self.comm.bcast(job is not None and job.cancelled):
                error = CancelledError()
                error.ranks = self.comm.size
                raise error

        return proceed

    def _solve(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        graph = self.graphs[fields["graph"]]
        graph.refresh()
        choice = self._choice(graph, fields)
        weighed = self._weighed(graph, fields.get("weights"))
        if choice.below is not None:
            with self.comm.raise_on_all():
                lighter(np.empty(0, weighed.dtype), choice.below)
        proceed = self._proceed(job)
        proceed()  # to read a column takes a while
        found = graph.resident.solve(weighed, choice, Told(job), proceed)
        self._solved += 1
        name = f"{graph.name}.{self._solved}"
        self.forests[name] = found
        solved = [n for n in self.forests if n.rpartition(".")[2].isdecimal()]
        for old in solved[:-KEPT_FORESTS]:
            del self.forests[old]
        return {"forest": name, "version": graph.version, **found.totals}

    def _forest(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        """Make a forest ready to be read: one of a name, or of the present version."""
        graph = self.graphs[fields["graph"]]
        name = fields.get("forest", graph.version_name)
        if name == graph.version_name and name not in self.forests:
            self.forests[name] = graph.forest(Told(job), self._proceed(job))
            for old in graph.outdated(self.forests):
                del self.forests[old]
        with self.comm.raise_on_all():
            check_there(self.forests, name)
        self.forests[name].order(graph.resident.run)
        totals = self.forests[name].totals
        return {"forest": name, "version": graph.version, **totals}

    def _release(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        known = self.forests.pop(fields["forest"], None)
        return {"released": known is not None}

    def _store(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        graph = self.graphs[fields["graph"]]
        graph.refresh()
        weights = self._uploaded_weights(fields["upload"])
        graph.store(fields["column"], weights)
        return {"column": fields["column"], "type": weights.dtype.name}

    def _order(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        """Return which edges each rank has, in the order of edges."""
        graph = self.graphs[fields["graph"]]
        graph.refresh()
        order = graph.resident.order
        return {"counts": self.comm.allgather(order.count).tolist()}

    def _index(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        """Index the forest of the present version on rank 0."""
        graph = self.graphs[fields["graph"]]
        if not graph.indexed:
            summary = self._forest(fields, job)
            graph.index(self.forests[summary["forest"]])
        return {"version": graph.version}

    def _update(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        graph = self.graphs[fields["graph"]]
        batch: Batch | MndmstError | None = None
        if self.comm.rank == 0:
            try:
                batch = read_batch(fields, self.uploads)
            except MndmstError as error:  # all ranks hear of it in place of a batch
                batch = error
        if not graph.indexed:
            self._index(fields, job)
            self._proceed(job)()
        applied = graph.apply(batch)
        if graph.journaled:
            self._append(graph, applied.version, batch)
        graph.publish(applied)
        return applied._asdict()

    def _append(
        self, graph: HeldGraph, version: int, batch: Batch | MndmstError | None
    ) -> None:
        """Write a batch to the journal."""
        try:
            with self.comm.raise_on_all():
                if graph.journal is not None and isinstance(batch, Batch):
                    graph.journal.append(version, batch)
        except MndmstError as error:  # memory is ahead of the disk
            raise FatalError(f"{error} The service ends.") from error

    def make(self, graph: HeldGraph, batch: Batch | None) -> None:
        """Make changes that are in the journal already. Collective."""
        self._index({"graph": graph.name}, None)
        graph.publish(graph.apply(batch))

    def _snapshot(self, fields: dict[str, Any], job: Job | None) -> dict[str, Any]:
        graph, folder, name = self.graphs[fields["graph"]], None, ""
        with self.comm.raise_on_all():
            if self.comm.rank == 0:
                if graph.journal is None:
                    raise ConfigError("snapshots lie beside a journal; give --journal")
                if graph.journal.base != graph.version:
                    folder = graph.journal.snapshot_folder(graph.version)
        folder = self.comm.bcast(folder)
        if folder is None:  # the journal is empty
            return {"snapshot": None, "version": graph.version}
        uuid = write_snapshot(self.comm, graph, folder)
        try:
            with self.comm.raise_on_all():
                if graph.journal is not None:
                    name = graph.journal.restart(graph.version, uuid, folder)
        except MndmstError as error:
            raise FatalError(f"{error} The service ends.") from error
        return {"snapshot": name, "version": graph.version, "uuid": uuid}

    def _weighed(self, graph: HeldGraph, weights: dict[str, str] | None) -> Weighed:
        if weights is None:
            return graph.resident.weighed
        ((kind, what),) = weights.items()
        if kind == "column":
            return graph.column(what)
        if kind == "upload":
            return graph.resident.weigh(self._uploaded_weights(what))
        with self.comm.raise_on_all():
            names = columns_of(what)
        columns = {name: graph.values(name) for name in names}
        with self.comm.raise_on_all():
            values = evaluate(what, columns, graph.resident.order.count)
        return graph.resident.weigh(values)

    def _uploaded_weights(self, name: str) -> np.ndarray:
        """Return the weights that a client has sent to all ranks. Collective."""
        columns = self.uploads.take(name)
        weights = np.empty(0, np.float64)
        with self.comm.raise_on_all():
            if columns is None or list(columns) != ["weight"]:
                raise InputError(
                    f"no weights {name} have come to rank {self.comm.rank}. Send each "
                    "rank those of its edges."
                )
            weights = supported_weights("the weights sent", columns["weight"])
        kinds = self.comm.mpi.allgather(weights.dtype.str)
        if len(set(kinds)) > 1:
            error = InputError(f"the weights sent have types {', '.join(kinds)}")
            error.ranks = self.comm.size
            raise error
        return weights

    def _choice(self, graph: HeldGraph, fields: dict[str, Any]) -> Choice:
        """Return which edges a solve is to use. Collective."""
        without = vertices = None
        if "without_edges" in fields:
            columns = self.shared(fields["without_edges"], ("src", "dst"), graph)
            without = columns["src"], columns["dst"]
        if "vertices" in fields:
            vertices = self.shared(fields["vertices"], ("vertex",), graph)["vertex"]
        given = {n: fields[n] for n in ("maximum", "below", "digest") if n in fields}
        return Choice(**given, without=without, vertices=vertices)

    def shared(self, name: str, wanted: tuple[str, ...], graph: HeldGraph) -> Columns:
        """Return on all ranks the columns that a client has sent to rank 0.

        Collective.

        Raises
        ------
        InputError
            On every rank, if they have not come, or name vertices that are none.
        """
        columns: Columns = {}
        with self.comm.raise_on_all():
            if self.comm.rank == 0:
                columns = self.uploads.take(name) or {}
                if tuple(columns) != wanted:
                    raise InputError(
                        f"no upload {name} of {', '.join(wanted)} has come to rank 0"
                    )
                for column in set(wanted) - {"weight"}:
                    check_vertices(columns[column], graph.num_vertices)
        kinds = self.comm.bcast([columns[c].dtype for c in columns])
        empty = (np.empty(0, kind) for kind in kinds)
        mine = columns or dict(zip(wanted, empty, strict=True))
        return {c: self.comm.allgatherv(mine[c]) for c in wanted}


def check_vertices(vertices: np.ndarray, num_vertices: int) -> None:
    """Raise an InputError if an id is no vertex."""
    wrong = vertices[(vertices < 0) | (vertices >= num_vertices)]
    if len(wrong):
        raise InputError(
            f"{wrong[0]} is no vertex; they are numbered from 0 to {num_vertices - 1}"
        )


def check_there(forests: dict[str, Found], name: str) -> None:
    """Raise a ConfigError if no forest has a name."""
    if name not in forests:
        raise ConfigError(f"no forest is called {name!r} any more; solve again")


def check_known(graphs: dict[str, Any], name: str) -> None:
    """Raise a ConfigError if no graph has a name."""
    if name not in graphs:
        raise ConfigError(f"no graph is called {name!r}; there are {', '.join(graphs)}")
