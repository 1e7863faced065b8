"""Ranks of a host contract as one team, where edges have no locality."""

from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from ..comm.hosts import Hosts
from ..graph.model import EdgeList
from ..host.errors import ConfigError
from ..kernels.hooks import NUMBER
from ..run.run import Run
from ..steps.bands import bands, giant_component
from ..steps.heavier import CrossEdges
from .host_components import HostComponents
from .messages import MergeByMessages, MergeStart
from .portions import BandSequence, HeavyEdges, Remainder, RowBand
from .strategy import Facts, HyPar, NotSuitableError, Strategy, StrategySetting

# Bytes for each vertex of the graph that a rank may come to touch.
VERTEX_BYTES = 32
# The largest share of the average host's rows that the hosts may send it at a time:
# where all vertices hook, or edges.
SENT_SHARE, HOOK_BYTES = 0.125, 4

HostPortion = RowBand | HeavyEdges


@dataclass(frozen=True)
class HostEdges:
    """This rank's edges of a portion; their ends are numbered components."""

    edges: EdgeList
    portion: HostPortion

    @property
    def step(self) -> str:
        """The step that has left the edges, as the report calls it."""
        return "hook" if isinstance(self.portion, RowBand) else "heavier"

    @property
    def last(self) -> bool:
        """Whether no further portion follows."""
        portion = self.portion
        return isinstance(portion, HeavyEdges) or portion.band.high is None


class MergeOnHosts(HyPar[HostPortion, HostEdges, HostEdges]):
    """Every host keeps the component of every vertex, and its ranks are one team.

    If the lightest band leaves no giant component, or hosts would have to send each
    other too many edges, the ranks go on by messages.
    """

    name = "hosts"
    # Whether every rank counts as a host of its own.
    each_rank: ClassVar[bool] = False

    def __init__(self, setting: StrategySetting) -> None:
        super().__init__(setting)
        run = self.run
        hosts = Hosts(run.comm, each_rank=self.each_rank)
        rows = run.comm.sum(sum(worker.rows.nbytes for worker in run.workers))
        self._capacity = int(SENT_SHARE * rows / hosts.count)
        sent = HOOK_BYTES * run.num_vertices if hosts.count > 1 else 0
        fits = run.budget.has(VERTEX_BYTES * run.num_vertices)
        if sent > self._capacity or not run.comm.min(int(fits)):
            hosts.free()
            raise NotSuitableError(
                "a list of all vertices is too large to be sent, or for a rank"
            )
        self._components = _components_on(run, hosts)
        self._setting = setting
        self._sequence = BandSequence(bands(run, run.config.light_edges))

    @staticmethod
    def refuses(facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if facts.ranks == 1:
            return "there is one rank"
        if facts.has_locality:
            return f"only {facts.cut_share:.0%} of the edges lead to other ranks"
        if facts.num_vertices > int(NUMBER):
            return f"there are more than {int(NUMBER):,} vertices"
        if facts.resumed or facts.own_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def first_portion(self) -> HostPortion:
        """See `HyPar.first_portion`."""
        return RowBand(self._sequence.bands[0])

    def next_portion(
        self, portion: HostPortion, left: HostEdges
    ) -> HostPortion | Strategy | None:
        """Return the edges that leave the giant component, if there is one."""
        if isinstance(portion, HeavyEdges) or left.last:
            return None
        with self.run.report.stage("resolve"):
            giant = giant_component(self.run, self._components.owned)
        if giant is not None:
            return HeavyEdges(giant, portion.band)
        self._publish()
        start = MergeStart(self._sequence, self._sequence.after(portion))
        return MergeByMessages(self._setting, start)

    def ind_comp(self, portion: HostPortion) -> HostEdges:
        """Hook every vertex, or walk the rows outside the giant component."""
        if isinstance(portion, HeavyEdges):
            with self.run.report.stage("heavier"):
                left = self._components.leaving(portion.giant, portion.above)
        else:
            with self.run.report.stage("hook"):
                left = self._components.hook_rows(portion.band)
        return HostEdges(left, portion)

    def merge_parts(self, left: HostEdges) -> HostEdges | Strategy:
        """Merge along the edges: inside each host, then between hosts."""
        with self.run.report.stage("hosts"):
            rest = self._components.join(left.edges, left.step, self._capacity)
        if rest is None:
            return left
        remainder = Remainder(CrossEdges(rest, with_owners=False), left.portion)
        return MergeByMessages(self._setting, MergeStart(self._sequence, remainder))

    def post_process(self, rest: HostEdges) -> None:
        """Write the components to the directory, if they are final or are saved."""
        if rest.last or self.run.save is not None:
            self._publish()

    def give_up(self) -> None:
        """Free the communicators of the hosts."""
        self._components.hosts.free()

    def _publish(self) -> None:
        with self.run.report.stage("publish"):
            self._components.publish()
        self.run.safe_point()


class ReplicateComponents(MergeOnHosts):
    """Every rank keeps the component of every vertex; no memory is shared."""

    name = "replicated"
    each_rank = True


def _components_on(run: Run, hosts: Hosts) -> HostComponents:
    """Return the components that every host keeps. Collective.

    Raises
    ------
    NotSuitableError
        On every rank, if the ranks of a host get no memory to share.
    """
    components = None
    with suppress(ConfigError):  # on all ranks of the host
        components = HostComponents(run, hosts)
    if not run.comm.min(int(components is not None)) or components is None:
        hosts.free()
        raise NotSuitableError("a host has no room for shared arrays")
    return components
