"""Hosts first: ranks of a host contract as a team, where edges have no locality."""

from contextlib import suppress
from typing import Any, NamedTuple

from ..comm.hosts import Hosts
from ..graph.model import EdgeList
from ..host.errors import ConfigError
from ..kernels.hooks import NUMBER
from ..run.run import Run
from ..steps.bands import giant_component
from ..steps.heavier import Between
from .host_components import HostComponents
from .messages import Messages
from .strategy import Facts, NotSuitableError, Setting

# Bytes for each vertex of the graph that a rank may come to touch.
VERTEX_BYTES = 32
# The share of what the rows of a host take, on average, that it may be sent at a time:
# where all vertices hook, or edges.
SENT_SHARE, HOOK_BYTES = 0.125, 4


class Heavier(NamedTuple):
    """All edges above a key that leave the giant component."""

    giant: int
    above: int


class Shared(NamedTuple):
    """Edges of this rank whose ends are numbered components.

    Attributes
    ----------
    edges : EdgeList
    after : str
        The step that has left them.
    last : bool
        Whether no other edges follow.
    """

    edges: EdgeList
    after: str
    last: bool


class HostsFirst(Messages):
    """Every host knows the component of every vertex, and its ranks are one team.

    If the lightest band leaves no giant component, or hosts would have to send each
    other too many edges, what is left merges by messages.
    """

    name = "hosts"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.width = 1.0
        run = self.run
        hosts = Hosts(run.comm, each_rank=run.config.merge == "messages")
        rows = run.comm.sum(sum(worker.rows.nbytes for worker in run.workers))
        self._room = int(SENT_SHARE * rows / hosts.count)
        sent = HOOK_BYTES * run.num_vertices if hosts.count > 1 else 0
        room = run.budget.has(VERTEX_BYTES * run.num_vertices)
        if sent > self._room or not run.comm.min(int(room)):
            hosts.free()
            raise NotSuitableError(
                "a list of all vertices is too large to be sent, or for a rank"
            )
        # None as soon as only the directory knows the components.
        self._components: HostComponents | None = _on(run, hosts)

    @staticmethod
    def refuses(merge: str, facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if merge in ("ring", "boruvka"):
            return f"--merge {merge} was asked for"
        if facts.ranks == 1:
            return "there is one rank"
        if facts.has_locality:
            return f"only {facts.cut_share:.0%} of the edges lead to other ranks"
        if facts.num_vertices > int(NUMBER):
            return f"there are more than {int(NUMBER):,} vertices"
        if facts.resumed or facts.own_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def _giant(self, number: int) -> int | None:
        if self._components is None:
            return super()._giant(number)
        with self.run.report.stage("resolve"):
            giant = giant_component(self.run, self._components.owned)
        if giant is None:
            self._publish(self._components)
            self._forget(self._components)
        return giant

    def _heavier(self, number: int, giant: int, above: int) -> Any:
        if self._components is None:
            return super()._heavier(number, giant, above)
        return Heavier(giant, above)

    def ind_comp(self, edges: Any) -> Any:
        """Hook every vertex, or walk the rows outside the giant component."""
        if self._components is None or isinstance(edges, Between):
            return super().ind_comp(edges)
        if isinstance(edges, Heavier):
            with self.run.report.stage("heavier"):
                return Shared(self._components.leaving(*edges), "heavier", True)
        with self.run.report.stage("hook"):
            left = self._components.hook_rows(edges)
        return Shared(left, "hook", edges.high is None)

    def merge_parts(self, left: Any) -> Any:
        """Merge along the edges: inside each host, then between hosts."""
        if self._components is None or not isinstance(left, Shared):
            return super().merge_parts(left)
        with self.run.report.stage("hosts"):
            rest = self._components.join(left.edges, left.after, self._room)
        if rest is None:
            return left
        self._forget(self._components)
        return super().merge_parts(Between(rest, with_owners=False))

    def post_process(self, left: Any) -> None:
        """Tell the directory the components, if they are the last ones or are saved."""
        if self._components is None or not isinstance(left, Shared):
            super().post_process(left)
            return
        if left.last or self.run.save is not None:
            self._publish(self._components)
        if left.last:
            self._forget(self._components)

    def give_up(self) -> None:
        """Free the communicators of the hosts."""
        if self._components is not None:
            self._forget(self._components)

    def _forget(self, components: HostComponents) -> None:
        components.hosts.free()
        self._components = None

    def _publish(self, components: HostComponents) -> None:
        with self.run.report.stage("publish"):
            components.publish()
        self.run.safe_point()


def _on(run: Run, hosts: Hosts) -> HostComponents:
    """Return the components that every host knows. Collective.

    Raises
    ------
    NotSuitableError
        On every rank, if the ranks of a host get no memory to share.
    """
    components = None
    with suppress(ConfigError):  # on all ranks of the host
        components = HostComponents(run, hosts)
    if not run.comm.min(int(components is not None)):
        hosts.free()
        raise NotSuitableError("a host has no room for shared arrays")
    assert components is not None
    return components
