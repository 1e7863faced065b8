"""What a benchmark has measured."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from .contender import Answer, Contender
from .floor import Floor


@dataclass
class Measurement:
    """How one contender has done.

    Attributes
    ----------
    contender : str
    times : list of float
        Milliseconds of every turn.
    answer : Answer
    agrees : bool
        Whether its answer was ours, every time.
    extra_bytes : int or None
        Peak memory beyond the rows, where it was measured.
    floor : float or None
        The floor (`floor.Floor.ms`) of the same number of threads, as a share of `ms`.
    relative : dict
        `ms` as a multiple of other times: of one thread, of the same graph with its
        given weights, of the first type of weights.
    """

    contender: str
    times: list[float]
    answer: Answer
    agrees: bool
    extra_bytes: int | None = None
    floor: float | None = None
    relative: dict[str, float] = field(default_factory=dict)

    @property
    def ms(self) -> float:
        """The median of the times."""
        return median(self.times)

    def compare(self, what: str, ms: float | None) -> None:
        """Note the time as a multiple of another, if there is one."""
        if ms is not None:
            self.relative[what] = self.ms / ms


@dataclass
class Case:
    """A graph with some weights, the floors of the machine, and all results.

    `load` is the machine's when all was done, over a minute; it is about 1 to 2 where
    no other program works.
    """

    graph: str
    order: str
    weights: str
    num_vertices: int
    num_edges: int
    load: float
    floors: list[Floor]
    results: list[Measurement]

    def ms(self, contender: str) -> float | None:
        """Return the time of a contender, or None if it did not take part."""
        return next((r.ms for r in self.results if r.contender == contender), None)

    def faster(self, result: Measurement) -> float | None:
        """Return how many times as fast as SciPy on the upper triangle it was."""
        scipy = self.ms("scipy")
        return None if scipy is None else scipy / result.ms

    def medges(self, result: Measurement) -> float:
        """Return million undirected edges a second."""
        return self.num_edges / (1e3 * result.ms)

    def speedup(self, result: Measurement) -> float | None:
        """Return how many times as fast as one thread threads of ours were."""
        one = self.ms("1 thread")
        ours = result.contender.partition(" ")[2] in ("thread", "threads")
        return one / result.ms if ours and one is not None else None

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        record = asdict(self)
        for result, entry in zip(self.results, record["results"], strict=True):
            entry |= {
                "answer": result.answer._asdict(),
                "ms": result.ms,
                "medges_per_second": self.medges(result),
                "times_as_fast_as_scipy": self.faster(result),
                "speed_up": self.speedup(result),
            }
        return record


def take_turns(contenders: Sequence[Contender], repeat: int) -> list[Measurement]:
    """Time contenders one after the other, several times, and compare answers.

    Parameters
    ----------
    contenders : sequence of Contender
        All have to agree with the first.
    repeat : int
        How many turns each has.
    """
    times: list[list[float]] = [[] for _ in contenders]
    answers: list[list[Answer]] = [[] for _ in contenders]
    for _ in range(repeat):
        for place, contender in enumerate(contenders):
            ms, forest = contender.timed()
            times[place].append(ms)
            answers[place].append(contender.answer(forest))
            del forest
    ours = answers[0][0]
    return [
        Measurement(
            contender.name,
            times[place],
            next((a for a in answers[place] if not ours.agrees(a)), answers[place][0]),
            all(map(ours.agrees, answers[place])),
        )
        for place, contender in enumerate(contenders)
    ]
