"""The model by which `--backend auto` decides between CPU and GPU."""

from dataclasses import dataclass
from pathlib import Path

ARC_BYTES = 8  # in most files: an id and a weight of 32 bits


@dataclass(frozen=True)
class DeviceCosts:
    """Costs of CPU and GPU in a run, beyond the work that both do.

    Both devices read the same file in about the same time, so only the rest counts.
    """

    # Seconds of a core for an arc: to compute the forest, and to sort its edges.
    core_arc: float = 13e-9
    # Seconds of all cores of a host for an arc, if memory bandwidth limits them.
    host_arc: float = 0.8e-9
    gpu_start: float = 0.6  # Seconds by which a run with a GPU starts and ends later
    gpu_arc: float = 0.15e-9  # Seconds of a GPU for an arc
    # Seconds of a GPU for an arc of streamed rows, which is copied in every run.
    streamed_arc: float = 0.82e-9

    def cpu_seconds(self, arcs: float, cores: int, ranks: int) -> float:
        """Predict the seconds of a rank's cores for its arcs.

        `ranks` is the number of ranks of the host, each with this number of arcs.
        """
        return arcs * max(self.core_arc / cores, self.host_arc * ranks)

    def gpu_seconds(self, arcs: float, streamed: bool = False) -> float:
        """Predict the seconds of a GPU for the arcs of its rank.

        Rows larger than the memory of the GPU are `streamed`.
        """
        return self.gpu_start + arcs * (self.streamed_arc if streamed else self.gpu_arc)


COSTS = DeviceCosts()


def estimated_arcs(graph: Path) -> float:
    """Return about how many arcs a graph has, by the sizes of its files."""
    folder = graph if graph.is_dir() else graph.parent
    return sum(part.stat().st_size for part in folder.glob("*.h5")) / ARC_BYTES
