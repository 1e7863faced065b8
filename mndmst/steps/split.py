"""Step 2: a rank's rows are divided between its GPU and its CPU by measured speed.

MND-MST (4.3.1) divides rows by the speeds of the devices. That does not say whether
both together are faster than the better one alone: two parts have a border, which is
contracted and merged on the host. So the time of all three arrangements is predicted,
and the best is taken. Its ratio may be 0 or 1.
"""

from typing import NamedTuple

import numpy as np

from ..backends.base import Backend
from ..graph.model import Rows

# Two workers must be predicted to save this much, as predictions are uncertain.
LEAST_GAIN = 0.1


class Speeds(NamedTuple):
    """What two devices and their host need for graphs of one family.

    Attributes
    ----------
    first, second : float
        Seconds a device needs for each arc of its rows, from host memory to the
        forest's edges in host memory.
    kept : float
        Edges of that forest for each arc.
    contract, merge : float
        Seconds the host needs for each of these edges: to contract a part along
        them, and to merge two parts and contract what has become one.
    """

    first: float
    second: float
    kept: float
    contract: float
    merge: float

    @property
    def even(self) -> float:
        """The share of the first device with which both are done at once."""
        return self.second / (self.first + self.second)

    def seconds(self, ratio: float, rows: Rows) -> float:
        """Predict the time until a rank's rows are contracted.

        Rows that are the whole graph have no border unless they are divided.
        """
        parts = [share for share in (ratio, 1 - ratio) if share > 0]
        edges = [
            min(share * self.kept * rows.num_arcs, rows.num_vertices) for share in parts
        ]
        devices = max(ratio * self.first, (1 - ratio) * self.second) * rows.num_arcs
        if len(parts) == 2:
            return devices + self.contract * max(edges) + self.merge * sum(edges)
        return devices + (0.0 if rows.complete else self.contract * edges[0])

    def best_ratio(self, rows: Rows) -> float:
        """Return the share of the first device that is expected to take least time."""
        alone = min((1.0, 0.0), key=lambda ratio: self.seconds(ratio, rows))
        both = self.seconds(self.even, rows)
        gains = both < (1 - LEAST_GAIN) * self.seconds(alone, rows)
        return self.even if gains else alone


def split(rows: Rows, ratio: float) -> list[Rows]:
    """Cut rows in two, the first with about a share of the arcs.

    A ratio of 0 or 1 leaves one part empty.
    """
    if ratio >= 1.0:
        return [rows, rows.cut(len(rows), len(rows))]
    place = int(np.searchsorted(rows.indptr, ratio * rows.num_arcs))
    return [rows.cut(0, place), rows.cut(place, len(rows))]


def bounded_ratio(backend: Backend, rows: Rows, ratio: float) -> float:
    """Return the ratio, lowered until the first backend's share fits its memory."""
    free = backend.memory().free
    needed = backend.rows_nbytes(rows)
    return min(ratio, 0.9 * free / needed) if needed else ratio
