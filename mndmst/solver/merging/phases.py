"""The phases of a contraction: each takes a part of the edges, lightest first.

By the policy of `graph.light_edges`, the first phase contracts a band of the lightest
edges. The next one contracts all heavier edges that leave the giant component or, while
there is none, the next band.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ...backends.base import Band
from ..heavier import CrossEdges


class Phase(Protocol):
    """The edges that a strategy contracts before heavier ones."""

    @property
    def title(self) -> str:
        """The name of the phase in reports."""

    @property
    def done(self) -> int | None:
        """The largest key such that all edges up to it have been contracted."""


@dataclass(frozen=True)
class BandPhase:
    """A band of edges; bands are numbered in ascending order."""

    band: Band
    number: int = 0

    @property
    def title(self) -> str:
        """See `Phase.title`."""
        return f"band {self.number}"

    @property
    def done(self) -> int | None:
        """See `Phase.done`."""
        return self.band.low


@dataclass(frozen=True)
class RowBand(BandPhase):
    """The lightest band of the rows; every vertex is a component."""


@dataclass(frozen=True)
class LaterBand(BandPhase):
    """A band of edges between components, whose vertices may be on several ranks."""


@dataclass(frozen=True)
class HeavyEdges:
    """All edges above a band that leave the giant component."""

    giant: int  # The giant component
    band: Band  # The last band; its edges have been contracted
    title: str = "heavier"

    @property
    def above(self) -> int:
        """The largest key of the last band."""
        assert self.band.high is not None
        return self.band.high

    @property
    def done(self) -> int | None:
        """See `Phase.done`. A resumed run repeats the last band, without effect."""
        return self.band.low


@dataclass(frozen=True)
class Remainder:
    """The remaining edges of a phase, which another strategy merges."""

    edges: CrossEdges
    phase: RowBand | HeavyEdges

    @property
    def title(self) -> str:
        """See `Phase.title`."""
        return self.phase.title

    @property
    def done(self) -> int | None:
        """See `Phase.done`."""
        return self.phase.done


class BandSequence:
    """The bands of a run, contiguous and ascending; the last one is open above."""

    def __init__(self, bands: Iterable[Band]) -> None:
        self.bands = tuple(bands)

    def first(self, resumed: bool) -> RowBand | LaterBand:
        """Return the first phase of a run, which may be `resumed` from a checkpoint."""
        return LaterBand(self.bands[0]) if resumed else RowBand(self.bands[0])

    def after(self, phase: BandPhase) -> LaterBand:
        """Return the band after a band, which must not be the last."""
        number = phase.number + 1
        return LaterBand(self.bands[number], number)
