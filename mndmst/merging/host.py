"""Ranks of one host merge on arrays they share, where edges have no locality."""

from typing import Any, NamedTuple

from ..backends.base import Band
from ..graph.model import EdgeList, ReducedGraph
from ..kernels.hooks import NUMBER
from ..steps.heavier import giant_component
from .messages import Messages
from .shared import SharedComponents
from .strategy import Facts, NotSuitableError, Setting


class Heavier(NamedTuple):
    """All edges above a key that leave the giant component."""

    giant: int
    above: int


class Shared(NamedTuple):
    """Edges of this rank whose ends are in the arrays that all ranks share.

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


class SharedMemory(Messages):
    """Ranks of one host merge on shared arrays.

    If the lightest band leaves no giant component, later bands merge by messages.
    """

    name = "shared memory"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.width = 1.0
        shared = SharedComponents.of(self.run)
        if shared is None:
            raise NotSuitableError("the host has no room for shared arrays")
        self.shared = shared

    @staticmethod
    def refuses(merge: str, facts: Facts) -> str | None:
        """See `Strategy.refuses`."""
        if merge not in ("auto", "devices"):
            return f"--merge {merge} was asked for"
        if facts.ranks == 1:
            return "there is one rank"
        if not facts.one_host:
            return "the ranks are on several hosts"
        if facts.has_locality:
            return f"only {facts.cut_share:.0%} of the edges lead to other ranks"
        if facts.num_vertices > int(NUMBER):
            return f"there are more than {int(NUMBER):,} vertices"
        if facts.resumed or facts.own_exception:
            return "the run resumes, or has an exception condition of its own"
        return None

    def _giant(self, number: int) -> int | None:
        if number > 0:
            return super()._giant(number)
        with self.run.report.stage("resolve"):
            giant = giant_component(self.run, self.shared.owned)
        if giant is None:
            self._publish()
        return giant

    def _heavier(self, number: int, giant: int, above: int) -> Any:
        return (
            Heavier(giant, above)
            if number == 0
            else super()._heavier(number, giant, above)
        )

    def ind_comp(self, edges: Any) -> Any:
        """Hook every vertex, or walk the rows outside the giant component."""
        if isinstance(edges, Band):
            with self.run.report.stage("hook"):
                left = self.shared.hook_rows(edges)
            return Shared(left, "hook", edges.high is None)
        if isinstance(edges, Heavier):
            with self.run.report.stage("heavier"):
                return Shared(self.shared.leaving(*edges), "heavier", True)
        return super().ind_comp(edges)

    def merge_parts(self, left: Any) -> Any:
        """Merge along the edges, all ranks at once."""
        if not isinstance(left, Shared):
            return super().merge_parts(left)
        with self.run.report.stage("shared rounds"):
            self.shared.join(left.edges, left.after)
        return left

    def post_process(self, left: Shared | ReducedGraph) -> None:
        """Tell the directory the components, if they are the last ones or are saved."""
        if not isinstance(left, Shared):
            super().post_process(left)
        elif left.last or self.run.save is not None:
            self._publish()

    def _publish(self) -> None:
        with self.run.report.stage("publish"):
            self.shared.publish()
        self.run.safe_point()
