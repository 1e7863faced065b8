"""A service of one rank in this process, for the targets that send it requests."""

from pathlib import Path
from threading import Thread

from mndmst.__main__ import main
from mndmst.comm.world import world
from mndmst.host.progress import Progress
from mndmst.service.access import Access
from mndmst.service.control_channel import ControlChannel
from mndmst.service.executor import Executor
from mndmst.service.front_server import FrontServer
from mndmst.service.jobs import JobQueue
from mndmst.service.limits import ServiceMemory
from mndmst.service.metrics import RequestLog
from mndmst.service.serve import _lead
from mndmst.service.served_graph import ServedGraph
from mndmst.service.uploads import Uploads
from mndmst.solver.config import Config

GRAPH = "city"
TOKEN = "secret"
MEMORY = 1 << 30
EDGES = "source,target,weight\na,b,5\nb,c,3\nc,d,4\nd,a,9\ne,f,1\n"


def start_service() -> tuple[FrontServer, Access]:
    """Serve a small graph with names; a thread executes the jobs."""
    Path("city.csv").write_text(EDGES)
    assert main(["partition", "city.csv", GRAPH, "-q"]) == 0
    comm, jobs, access = world(), JobQueue(), Access(token=TOKEN)
    executor = Executor(comm, {}, Uploads(ServiceMemory(MEMORY)))
    executor.graphs[GRAPH] = ServedGraph.load(
        comm, GRAPH, Path(GRAPH), Config(backend="cpu"), Progress(active=False),
        executor.uploads.memory,
    )  # fmt: skip
    channel = ControlChannel.of(comm)
    log = RequestLog(quiet=True)
    server = FrontServer(access, executor, jobs, channel, log, 0)
    server.addresses = [access.reachable(0, server.port)]
    Thread(target=_lead, args=(executor, server, channel), daemon=True).start()
    return server, access
