"""The scripts in slurm/, submitted to a real Slurm."""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm_cluster
from processes import ROOT
from slurm_cluster import LIMIT, Cluster, Job

GRAPH = ROOT / "partitions/demo"

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(bool(slurm_cluster.missing()), reason=slurm_cluster.missing()),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with slurm_cluster.cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


def results(text: str) -> list[tuple[str, str]]:
    """Return the digests of all RESULT lines and the seconds beside them."""
    return re.findall(r"^RESULT .*digest=(\w+) seconds=(\S+)$", text, re.MULTILINE)


def assert_solved(job: Job, forest: Path, digest: str) -> None:
    state, text = job.finish(), job.text()
    assert state == "COMPLETED", text
    assert [found for found, _ in results(text)] == [digest], text
    assert forest.exists()


@pytest.mark.parametrize(
    ("script", "options", "ranks"),
    [
        ("cpu.sbatch", ["--ntasks-per-node=2"], 0),
        ("gpu.sbatch", ["--gpus-per-node=1"], 0),
        ("nodes-srun.sbatch", [], 2),
        ("nodes-mpirun.sbatch", [], 2),
    ],
)
def test_a_forest(
    cluster: Cluster,
    tmp_path: Path,
    demo_digest: str,
    script: str,
    options: list[str],
    ranks: int,
) -> None:
    forest = tmp_path / "forest.h5"
    if script == "gpu.sbatch" and "gpu" not in cluster.ask("sinfo", "-h", "-o", "%G"):
        pytest.skip("no device files can be made here, not even of GPUs that are none")
    job = cluster.submit(script, tmp_path / "out", *options, "--", GRAPH, forest)
    assert_solved(job, forest, demo_digest)
    places = re.findall(r"^rank \d+ .* device .*$", job.text(), re.MULTILINE)
    assert len(places) == ranks


def test_ranks_on_nodes_meet_whatever_lies_in_memory(cluster: Cluster) -> None:
    program = ROOT / "tests/system/full_heap_program.py"
    shape = ("-N2", "-n2", "--ntasks-per-node=1", "--mpi=pmi2", "-K1")
    assert cluster.ask("srun", *shape, sys.executable, program) == "2 ranks\n" * 2


def test_of_tasks_with_a_core_each_one_drives_the_device_of_its_node(
    cluster: Cluster, demo_digest: str, emulated_cuda: dict[str, str]
) -> None:
    program = ROOT / "tests/mpi/device_program.py"
    shape = ("-N2", "-n4", "--ntasks-per-node=2", "-c1", "--mpi=pmi2", "-K1")
    command = ("srun", *shape, sys.executable, program, GRAPH, "--backend", "cuda")
    text = cluster.ask(*command, timeout=LIMIT, **emulated_cuda)
    assert [digest for digest, _ in results(text)] == [demo_digest], text
    lines = re.findall(r"rank (\d): (\w+) (\w+)$", text, re.MULTILINE)
    drives, waits = ("loaded", "kernels"), ("none", "none")
    assert sorted(lines) == [
        (str(rank), *(waits if rank % 2 else drives)) for rank in range(4)
    ]


def test_an_array_over_graphs(
    cluster: Cluster, tmp_path: Path, demo_digest: str
) -> None:
    forests = [tmp_path / f"forest-{i}.h5" for i in range(2)]
    graphs = tmp_path / "graphs"
    graphs.write_text("".join(f"{GRAPH} {forest}\n" for forest in forests))
    job = cluster.submit(
        "array.sbatch", tmp_path / "%a.out", "--array=1-2", "--", graphs
    )
    assert job.finish() == "COMPLETED"
    for number, forest in enumerate(forests, 1):
        text = (tmp_path / f"{number}.out").read_text()
        assert [digest for digest, _ in results(text)] == [demo_digest], text
        assert forest.exists()


def test_a_signal_before_the_end_checkpoints_requeues_and_resumes(
    cluster: Cluster, tmp_path: Path, demo_digest: str
) -> None:
    forest = tmp_path / "forest.h5"
    job = cluster.submit("requeue.sbatch", tmp_path / "out", "--", GRAPH, forest)
    ranks = stop_ranks(job)
    # As Slurm does before the time limit: to the batch script alone.
    cluster.ask("scancel", "--batch", "--signal=USR1", job.number)
    time.sleep(2)
    for rank in ranks:
        os.kill(rank, signal.SIGCONT)
    assert_solved(job, forest, demo_digest)
    assert job.fields()["Restarts"] == "1"
    # What had been computed was saved, if the signal did not come before that.
    text = job.text()
    assert "] resumed from" in text or "nothing had been computed yet" in text


def stop_ranks(job: Job) -> list[int]:
    """Stop both ranks of a job, each once it holds signals, and return their processes.

    So small a graph is solved in a moment; no rank ends while another one stands still.
    """
    stopped: list[int] = []

    def both() -> bool:
        for rank in ranks_of(job):
            if rank not in stopped and holds_signals(rank):
                os.kill(rank, signal.SIGSTOP)
                stopped.append(rank)
        return len(stopped) == 2

    job.wait_for("ranks", both, slurm_cluster.LIMIT, pause=0.02)
    return stopped


def holds_signals(process: int) -> bool:
    """Return whether a process blocks or catches SIGUSR1, which else would end it."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
    masks = [
        int(word, 16) for word in re.findall(r"^Sig(?:Blk|Cgt):\s(\w+)", status, re.M)
    ]
    return any(mask >> (signal.SIGUSR1 - 1) & 1 for mask in masks)


def ranks_of(job: Job) -> list[int]:
    """Return the processes that compute for a job."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            names = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        python = words[0].endswith(b"python3") and b"solve" in words
        if python and f"SLURM_JOB_ID={job.number}".encode() in names:
            found.append(int(process.name))
    return found


def test_a_rank_that_is_killed_ends_the_job(cluster: Cluster, tmp_path: Path) -> None:
    forest = tmp_path / "forest.h5"
    job = cluster.submit("nodes-srun.sbatch", tmp_path / "out", "--", GRAPH, forest)
    survivor, killed = stop_ranks(job)
    os.kill(killed, signal.SIGKILL)
    os.kill(survivor, signal.SIGCONT)
    assert job.finish(limit=30) == "FAILED"
    assert not forest.exists()
