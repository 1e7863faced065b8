"""Forests and clusters by this package and by others, each in its own process.

In memory every program begins with the same arrays of edges or points. It converts them
into its own structure, which is timed apart, and computes the forest, the tree or the
clusters in several turns. From file to file the command `solve` runs from launch to
end. A program that fails or exceeds a limit gets a sentence in place of times, and the
others go on.
"""

import getpass
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from ..host import __version__
from ..host.cores import core_count, processor_name
from ..host.formatting import counted, option_size, size_text
from ..host.launcher import child_environment, find_mpirun
from ..host.memory import FREE_MEMORY, machine_bytes
from ..host.progress import Progress
from ..io.edge_file import MOST_EXACT
from ..io.formats.graph_files import read_numbered
from ..io.shards.sharded_graph import open_graph
from ..solver.run_report import provenance
from . import peer_process
from .peers import ANSWERS, Answer, Clusters, installed, of_packages
from .record import Record

OURS = "mndmst"
# Quoted texts and words that have a slash
_PATH = re.compile(r"(['\"])[^'\"]*/[^'\"]*\1|[^\s'\":,;()]*/[^\s'\":,;()]*")
_BUILDER = re.compile(r", package: [^,]*")  # of Open MPI: a user and a host


class ContestPlan(NamedTuple):
    """The turns of every program, and its limits."""

    turns: int
    seconds: float  # in all turns and the conversion
    memory: int  # bytes
    # Whether the user has set the limit of memory, so that `solve` gets it too
    memory_given: bool = False
    threads: int | None = None  # of our program; None for all cores
    ranks: int = 1  # that solve from file to file, besides one rank


@dataclass(frozen=True)
class Result:
    """The times of one program, and its answer."""

    program: str
    version: str
    build: float | None  # seconds of the conversion; None if there is none
    turns: tuple[float, ...]  # seconds
    # The answer; ours also without edges that peers omit, by `Peer.omits`
    answers: dict[str, Answer | Clusters]
    failure: str = ""

    @property
    def seconds(self) -> float | None:
        """The median of the turns, None without any."""
        return median(self.turns) if self.turns else None

    @property
    def total(self) -> float | None:
        """The seconds of the conversion and of a turn."""
        return None if self.seconds is None else (self.build or 0.0) + self.seconds


class SizeOfGraph(NamedTuple):
    """The size of a graph, as columns of a table."""

    vertices: int
    edges: int
    weights: str

    def __str__(self) -> str:
        vertices, edges = counted(self.vertices, "vertex"), counted(self.edges, "edge")
        return f"{vertices}, {edges}, weights {self.weights}"


class SizeOfPoints(NamedTuple):
    """The size of an array of points, as columns of a table."""

    points: int
    dimensions: int

    def __str__(self) -> str:
        points = counted(self.points, "point")
        return f"{points}, {counted(self.dimensions, 'dimension')}"


@dataclass(frozen=True)
class Case:
    """A graph, or points, and the results of all programs, ours first."""

    name: str
    size: SizeOfGraph | SizeOfPoints
    notes: tuple[str, ...]
    results: tuple[Result, ...]

    @property
    def reference(self) -> dict[str, Answer | Clusters]:
        """The answers of our first result that has any."""
        ours = (r.answers for r in self.results if r.program.startswith(OURS))
        return next(filter(None, ours), {})

    def differs(self, result: Result) -> bool:
        """Return whether a result is another one than ours."""
        return any(
            omits in self.reference and not self.reference[omits].agrees(answer)
            for omits, answer in result.answers.items()
        )

    def times(self, result: Result) -> float | None:
        """Return a result's total as a multiple of that of our first result."""
        ours, theirs = self.results[0].total, result.total
        return None if ours is None or theirs is None else theirs / ours

    def verdict(self, result: Result) -> str:
        """Return a text: whether a result is the same as ours, or why it is missing."""
        if not result.answers:
            return result.failure
        answer = next(iter(result.answers.values()))
        found = answer.verdict if self.reference else "not compared"
        if self.differs(result):
            found = f"DIFFERS: {answer}"
        if not result.failure:
            return found
        return f"{found}; {counted(len(result.turns), 'turn')}, then: {result.failure}"


def notes_of(weight: np.ndarray, maximum: bool) -> tuple[str, ...]:
    """Return how packages treat the weights of a graph, where they differ."""
    low, high = (weight.min(), weight.max()) if len(weight) else (1, 1)
    notes = ["Each edge is once in the input: of parallel edges the lightest."]
    if maximum:
        notes = [
            "Each edge is once in the input: of parallel edges the heaviest. Maximum "
            "forests: other packages get the negated weights."
        ]
    if (weight == 0).any():
        notes.append(
            "SciPy leaves edges of weight 0 out of its forest: its edges are compared "
            "with ours of other weights."
        )
    if low < 0:
        notes.append("All programs take negative weights as they are.")
    if weight.dtype.kind == "f" and (low == -np.inf if maximum else high == np.inf):
        notes.append(
            "NetworKit's Prim leaves edges of infinite weight out of its forest: it is "
            "compared with ours of other weights."
        )
    if weight.dtype.kind != "f" and max(abs(int(low)), abs(int(high))) > MOST_EXACT:
        notes.append(
            "Weights exceed 2^53: other packages round them to float64, and totals are "
            "compared to nine digits."
        )
    return tuple(notes)


def compete(
    name: str,
    path: Path,
    conversion: float | None,
    plan: ContestPlan,
    folder: Path,
    progress: Progress,
) -> tuple[Case, Record]:
    """Return the results of all programs on a graph, and a report of `solve`.

    `conversion` is the seconds in which shards were made of the user's file, or None.
    `folder` is empty. Raises InputError if the graph is damaged; ConfigError if its
    edges do not fit the memory.
    """
    progress.stage(f"reading {name}")
    graph = open_graph(path)
    edges = read_numbered(graph, FREE_MEMORY)
    peer_process.save(edges, graph.maximum, folder)
    notes = notes_of(edges.weight, graph.maximum)
    num_edges = len(edges)
    del edges
    results = []
    for count in sorted({1, plan.threads or core_count()}, reverse=True):
        program = f"{OURS}, {counted(count, 'thread')}"
        progress.stage(f"timing {program}")
        results.append(in_memory(program, OURS, count, folder, plan))
    record: Record = {}
    for count in sorted({1, plan.ranks}):
        progress.stage(f"timing solve on {counted(count, 'rank')}")
        result, report = file_to_file(path, count, folder, plan)
        results.append(replace(result, build=conversion))
        record = report or record
    for peer in of_packages(installed()):
        progress.stage(f"timing {peer.name}")
        results.append(in_memory(peer.name, peer.package, 0, folder, plan))
    size = SizeOfGraph(graph.num_vertices, num_edges, graph.weight_dtype.name)
    return Case(name, size, notes, tuple(results)), record


def compete_on_points(
    task: str, plan: ContestPlan, folder: Path, progress: Progress
) -> Case:
    """Return the results of all programs on the generated points of a task.

    `folder` is empty.
    """
    from .point_peers import MIN_CLUSTER_SIZE, MIN_SAMPLES, POINT_TASKS, blobs

    size, programs = POINT_TASKS[task][:2], POINT_TASKS[task].peers
    peer_process.save_points(task, blobs(*size), folder)
    results = []
    for count in sorted({1, plan.threads or core_count()}, reverse=True):
        program = f"{OURS}, {counted(count, 'thread')}"
        progress.stage(f"timing {program}")
        results.append(in_memory(program, OURS, count, folder, plan))
    for peer in of_packages(installed(programs), programs):
        progress.stage(f"timing {peer.name}")
        results.append(in_memory(peer.name, peer.package, 0, folder, plan))
    note = (
        f"Distances are those of mutual reachability, with {MIN_SAMPLES} neighbours; "
        f"a cluster has at least {MIN_CLUSTER_SIZE} points. Equal distances leave "
        "packages a choice, so the points of noise may differ."
    )
    return Case(f"blobs, {task}", SizeOfPoints(*size), (note,), tuple(results))


def machine(reports: Iterable[Record]) -> dict[str, Any]:
    """Return the machine and the software of a contest, from its reports of `solve`."""
    facts = provenance() | {
        "processor": processor_name(),
        "cores": core_count(),
        "memory_bytes": machine_bytes(),
        "load": round(os.getloadavg()[0], 2),  # programs that run, over a minute
        "devices": [],
    }
    for record in filter(None, reports):
        used = {
            device for rank in record["ranks"] for device in rank.get("devices", ())
        }
        facts |= {"mpi": record["mpi"], "devices": sorted(used)}
    return facts | {"mpi": _BUILDER.sub("", str(facts["mpi"]))}


def without_names(text: str, *paths: Path) -> str:
    """Return a sentence without paths, and without names of this host and user."""
    known = *paths, Path.cwd(), Path.home(), Path(sys.prefix)
    for path in sorted(map(str, known), key=len, reverse=True):
        text = text.replace(path, "/FILE") if len(path) > 1 else text
    text = _PATH.sub(lambda found: "{0}FILE{0}".format(found[1] or ""), text)
    host = platform.node()
    for name in (host, host.partition(".")[0], _user()):
        if name:
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "NAME", text)
    return text


def _user() -> str:
    """Return the name of the user, empty if the system has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def in_memory(
    program: str, package: str, threads: int, folder: Path, plan: ContestPlan
) -> Result:
    """Return the result of a program on the input that `peer_process` has saved.

    `threads` is the number of our threads, 0 for a peer.
    """
    reply = folder / peer_process.REPLY
    reply.unlink(missing_ok=True)
    # -P: no module of the working directory takes the place of a package
    command = [sys.executable, "-P", "-W", "ignore", "-m", peer_process.__name__]
    words = os.getpid(), folder, program, threads, plan.turns
    command += map(str, words)
    ended = _run(command, plan.seconds, plan.memory)
    entries: dict[str, Any] = {}
    turns = []
    with suppress(OSError, ValueError):  # an interrupted process leaves half a line
        for line in reply.read_text().splitlines():
            entry = json.loads(line)
            entries |= entry
            turns += [entry["seconds"]] if "seconds" in entry else []
    if entries.get("lacks_memory") or ended.last_line.startswith("MemoryError"):
        failure = f"needs more than {size_text(plan.memory)} of memory"
    else:
        failure = entries.get("failure") or ended.failure(plan)
    build = None if threads else entries.get("build")
    kind, given = ANSWERS[entries.get("kind", "forest")], entries.get("answers", {})
    answers = {omits: kind(*fields) for omits, fields in given.items()}
    return Result(
        program, _version(package), build, tuple(turns), answers,
        without_names(failure, folder),
    )  # fmt: skip


def file_to_file(
    graph: Path, ranks: int, folder: Path, plan: ContestPlan
) -> tuple[Result, Record]:
    """Return the result of the command `solve`, and the report of its last turn."""
    report = folder / "report.json"
    command = [sys.executable, "-P", "-m", "mndmst", "solve", str(graph), "-q"]
    command += ["-o", str(folder / "forest.h5"), "--report", str(report)]
    if ranks > 1:
        command = [find_mpirun(), "-n", str(ranks), *command]
    if plan.threads is not None:
        command += ["--threads", str(plan.threads)]
    if plan.memory_given:
        command += ["--memory", option_size(plan.memory // ranks)]
    turns: list[float] = []
    record: Record = {}
    failure = ""
    while len(turns) < plan.turns and not failure:
        ended = _run(command, plan.seconds - sum(turns))
        failure = ended.failure(plan)
        if not failure:
            turns.append(ended.seconds)
            record = json.loads(report.read_text())
    answers: dict[str, Answer | Clusters] = {}
    if record:
        weight = record["weight"]  # JSON has a text for infinity
        weight = float(weight) if isinstance(weight, str) else weight
        answers[""] = Answer(record["forest_edges"], weight)
    program = f"{OURS} solve, file to file"
    if ranks > 1:
        program += f", {counted(ranks, 'rank')}"
    return Result(
        program, __version__, None, tuple(turns), answers,
        without_names(failure, folder, graph),
    ), record  # fmt: skip


class _Ended(NamedTuple):
    """The end of a process."""

    seconds: float
    status: int | None  # None if it has been ended at its time limit
    last_line: str  # of its standard error

    def failure(self, plan: ContestPlan) -> str:
        """Return why the process has failed, in words; empty if it has not."""
        if self.status is None:
            return f"not done within {plan.seconds:g} s"
        if self.status < 0:
            name = signal.Signals(-self.status).name
            return f"ended by {name} (limit of memory: {size_text(plan.memory)})"
        reason = self.last_line or f"ended with status {self.status}"
        return reason.removeprefix("mndmst: error: ") if self.status else ""


def _run(command: Sequence[str], seconds: float, memory: int = 0) -> _Ended:
    """Run a process for some seconds at most, with a limit of memory unless it is 0.

    The system enforces the limit; macOS has none.
    """
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, env=child_environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    try:
        if memory and hasattr(resource, "prlimit"):
            with suppress(ProcessLookupError):
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory, memory))
        _, errors = process.communicate(timeout=max(seconds, 0.1))
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        status, errors = None, ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # the ranks of mpirun, too
            process.communicate()
    lines = [line for line in errors.splitlines() if any(map(str.isalnum, line))]
    return _Ended(time.perf_counter() - begin, status, lines[-1] if lines else "")


def _version(package: str) -> str:
    try:
        return __version__ if package == OURS else version(package)
    except PackageNotFoundError:
        return "unknown"
