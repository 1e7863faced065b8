"""The partitioner: one graph for any processes and any memory, and its sort of arcs."""

import hashlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.sparse
from graphs import NASTY
from square import DATA

from mndmst.comm.world import SingleProcess
from mndmst.host.errors import ConfigError, InputError, OutputError
from mndmst.io.edge_file import Edges, EdgesInMemory
from mndmst.io.formats import open_edges
from mndmst.io.partitioner import partition as passes
from mndmst.io.partitioner.arc_buckets import read_buckets
from mndmst.io.partitioner.edge_survey import BufferSizes
from mndmst.io.partitioner.forked_processes import run_forked
from mndmst.io.partitioner.partition import partition
from mndmst.io.partitioner.partition_run import Options
from mndmst.io.partitioner.write_parts import sort_arcs
from mndmst.io.shards.graph_directory import MADE_FROM
from mndmst.io.shards.row_reading import read_rows
from mndmst.io.shards.sharded_graph import ShardedGraph, open_graph
from mndmst.solver.config import parse_bytes


def digest(path: Path) -> str:
    """Return the digest of all that the files of a graph hold but who made them."""
    whole = hashlib.sha256()

    def add(name: str, item: h5py.Group | h5py.Dataset) -> None:
        content = item[:].tobytes() if isinstance(item, h5py.Dataset) else b""
        attributes = {key: str(value) for key, value in item.attrs.items()}
        attributes.pop(MADE_FROM, None)
        whole.update(f"{name} {sorted(attributes.items())}".encode() + content)

    for part in sorted(path.iterdir()):
        with h5py.File(part) as file:
            add(part.name, file)
            file.visititems(add)
    return whole.hexdigest()


def random_edges(num_vertices: int, num_edges: int, dtype: str = "float32") -> Edges:
    rng = np.random.default_rng(4)
    ends = rng.integers(0, num_vertices, (2, num_edges)).astype(np.uint32)
    weight = rng.integers(-50, 50, num_edges).astype(dtype)
    return Edges(num_vertices, *ends, weight)


class Halves(EdgesInMemory):
    """A list that says it stores both directions, and is not cheap to read again."""

    both_directions = True
    rereadable = False


def made(path: Path, edges: Edges, jobs: int = 1, **options: object) -> Path:
    given = Options(path, **{"parts": 5, "quiet": True, **options})
    run_forked(jobs, partition, EdgesInMemory("edges", edges), given)
    return path


def test_processes_and_memory_change_nothing(tmp_path, monkeypatch):
    edges = random_edges(3000, 20000)
    expected = digest(made(tmp_path / "one", edges))
    for jobs in (2, 5, 16):
        assert digest(made(tmp_path / f"{jobs}", edges, jobs)) == expected
    sizes = BufferSizes(
        largest_bucket=60000, smallest_batch=1, largest_batch=30000, largest_load=30000
    )
    monkeypatch.setattr("mndmst.io.edge_file.PIECE_ENTRIES", 700)
    monkeypatch.setattr("mndmst.io.hdf5_writer.CHUNK_BYTES", 1 << 20)
    assert digest(made(tmp_path / "small", edges, sizes=sizes)) == expected
    assert digest(made(tmp_path / "small2", edges, 2, sizes=sizes)) == expected


def test_rows_need_no_routing_and_make_the_same_graph(tmp_path, monkeypatch):
    graph = open_graph(made(tmp_path / "graph", random_edges(3000, 20000)))
    indptr, heads, weights = read_rows(graph, 0, 3000)
    tails = np.repeat(np.arange(3000, dtype=np.uint32), np.diff(indptr))
    listed = Edges(3000, tails, heads, weights)
    shuffled = np.random.default_rng(1).permutation(len(heads))
    columns = (column[shuffled] for column in (tails, heads, weights))
    routed = made(tmp_path / "routed", Edges(3000, *columns))
    expected = digest(routed)
    monkeypatch.setattr("mndmst.io.edge_file.PIECE_ENTRIES", 700)
    monkeypatch.setattr(passes, "route_arcs", None)  # a call would fail
    for jobs in (1, 2, 5, 16):
        assert digest(made(tmp_path / f"rows{jobs}", listed, jobs)) == expected


def flawed_arcs(graph: ShardedGraph, flaw: str) -> np.ndarray:
    """Return tails, heads and weights of the same graph that are not quite rows."""
    indptr, heads, weights = read_rows(graph, 0, 60)
    arcs = np.stack((np.repeat(np.arange(60), np.diff(indptr)), heads, weights))
    middle = arcs.shape[1] // 2
    if flaw == "loop":
        at = int(np.flatnonzero((arcs[0] == 30) & (arcs[1] > 30))[0])
        return np.insert(arcs, at, [30, 30, 1], axis=1)
    if flaw == "twice":
        return np.repeat(arcs, 2, axis=1)
    if flaw == "order":
        arcs[:, [middle, middle + 1]] = arcs[:, [middle + 1, middle]]
        return arcs
    return arcs[:, arcs[0] < arcs[1]]


@pytest.mark.parametrize("flaw", ["loop", "twice", "order", "one way"])
def test_rows_with_a_flaw_are_routed(tmp_path, monkeypatch, flaw):
    graph = open_graph(made(tmp_path / "whole", random_edges(60, 300, "int32")))
    tails, heads, weights = flawed_arcs(graph, flaw)
    ends = tails.astype(np.uint32), heads.astype(np.uint32)
    listed = Edges(60, *ends, weights.astype(np.int32))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(tails, minlength=60))))
    rows = scipy.sparse.csr_array((listed.weight, heads, indptr), shape=(60, 60))
    scipy.sparse.save_npz(tmp_path / "rows.npz", rows, compressed=False)
    monkeypatch.setattr("mndmst.io.formats.binary_graphs.PIECE_ARCS", 50)  # cuts rows
    for jobs in (1, 3):
        found = open_graph(made(tmp_path / f"{jobs}", listed, jobs))
        assert found.uuid == graph.uuid
        options = Options(tmp_path / f"{jobs}.npz", quiet=True)
        file = open_edges(tmp_path / "rows.npz")
        assert run_forked(jobs, partition, file, options).uuid == graph.uuid


def test_blocks_of_vertices_give_the_same_rows(tmp_path):
    edges = random_edges(3000, 20000)
    fine = open_graph(made(tmp_path / "fine", edges))
    sizes = BufferSizes(block_bits=6)
    coarse = open_graph(made(tmp_path / "coarse", edges, sizes=sizes))
    assert not (coarse.vtxdist[:-1] % 64).any()
    assert fine.uuid == coarse.uuid
    for one, two in zip(
        read_rows(fine, 0, 3000), read_rows(coarse, 0, 3000), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", NASTY)
def test_nasty_graphs(tmp_path, name):
    graph = NASTY[name]
    ends = (graph.src.astype(np.uint32), graph.dst.astype(np.uint32))
    edges = Edges(graph.n, *ends, graph.weight)
    found = open_graph(made(tmp_path / "graph", edges))
    indptr, heads, weights = read_rows(found, 0, graph.n)
    tails = np.repeat(np.arange(graph.n), np.diff(indptr))
    arcs = dict(
        zip(zip(tails.tolist(), heads.tolist(), strict=True), weights, strict=True)
    )
    assert len(arcs) == len(heads)
    best: dict = {}
    for u, v, w in zip(*(column.tolist() for column in graph[1:]), strict=True):
        if u != v:
            for pair in ((u, v), (v, u)):
                best[pair] = min(w, best.get(pair, w))
    assert arcs == best


def test_an_arc_without_its_twin_is_named_or_given_one(tmp_path):
    edges = random_edges(100, 500, "int32")
    both = Edges(
        100, np.r_[edges.src, edges.dst], np.r_[edges.dst, edges.src],
        np.tile(edges.weight, 2), True,
    )  # fmt: skip
    options = Options(tmp_path / "graph", 2, quiet=True)
    expected = partition(SingleProcess(), Halves("both", both), options).uuid
    lost = int(np.flatnonzero(both.src != both.dst)[7])
    columns = (np.delete(c, lost) for c in (both.src, both.dst, both.weight))
    rest = Halves("halves.egr", Edges(100, *columns, True))
    u, v = both.src[lost], both.dst[lost]
    with pytest.raises(
        InputError, match=rf"halves.egr: the arc \({v}, {u}\) of.*--sym"
    ):
        partition(SingleProcess(), rest, Options(tmp_path / "lost", 2, quiet=True))
    options = Options(tmp_path / "lost", 2, symmetrize=True, quiet=True)
    assert partition(SingleProcess(), rest, options).uuid == expected
    assert [path.name for path in tmp_path.iterdir()] == ["graph", "lost"]


def test_arcs_go_through_files_only_if_memory_cannot_hold_them(
    tmp_path, monkeypatch, capfd
):
    edges = random_edges(3000, 20000)  # 480,000 bytes of arcs
    expected = digest(made(tmp_path / "one", edges, quiet=False))
    assert "go through files" not in capfd.readouterr().err
    limit = (3 << 30) - 200_000
    monkeypatch.setattr(
        passes.Budget,
        "room",
        lambda budget: budget.limit - limit + passes.PARTITION_RESERVE + 500_000,
    )
    assert digest(made(tmp_path / "two", edges, quiet=False, memory=limit)) == expected
    said = r"arcs of 4\d\d\.?\d* KiB go through files .* from --memory (.+) on"
    named = re.search(said, capfd.readouterr().err)
    assert named is not None
    enough = parse_bytes(named[1])
    made(tmp_path / "three", edges, quiet=False, memory=enough)
    assert "go through files" not in capfd.readouterr().err


def test_too_little_memory_says_how_much_is_needed(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="--memory 1000 is less than a process takes"):
        made(tmp_path / "graph", random_edges(50, 99), memory=1000)
    limit = 3 << 30
    monkeypatch.setattr(
        passes.Budget,
        "room",
        lambda budget: budget.limit - limit + passes.PARTITION_RESERVE + 100,
    )
    text = r"arcs of 1 vertex take .* bytes to sort.* Give --memory (.+) or more\.$"
    with pytest.raises(ConfigError, match=text) as told:
        made(tmp_path / "graph", random_edges(50, 99), memory=limit)
    assert not list(tmp_path.glob("*work"))
    named = re.search(text, str(told.value))
    assert named is not None
    made(tmp_path / "graph", random_edges(50, 99), memory=parse_bytes(named[1]))


def test_a_file_that_holds_less_than_it_says(tmp_path):
    (tmp_path / "short.gr").write_text("p sp 3 2\na 1 2 7\n")
    for jobs in (1, 3):
        with pytest.raises(InputError, match=r"short\.gr: holds 1 arc,.*says 2"):
            options = Options(tmp_path / "graph", quiet=True)
            run_forked(jobs, partition, open_edges(tmp_path / "short.gr"), options)


def test_a_graph_without_vertices_is_told(tmp_path, capsys):
    (tmp_path / "none.csv").write_text("source,target,weight\n")
    file = open_edges(tmp_path / "none.csv")
    graph = partition(SingleProcess(), file, Options(tmp_path / "none"))
    assert graph.num_vertices == 0
    assert (
        "none.csv: has no edge, so the graph has no vertex" in capsys.readouterr().err
    )
    partition(SingleProcess(), file, Options(tmp_path / "five", num_vertices=5))
    assert "no vertex" not in capsys.readouterr().err


def fail(comm, number):
    if comm.rank == number:
        raise SystemExit(3)
    return comm.allgather(comm.rank)


def test_a_worker_that_dies_ends_the_others():
    with pytest.raises(ConfigError, match="process 2 ended with status 3"):
        run_forked(4, fail, 2)


def test_ranks_and_workers_make_the_same_graph(tmp_path, mpirun, mndmst):
    command = ("partition", DATA / "square.gr")
    made = [
        mpirun(3, "-m", "mndmst", *command, tmp_path / "ranks", "--parts", 2),
        mndmst(*command, tmp_path / "jobs", "--parts", 2, "--jobs", 2),
        mndmst(*command, tmp_path / "alone", "--parts", 2, "--memory", "1GiB", "-q"),
    ]
    assert [run.returncode for run in made] == [0, 0, 0], made
    assert made[0].stdout.count("RESULT ") == 1
    assert made[2].stderr == ""
    assert len({digest(tmp_path / name) for name in ("ranks", "jobs", "alone")}) == 1


def meet(comm):
    own = np.array([comm.rank, 3], np.uint64)
    with pytest.raises(InputError, match="of rank 1"), comm.raise_on_all():
        if comm.rank:
            raise InputError(f"of rank {comm.rank}")
    assert [comm.sum(2), comm.max(comm.rank), comm.min(comm.rank)] == [6, 2, 0]
    assert comm.sum(own).tolist() == [3, 9] and own.tolist() == [comm.rank, 3]
    assert comm.bcast(comm.rank, root=2) == 2 and comm.node() is comm
    assert comm.combine("abc"[comm.rank], "".join) == "abc"
    return comm.gather(comm.rank), comm.allgather(own)[:, 0].tolist()


def test_forked_processes_have_the_collectives_of_ranks():
    assert run_forked(3, meet) == ([0, 1, 2], [0, 1, 2])


def leave(comm, folder):
    (folder / f"{comm.rank}.pid").write_text(str(os.getpid()))
    comm.barrier()
    if comm.rank == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.barrier()


def test_workers_do_not_outlive_a_killed_command(tmp_path):
    process = multiprocessing.get_context("fork").Process(
        target=run_forked, args=(3, leave, tmp_path)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    workers = [int((tmp_path / f"{rank}.pid").read_text()) for rank in (1, 2)]
    until = time.monotonic() + 30
    while any(running(worker) for worker in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


INTERRUPTED = """
import os, signal, sys
from mndmst.io.partitioner.forked_processes import run_forked
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
os.register_at_fork(**{"after_in_" + sys.argv[1]: interrupt})
try:
    print(run_forked(3, lambda comm: comm.allgather(comm.rank).tolist()))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("process", "printed"), [("child", "[0, 1, 2]\n"), ("parent", "interrupted\n")]
)
def test_an_interrupt_during_a_fork_reaches_the_first_process_alone(process, printed):
    command = [sys.executable, "-c", INTERRUPTED, process]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout, run.stderr) == (0, printed, "")


def running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_weights_of_another_type_are_told_once(tmp_path):
    file = EdgesInMemory("mixed", random_edges(50, 99, "float32"))
    file.weight_dtype = np.dtype(np.int32)
    with pytest.raises(InputError, match="several types") as told:
        run_forked(3, partition, file, Options(tmp_path / "graph", quiet=True))
    assert told.value.ranks == 3


@pytest.mark.parametrize("bits", [1, 2, 11, 30, 50, 64])
@pytest.mark.parametrize("count", [0, 1, 300, 40000])
def test_arcs_are_sorted_whether_keys_have_room_for_places_or_not(count, bits):
    rng = np.random.default_rng(bits)
    keys = rng.integers(0, 1 << 64, count, np.uint64) >> np.uint64(64 - bits)
    keys[::3] &= np.uint64(0xFF)  # some are equal
    given, weights = keys.copy(), np.arange(count, dtype=np.int32)
    order = sort_arcs(keys, weights, bits)
    np.testing.assert_array_equal(keys, np.sort(given))
    np.testing.assert_array_equal(keys, given[order])
    np.testing.assert_array_equal(np.sort(order), np.arange(count))


def test_a_run_that_has_become_shorter_is_told(tmp_path):
    np.save(tmp_path / "run.npy", np.array([[1, 2]]))
    (tmp_path / "run.arcs").write_bytes(bytes(20))  # of 3 arcs of 8 bytes
    with pytest.raises(OutputError, match=r"run: .*has become shorter"):
        read_buckets(tmp_path / "run", range(1, 2), np.zeros(1, int), np.empty(2, int))
