"""Portions of a graph's edges, lightest first, in which strategies contract it.

By the policy of `graph.light_edges`, a run contracts a band of the lightest edges, then
either all heavier edges that leave the giant component, or, while there is none, the
next band of edges.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ...backends.base import Band
from ..heavier import CrossEdges


class Portion(Protocol):
    """Edges that a strategy contracts before it takes heavier ones."""

    @property
    def title(self) -> str:
        """The name of the portion in reports."""

    @property
    def done(self) -> int | None:
        """The largest key such that all edges up to it have been contracted."""


@dataclass(frozen=True)
class BandPortion:
    """A band of edges; bands are numbered in ascending order."""

    band: Band
    number: int = 0

    @property
    def title(self) -> str:
        """See `Portion.title`."""
        return f"band {self.number}"

    @property
    def done(self) -> int | None:
        """See `Portion.done`."""
        return self.band.low


@dataclass(frozen=True)
class RowBand(BandPortion):
    """The lightest band, of rows as they were read: every vertex is a component."""


@dataclass(frozen=True)
class LaterBand(BandPortion):
    """A band of edges between components, which may reach over several ranks."""


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
        """See `Portion.done`. A resumed run repeats the last band: it finds nothing."""
        return self.band.low


@dataclass(frozen=True)
class Remainder:
    """Edges that are left of a portion, for another strategy to merge."""

    edges: CrossEdges
    portion: RowBand | HeavyEdges

    @property
    def title(self) -> str:
        """See `Portion.title`."""
        return self.portion.title

    @property
    def done(self) -> int | None:
        """See `Portion.done`."""
        return self.portion.done


class BandSequence:
    """The bands of a run, contiguous and ascending; the last one is open above."""

    def __init__(self, bands: Iterable[Band]) -> None:
        self.bands = tuple(bands)

    def first(self, resumed: bool) -> RowBand | LaterBand:
        """Return the first portion of a run, which may go on from a checkpoint."""
        return LaterBand(self.bands[0]) if resumed else RowBand(self.bands[0])

    def after(self, portion: BandPortion) -> LaterBand:
        """Return the band after another, which is not the last."""
        number = portion.number + 1
        return LaterBand(self.bands[number], number)
