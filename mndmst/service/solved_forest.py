"""A solved forest, kept on the ranks until every client has read it.

Ranks find edges in no order, and a client that asks for a weight or compares two solves
reads no edge. So the ranks put the edges in order when a client asks for them.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..graph.model import EdgeList
from ..graph.order import keys_to_weights
from ..io.results.digest_and_total import forest_digest, total_of_keys
from ..solver.run import Run
from ..solver.write import send_to_owners
from .protocol import ServiceAnswer


@dataclass(frozen=True, eq=False)
class SolvedForest:
    """One forest of one version of a graph: an immutable value."""

    version: int  # The version of the graph that the forest belongs to
    dtype: np.dtype  # Type of the weights
    maximum: bool  # Whether it is the maximum forest: keys descend with weights
    summary: ServiceAnswer  # The facts that the service sends to clients
    # The edges that this rank has found, for the main thread alone; `in_order` takes
    # them out of the list, so that no edge is in memory twice.
    parts: list[EdgeList]
    # The edges that begin at this rank's rows, in order; None until the ranks have put
    # them in order.
    edges: EdgeList | None = None

    @classmethod
    def of(cls, run: Run, version: int, parts: list[EdgeList]) -> "SolvedForest":
        """Return a forest of the edges of `run`, with its summary. Collective."""
        dtype, maximum = run.graph.weight_dtype, run.graph.maximum
        keys = [edges.key for edges in parts]
        count = run.comm.sum(sum(len(part) for part in keys))
        summary: ServiceAnswer = {
            "version": version,
            "num_vertices": run.num_vertices,
            "num_edges": run.num_edges,
            "forest_edges": count,
            "trees": run.num_vertices - count,
            "weight": total_of_keys(run.comm, keys, dtype, run.threads, maximum),
            "weight_type": dtype.name,
            "maximum": maximum,
        }
        return cls(version, dtype, maximum, summary, parts)

    def weights(self, keys: np.ndarray) -> np.ndarray:
        """Return keys of edges of the forest as weights, in a new array."""
        return keys_to_weights(keys, self.dtype, self.maximum)

    def with_facts(self, **facts: int | float | str) -> "SolvedForest":
        """Return the forest with more facts in its summary."""
        summary = {**self.summary, **facts}
        return replace(self, summary=summary)  # type: ignore[arg-type]

    def in_order(self, run: Run) -> "SolvedForest":
        """Return the forest with each edge on its smaller end's owner. Collective."""
        if self.edges is not None:
            return self
        return replace(
            self, edges=send_to_owners(run.directory, self.parts, run.threads)
        )

    def with_digest(self, run: Run) -> "SolvedForest":
        """Return the forest in order, with its digest in the summary. Collective."""
        ordered = self.in_order(run)
        assert ordered.edges is not None
        digest = forest_digest(run.comm, ordered.edges.u, ordered.edges.v)
        return ordered.with_facts(digest=digest)
