"""A forest that requests have found, which stays until clients have read it.

Ranks find edges in no order, and a client that asks for a weight, or compares two
solves, reads none of them. So they are put in order when somebody asks for them.
"""

from dataclasses import dataclass, field

import numpy as np

from ..graph.model import EdgeList
from ..io.totals import forest_digest, total_of_keys
from ..run.run import Run
from ..steps.write import send_to_owners


@dataclass
class Found:
    """A forest.

    Attributes
    ----------
    parts : list of EdgeList
        Its edges that this rank has found; none once they are in order.
    dtype : dtype
        Of the weights.
    totals : dict
        What clients are told of it.
    edges : EdgeList or None
        Those that begin at this rank's rows, once they are in order on all ranks.
    """

    parts: list[EdgeList]
    dtype: np.dtype
    totals: dict[str, int | float | str] = field(default_factory=dict)
    edges: EdgeList | None = None

    @classmethod
    def of(cls, run: Run, parts: list[EdgeList], dtype: np.dtype) -> "Found":
        """Return a forest with its totals. Collective.

        Parameters
        ----------
        run : Run
            Over the edges that the forest is of.
        """
        keys = [edges.key for edges in parts]
        count = run.comm.sum(sum(len(part) for part in keys))
        totals: dict[str, int | float | str] = {
            "num_vertices": run.num_vertices,
            "num_edges": run.num_edges,
            "forest_edges": count,
            "trees": run.num_vertices - count,
            "weight": total_of_keys(run.comm, keys, dtype, run.threads),
            "weight_type": dtype.name,
        }
        return cls(parts, dtype, totals)

    def order(self, run: Run) -> EdgeList:
        """Put the edges in order, each on the owner of its smaller end. Collective."""
        if self.edges is None:
            edges = send_to_owners(run.directory, self.parts, run.threads)
            if run.comm.rank:
                self.edges = edges
            run.comm.barrier()  # rank 0, which tells clients of them, is the last
            self.edges = edges
        return self.edges

    def add_digest(self, run: Run) -> "Found":
        """Add the digest to the totals; return this forest. Collective."""
        edges = self.order(run)
        self.totals["digest"] = forest_digest(run.comm, edges.u, edges.v)
        return self
