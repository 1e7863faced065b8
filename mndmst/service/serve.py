"""START HERE: the service, as every rank runs it.

Rank 0 takes jobs from its Flight server's threads, one after the other, and wakes the
other ranks for each. The main threads of all ranks execute it together, as they would
in a run, and sleep until the next. They alone communicate by MPI. The threads of the
Flight servers read versions of graphs, which never change, and answer queries and
stream tables meanwhile.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..comm.communicator import Comm
from ..comm.watchdog import end_job
from ..host.errors import (
    InputError,
    MndmstError,
    StoppedError,
    points_required,
)
from ..host.formatting import counted
from ..host.memory import give_back_freed
from ..host.progress import Progress
from ..host.signals import stop_signals
from ..io.shards.sharded_graph import open_graph
from ..solver.config import Config
from ..solver.startup import compile_kernels
from .access import Access
from .address_file import published_address, remove_left_over
from .control_channel import ControlChannel
from .executor import Executor
from .front_server import FrontServer
from .http_server import HttpServer, HttpSetting
from .jobs import FatalError, JobQueue, QueuedJob
from .journal import Changes, Journal, JournalStart, loaded_journals
from .limits import ClientLimits, ServiceMemory
from .metrics import RequestLog, TokenRefusals
from .protocol import Request, ServiceAnswer
from .rank_server import RankServer
from .served_graph import GRAPH_JOURNAL, ServedGraph
from .served_versions import MadeVersion, ServedVersions
from .stall_watch import StallWatch
from .uploads import Uploads

if TYPE_CHECKING:
    from .live_points.first_points import PointSource

# Batches that are replayed between two lines of progress
REPORTED_REPLAYS = 1000
# Calls of clients may go on for this time once the service ends.
LAST_CALLS_SECONDS = 10.0
# A service whose client program has gone ends its jobs in this time, or is ended.
ATTACHED_SECONDS = 10.0


class Setting(NamedTuple):
    """The graphs to serve, and the way to serve them."""

    graphs: Mapping[str, Path]  # Where the graphs are, by the names that clients know
    access: Access  # Its token and keys are the same on all ranks
    token_file: Path | None = None  # Where the token is; rank 0 says so
    # Gets the address, as JSON, once the service listens.
    address_file: Path | None = None
    log: RequestLog = RequestLog()
    http: HttpSetting | None = None  # The address of the HTTP server; None without one
    journal: Path | None = None  # Keeps all batches of changes, for a service to come
    attached: bool = False  # End once the standard input of rank 0 does
    # For graphs by name, the last version of the journal to continue from.
    journal_until: Mapping[str, int] = MappingProxyType({})
    overwrite: bool = False  # Replace any ordinary file by that of the address
    limits: ClientLimits = ClientLimits()
    # Points to serve, by the names that clients know
    points: Mapping[str, "PointSource"] = MappingProxyType({})


def serve(comm: Comm, setting: Setting, config: Config, progress: Progress) -> None:
    """Read graphs, and answer requests until one of them ends it. Collective.

    Raises MndmstError on every rank if a graph cannot be read, or a rank cannot listen;
    StoppedError on every rank after a signal to stop; everything asked for has been
    answered.
    """
    with comm.raise_on_all():
        if comm.rank == 0 and setting.address_file is not None:
            remove_left_over(setting.address_file)
    compile_kernels(comm, "service", None, progress)
    jobs = JobQueue()
    uploads = Uploads(ServiceMemory(config.memory), setting.limits.upload_bytes)
    executor = Executor(comm, {}, uploads, setting.journal, config.threads)
    for name, path in setting.graphs.items():
        graph = _loaded(executor, name, path, setting, config, progress)
        executor.graphs[name] = graph
        _replay(graph, progress)
    _load_points(executor, setting, progress)
    give_back_freed()
    channel = ControlChannel.of(comm)
    with _server(comm, setting, executor, jobs, channel) as server:
        addresses = comm.gather(setting.access.reachable(comm.rank, server.port))
        if isinstance(server, FrontServer):
            server.addresses = list(addresses or [])
            with (
                _http_server(setting, server) as page,
                _announced(executor, setting, server.addresses[0], page, progress),
            ):
                _listen_for_ends(
                    executor, jobs, channel, setting.attached, config.timeout
                )
                _lead(executor, server, channel)
        else:
            stop_signals.listen(channel.ask_to_stop)
            if config.timeout:
                channel.report_activity(
                    executor.activity, executor.memory, config.timeout
                )
            _follow(executor, channel)
    number = comm.max(stop_signals.received)
    stop_signals.finish()  # the launcher may send more of them
    if number:
        error = StoppedError(
            f"stopped by {stop_signals.name(number)}; all requests were answered"
        )
        error.ranks = comm.size
        raise error


def _loaded(
    executor: Executor,
    name: str,
    path: Path,
    setting: Setting,
    config: Config,
    progress: Progress,
) -> ServedGraph:
    """Read a graph, or the newest snapshot of it, and find its journal. Collective."""
    comm, memory = executor.comm, executor.uploads.memory
    journal, start = None, JournalStart(path, 0)
    with comm.raise_on_all():
        if comm.rank == 0 and setting.journal is not None:
            until = setting.journal_until.get(name)
            journal = Journal(setting.journal / name, GRAPH_JOURNAL, until)
            start = journal.begin(path, open_graph(path, check=False).uuid)
    start = comm.bcast(start)
    graph = ServedGraph.load(
        comm, name, start.path, config, progress, memory, version=start.version
    )
    if graph.maximum:
        progress.say(f"{name}: maximum forests, because it was made with --maximum")
    weights = graph.loaded.run.graph.weight_dtype
    compile_kernels(comm, "update", weights, progress)
    graph.journal, graph.journaled = journal, setting.journal is not None
    return graph


def _load_points(executor: Executor, setting: Setting, progress: Progress) -> None:
    """Read all points, and make the changes in their journals. Collective."""
    comm = executor.comm
    origins: dict[str, str] = {}
    with comm.raise_on_all():
        if comm.rank == 0 and setting.journal is not None:
            origins = loaded_journals(setting.journal)
    given = {*setting.graphs, *setting.points}
    origins = {n: o for n, o in comm.bcast(origins).items() if n not in given}
    if not (setting.points or origins):
        return
    # Imported here: a service of graphs does without `points`
    with points_required("points in the service need"):
        from .live_points.first_points import points_of_file, points_of_journal
        from .live_points.served_points import ServedPoints
        from .live_points.shared_search import SharedSearch

    search = SharedSearch(comm, executor.uploads.memory, executor.threads)
    for name in (*setting.points, *origins):
        until = setting.journal_until.get(name)
        if name in origins:
            assert setting.journal is not None
            begin = partial(
                points_of_journal, setting.journal / name, origins[name], until, search
            )
        else:
            begin = partial(
                points_of_file, name, setting.points[name], setting.journal, until,
                search, progress,
            )  # fmt: skip
        served = ServedPoints.first(search, name, begin)
        executor.add_points(served)
        _replay(served, progress)


def _replay(served: ServedVersions[Changes, MadeVersion], progress: Progress) -> None:
    """Make the changes in a journal. Collective."""
    comm, batches = served.comm, None
    with comm.raise_on_all():
        if served.journal is not None:
            batches = served.journal.open(served.version, served.uuid)
    first = served.version
    while True:
        with comm.raise_on_all():
            batch = next(batches, None) if batches is not None else None
        if not comm.bcast(batch is not None):
            break
        if served.version % REPORTED_REPLAYS == 0:
            progress.stage(f"journal of {served.name}: version {served.version}")
        try:
            served.replay(batch)
        except InputError as error:  # the batch does not fit
            if served.journal is not None:
                error.remedy = served.journal.recovery_advice(served.version + 1)
            raise
    if served.journaled:
        progress.say(
            f"journal of {served.name}: {counted(served.version - first, 'batch')} "
            f"replayed, version {served.version}"
        )


@contextlib.contextmanager
def _server(
    comm: Comm,
    setting: Setting,
    executor: Executor,
    jobs: JobQueue,
    channel: ControlChannel,
) -> Iterator[RankServer]:
    """Listen on every rank; end the listening after the block.

    After an error no call of a client is waited for, because the other ranks end only
    once this rank has ended.
    """
    servers: list[RankServer] = []
    with comm.raise_on_all():
        access, most = setting.access, setting.limits.requests
        if comm.rank == 0:
            servers.append(
                FrontServer(access, executor, jobs, channel, setting.log, most)
            )
        else:
            refusals = TokenRefusals(partial(setting.log.write, waiting=0))
            servers.append(
                RankServer(access, executor, lambda *_: None, refusals, most)
            )
    patience = 0.0
    try:
        yield servers[0]
        patience = LAST_CALLS_SECONDS
    finally:
        ended_early = FatalError("the service has ended; its output says why")
        jobs.end(None if patience else ended_early)
        ended = servers[0].end(patience)
        servers[0].remove_socket()
        if patience and not ended:
            end_job("a call of a client does not end, and the service ends without it")


def _listen_for_ends(
    executor: Executor,
    jobs: JobQueue,
    channel: ControlChannel,
    attached: bool,
    timeout: int,
) -> None:
    """End the service on signals, lost client programs and stalls (rank 0)."""
    watch = StallWatch(executor.comm.size, timeout, end_job)

    def stop() -> None:
        watch.hurry()
        jobs.close()

    if attached:
        Thread(target=_wait_for_end, args=(stop,), daemon=True).start()
    channel.listen(stop, watch, executor.activity)
    stop_signals.listen(stop)


def _wait_for_end(stop: Callable[[], object]) -> None:
    """End the service once no process holds the other end of standard input.

    Then there is no client to wait for an answer, so a long job is not waited for.
    """
    while sys.stdin.buffer.read(1 << 16):
        pass
    stop()
    time.sleep(ATTACHED_SECONDS)
    end_job(
        f"the program that started the service has ended, and a job has not in "
        f"{ATTACHED_SECONDS:g} s"
    )


@contextlib.contextmanager
def _announced(
    executor: Executor,
    setting: Setting,
    url: str,
    page: str | None,
    progress: Progress,
) -> Iterator[None]:
    """Publish the address of the service while the block runs (rank 0)."""
    where = {
        "url": url,
        "token_file": str(setting.token_file.resolve()) if setting.token_file else None,
    }
    if page is not None:
        where["http"] = page
    with contextlib.ExitStack() as stack:
        if setting.address_file is not None:
            file = published_address(setting.address_file, where, setting.overwrite)
            stack.enter_context(file)
        print(f"SERVING url={url} token-file={where['token_file']}", flush=True)
        if page is not None:
            print(f"HTTP url={page}", flush=True)
        names = ", ".join([*executor.graphs, *executor.points])
        progress.say(f"serving {names or 'nothing yet: clients load points'}")
        yield


@contextlib.contextmanager
def _http_server(setting: Setting, server: FrontServer) -> Iterator[str | None]:
    """Run the HTTP server while the block runs, if there is one; give its URL."""
    if setting.http is None:
        yield None
        return
    http = HttpServer(setting.http, setting.access, server)
    try:
        yield http.url
    finally:
        http.close()


def _lead(executor: Executor, server: FrontServer, channel: ControlChannel) -> None:
    """Execute the jobs on rank 0, and wake the others for each."""
    while True:
        job = server.jobs.next()
        channel.send(job.fields)
        if job.fields["action"] == "shutdown":
            return
        try:
            answer = _attempt(executor, job.fields, job)
        except BaseException:
            job.end(FatalError("the service has failed; its output says why"))
            raise
        server.jobs.forget(job)
        job.end(answer)
        for stage, seconds in job.stage_seconds:
            server.metrics.add_stage(stage, seconds)


def _follow(executor: Executor, channel: ControlChannel) -> None:
    """Execute the jobs that rank 0 sends."""
    while True:
        fields = channel.receive()
        if fields["action"] == "shutdown":
            return
        _attempt(executor, fields, None)


def _attempt(
    executor: Executor, fields: Request, job: QueuedJob | None
) -> ServiceAnswer | MndmstError:
    """Return the result of a job, or the error that all ranks have raised.

    An error of this rank alone ends the service: the others wait for it.
    """
    executor.busy = True
    try:
        return executor.execute(fields, job)
    except FatalError as error:
        error.ranks = executor.comm.size
        raise
    except MndmstError as error:
        if error.ranks < executor.comm.size:
            raise
        return error
    finally:
        executor.busy = False
