"""START HERE: the service, as every rank runs it.

Rank 0 takes requests from its Flight server's threads, one after the other, and wakes
the other ranks for each. All ranks execute it together, as they would in a run, and
sleep until the next. Queries need rank 0 alone, and its threads answer them meanwhile.
"""

import contextlib
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from ..comm.communicator import Comm
from ..host.errors import MndmstError, StoppedError
from ..host.memory import give_back_freed
from ..host.progress import Progress
from ..host.signals import stop_signals
from ..io.atomic_output import whole_file
from ..io.endings import ADDRESS
from ..io.replacing import json_mark
from ..run.compile import compile_kernels
from ..run.config import Config
from .access import Access
from .executor import Executor, FatalError
from .front_server import FrontServer
from .held import HeldGraph
from .jobs import Job, Jobs
from .journal import Found as Start
from .journal import Journal
from .protocol import to_bytes
from .rank_server import RankServer
from .uploads import Uploads
from .wake import Wake

REPLAYS_TOLD = 1000


class Setting(NamedTuple):
    """What is served, and how.

    Attributes
    ----------
    graphs : mapping of Path
        Where the graphs are, by the names that clients know.
    access : Access
        Its token and keys are the same on all ranks.
    token_file : Path or None
        Where the token is; rank 0 says so.
    address_file : Path or None
        Gets the address, as JSON, once the service listens.
    quiet : bool
        No line for each request.
    journal : Path or None
        Keeps all batches of changes, for a service to come.
    attached : bool
        End once the standard input of rank 0 does.
    overwrite : bool
        Replace any ordinary file by that of the address.
    """

    graphs: Mapping[str, Path]
    access: Access
    token_file: Path | None = None
    address_file: Path | None = None
    quiet: bool = False
    journal: Path | None = None
    attached: bool = False
    overwrite: bool = False


def serve(comm: Comm, setting: Setting, config: Config, progress: Progress) -> None:
    """Read graphs, and answer requests until one of them ends it. Collective.

    Raises
    ------
    MndmstError
        On every rank, if a graph cannot be read, or nobody can listen.
    StoppedError
        On every rank, after a signal to stop; everything asked for has been answered.
    """
    compile_kernels(comm, "service", None, progress.say)
    jobs, told = Jobs(), (config, progress)
    executor = Executor(comm, {}, Uploads(config.memory))
    for name, path in setting.graphs.items():
        graph = _loaded(comm, name, path, setting.journal, told)
        executor.graphs[name] = graph
        _replay(executor, graph, progress)
    give_back_freed()
    wake = Wake.of(comm)
    with _server(comm, setting, executor, jobs) as server:
        places = comm.gather(setting.access.reachable(comm.rank, server.port))
        if isinstance(server, FrontServer):
            server.places = list(places or [])
            _announce(setting, server.places[0], progress)
            if setting.attached:
                Thread(target=_wait_for_end, args=(jobs.close,), daemon=True).start()
            wake.listen_for_stop(jobs.close)
            stop_signals.listen(jobs.close)
            _lead(executor, jobs, wake)
        else:
            stop_signals.listen(wake.ask_to_stop)
            _follow(executor, wake)
    number = comm.max(stop_signals.received)
    stop_signals.finish()  # the launcher may send more of them
    if number:
        error = StoppedError(
            f"stopped by {stop_signals.name(number)}; all requests were answered"
        )
        error.ranks = comm.size
        raise error


def _loaded(
    comm: Comm,
    name: str,
    path: Path,
    folder: Path | None,
    told: tuple[Config, Progress],
) -> HeldGraph:
    """Read a graph, or the newest snapshot of it, and find its journal. Collective."""
    journal, found = None, Start(path, 0)
    with comm.raise_on_all():
        if comm.rank == 0 and folder is not None:
            journal = Journal(folder / name)
            found = journal.begin(path)
    found = comm.bcast(found)
    graph = HeldGraph.load(comm, name, found.path, *told, version=found.version)
    weights = graph.resident.run.graph.weight_dtype
    compile_kernels(comm, "update", weights, told[1].say)
    graph.journal, graph.journaled = journal, folder is not None
    return graph


def _replay(executor: Executor, graph: HeldGraph, progress: Progress) -> None:
    """Make the changes in the journal of a graph. Collective."""
    comm, batches = executor.comm, None
    with comm.raise_on_all():
        if graph.journal is not None:
            uuid = graph.resident.run.graph.uuid
            batches = graph.journal.open(graph.version, uuid)
    while True:
        with comm.raise_on_all():
            batch = next(batches, None) if batches is not None else None
        if not comm.bcast(batch is not None):
            return
        if graph.version % REPLAYS_TOLD == 0:
            progress.stage(f"journal of {graph.name}: version {graph.version}")
        executor.make(graph, batch)


@contextlib.contextmanager
def _server(comm: Comm, setting: Setting, executor: Executor, jobs: Jobs):  # type: ignore[no-untyped-def]
    """Listen on every rank; end the listening after the block."""
    servers: list[RankServer] = []
    with comm.raise_on_all():
        if comm.rank == 0:
            access = setting.access
            servers.append(FrontServer(access, executor, jobs, setting.quiet))
        else:
            servers.append(RankServer(setting.access, executor, lambda *_: None))
    try:
        yield servers[0]
    finally:
        servers[0].shutdown()
        if setting.access.path is not None:
            setting.access.socket_of(comm.rank).unlink(missing_ok=True)


def _wait_for_end(stop: Callable[[], object]) -> None:
    """Call a function once nobody holds the other end of standard input."""
    while sys.stdin.buffer.read(1 << 16):
        pass
    stop()


def _announce(setting: Setting, place: str, progress: Progress) -> None:
    """Say where the service can be reached."""
    where = {
        "url": place,
        "token_file": str(setting.token_file.resolve()) if setting.token_file else None,
        "host": socket.gethostname(),
    }
    if setting.address_file is not None:
        with whole_file(setting.address_file, ADDRESS, setting.overwrite) as file:
            file.write_bytes(to_bytes(json_mark(ADDRESS) | where) + b"\n")
    print(f"SERVING url={place} token-file={where['token_file']}", flush=True)
    progress.say(f"serving {', '.join(setting.graphs)}")


def _lead(executor: Executor, jobs: Jobs, wake: Wake) -> None:
    """Execute the jobs on rank 0, and wake the others for each."""
    while True:
        job = jobs.next()
        wake.send(job.fields)
        if job.fields["action"] == "shutdown":
            job.end({"ended": True})
            return
        try:
            answer = _attempt(executor, job.fields, job)
        except BaseException:
            job.end(FatalError("the service has failed; its output says why"))
            raise
        jobs.forget(job)
        job.end(answer)


def _follow(executor: Executor, wake: Wake) -> None:
    """Execute the jobs that rank 0 sends."""
    while True:
        fields = wake.receive()
        if fields is None or fields["action"] == "shutdown":
            return
        _attempt(executor, fields, None)


def _attempt(
    executor: Executor, fields: dict[str, Any], job: Job | None
) -> dict[str, Any] | MndmstError:
    """Return what comes of a job, or the error that all ranks have raised.

    An error of this rank alone ends the service: the others wait for it.
    """
    try:
        return executor.execute(fields, job)
    except FatalError as error:
        error.ranks = executor.comm.size
        raise
    except MndmstError as error:
        if error.ranks < executor.comm.size:
            raise
        return error
