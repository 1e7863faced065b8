"""The program with a fault planted into its service: `planted_program.py FAULT serve …`

collective-behind-get   a table is made collectively by the thread that streams it
order-behind-get        the order of edges is made by the thread that streams it
missing-rank            `release` has rank 0 wait for ranks that do not take part
late-rank               `release` has rank 0 wait for ranks that compute for seconds
failing-rank            `release` fails on rank 1 with an error of Python
slow-job                `release` computes for a minute on every rank
no-room                 rank 1 has no memory for a second version

The forest that `release` gets names a folder: each rank that begins makes the file
`begun-RANK` there, and `failing-rank` waits for the file `go`.
"""

import sys
import time
from pathlib import Path

from mndmst.__main__ import main
from mndmst.host.memory import Budget
from mndmst.service import rank_server
from mndmst.service.executor import Executor
from mndmst.service.rank_server import graph_batches
from mndmst.service.served_graph import ServedGraph

LATE_SECONDS, SLOW_SECONDS = 6.0, 60.0


def collective_batches(version, graph):
    version.order.comm.barrier()
    yield from graph_batches(version, graph)


def order_share(self, request):
    graph = self.executor.graphs[request["graph"]]
    graph.loaded.order_of(graph.current.weighed)
    yield from rank_server_share(self, request)


def begin(self, fields):
    folder = Path(fields["forest"])
    (folder / f"begun-{self.comm.rank}").touch()
    return folder


def missing_rank(self, fields, job):
    begin(self, fields)
    if self.comm.rank == 0:
        self.comm.barrier()
    return {"released": False}


def late_rank(self, fields, job):
    begin(self, fields)
    if self.comm.rank:
        time.sleep(LATE_SECONDS)
    self.comm.barrier()
    return {"released": False}


def failing_rank(self, fields, job):
    folder = begin(self, fields)
    while not (folder / "go").exists():
        time.sleep(0.01)
    if self.comm.rank == 1:
        raise IndexError("planted")
    self.comm.barrier()
    return {"released": False}


def slow_job(self, fields, job):
    begin(self, fields)
    time.sleep(SLOW_SECONDS)
    return {"released": False}


def make_no_room(self):
    if self.loaded.comm.rank == 1:
        Budget.has = lambda budget, nbytes: False
    make_room(self)


make_room = ServedGraph._make_room
rank_server_share = rank_server.RankServer.share
fault, *words = sys.argv[1:]
if fault == "collective-behind-get":
    rank_server.graph_batches = collective_batches
elif fault == "order-behind-get":
    rank_server.RankServer.share = order_share
elif fault == "no-room":
    ServedGraph._make_room = make_no_room
else:
    releases = {
        "missing-rank": missing_rank,
        "late-rank": late_rank,
        "failing-rank": failing_rank,
        "slow-job": slow_job,
    }
    Executor._release = releases[fault]
sys.exit(main(words))
