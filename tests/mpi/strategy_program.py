"""Solve a graph by watched strategies; rank 0 prints what was seen on all, as JSON.

Arguments: a graph, and a list, as JSON, of pairs: a strategy, and what happens to it.
For `messages` that is a way (`ways.py`): calls of an exception condition of one's own
are counted. For `hosts` it is a way, too, and the edges that hosts join are noted. For
`devices` it is the step at which the last rank's device fails: `peer`, `publish`,
`merge` or `receive`; the first rank's device does `merge`.
"""

import json
import sys
from unittest.mock import patch

from host_peer import HostPeer
from ways import taking

from mndmst.backends.cpu.backend import CpuBackend
from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.io.results.digest_and_total import forest_digest
from mndmst.pipeline import Targets, contract, solve
from mndmst.solver.contract import lightest_cut_edge
from mndmst.solver.merging.hosts import HostComponents
from mndmst.solver.part_graph import part_graph
from mndmst.solver.run_report import Report
from mndmst.solver.write import smallest_vertices

comm = world()
path, cases = sys.argv[1], json.loads(sys.argv[2])


def count_calls(way):
    """Return who called an exception condition, and with how many whole graphs."""
    seen = []

    def exception(backend, graph):
        seen.append(graph.complete)
        return lightest_cut_edge(backend, graph)

    with taking(way) as config:
        run = part_graph(comm, path, config, Report(comm, Progress(False)))
        contract(run, exception=exception)
    joined = comm.sum(sum(len(edges) for edges in run.state.forest_edges))
    return {
        "strategy": run.report.facts["strategy"],
        "forest_edges": joined,
        "labels": forest_digest(comm, smallest_vertices(run.directory)),
        "calls": comm.allgather(len(seen)).tolist(),
        "complete": comm.sum(sum(seen)),
    }


def fail_at(step):
    """Return the forest of ranks of which one's device fails at a step."""
    fails = comm.rank == (0 if step == "merge" else comm.size - 1)
    passed = []

    class Failing(HostPeer):
        """Fails on one rank; notes its steps."""

    def method(name):
        done = getattr(HostPeer, name)

        def call(self, *given):
            passed.append(name)
            return None if fails and name == step else done(self, *given)

        return call

    for name in ("publish", "merge", "receive"):
        setattr(Failing, name, method(name))

    def peer(*given):
        return None if fails and step == "peer" else Failing(*given)

    with patch.object(CpuBackend, "peer", peer), taking({"merge": "devices"}) as config:
        found = solve(comm, path, config, Targets(), Progress(False))
    report = found.report or {"ranks": [{"strategy": None}]}
    return {
        "strategy": report["ranks"][0]["strategy"],
        "digest": found.digest,
        "passed": comm.gather(passed),
    }


def merge_hosts(way):
    """Return the forest of ranks on several hosts, and which steps left a graph."""
    merge, steps = HostComponents.merge, []

    def note_merge(self, edges, after, capacity):
        graph = merge(self, edges, after, capacity)
        steps.append([after, self.hosts.count, self.hosts.here.size, graph is not None])
        return graph

    with patch.object(HostComponents, "merge", note_merge), taking(way) as config:
        found = solve(comm, path, config, Targets(), Progress(False))
    report = found.report or {"ranks": [{"strategy": None}]}
    return {
        "strategy": report["ranks"][0]["strategy"],
        "digest": found.digest,
        "merged": steps,
    }


WATCHES = {"messages": count_calls, "hosts": merge_hosts, "devices": fail_at}
found = [WATCHES[strategy](event) for strategy, event in cases]
if comm.rank == 0:
    print(json.dumps(found))
