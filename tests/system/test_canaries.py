"""No command changes or removes a file that it has not made, however it ends.

Canaries with suggestive names, and links to precious files, lie in every directory that
a command touches. `MNDMST_CANARY_KILLS=50 pytest tests/system/test_canaries.py` kills
each command that often; the default is what a check before every commit has time for.
`MNDMST_CANARY_SEED` chooses other points.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import graphs
import numpy as np
import pytest
from canary_program import plant, seen
from processes import Run, finish, python, start

from mndmst.solver.checkpoint.folder import LOCK

PROGRAM = Path(__file__).with_name("canary_program.py")
KILLS = int(os.environ.get("MNDMST_CANARY_KILLS", "1"))
SEED = int(os.environ.get("MNDMST_CANARY_SEED", "1"))
LIMIT = 120 + 20 * KILLS

COMMANDS = {
    "solve": "solve in/graph -o out/forest.h5 --report out/run.json --checkpoint kept "
    "--checkpoint-interval 0 --backend cpu -q",
    "components": "components in/graph -o out/labels.h5 --report out/run.json -q",
    "verify": "verify in/graph in/known.h5",
    "cluster": "cluster in/known.h5 --count 3 -o out/clusters.h5 --plot "
    "out/clusters.png --points in/points.csv --overwrite",
    "partition": "partition in/edges.txt out/shards --parts 2 -q",
    "generate": "generate gnm out/shards --n 50 --m 200 --parts 2 -q",
    "convert": "convert in/edges.txt out/edges.gr",
    "report": "report in/known.json -o out/a.html --trace out/trace.json --overwrite",
    "neighbours": "neighbours in/points.csv out/shards --k 3 --save out/points.npy",
}
WRITING = [name for name in COMMANDS if name != "verify"]
# MPI itself needs files longer than the limit; `test_faults.py` has a small disk.
UNDER_MPI = ("solve", "components", "verify")

pytestmark = pytest.mark.timeout(2 * LIMIT)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory, mndmst: Callable) -> Path:
    """Return a directory with whatever the commands read."""
    folder = tmp_path_factory.mktemp("canaries") / "in"
    folder.mkdir()
    graphs.write_graph(folder / "graph", graphs.random(60, 200, seed=3), parts=3)
    (folder / "edges.txt").write_text("0 1 5\n1 2 7\n0 3 9\n")
    points = np.random.default_rng(1).random((60, 2))
    np.savetxt(folder / "points.csv", points, delimiter=",")
    made = ("-o", folder / "known.h5", "--report", folder / "known.json")
    assert mndmst("solve", folder / "graph", *made, "-q").returncode == 0
    return folder


@pytest.fixture
def place(inputs: Path, tmp_path: Path) -> Path:
    """Return a directory with inputs, and others for outputs and checkpoints."""
    shutil.copytree(inputs, tmp_path / "work" / "in")
    for name in ("out", "kept"):
        (tmp_path / "work" / name).mkdir()
    return tmp_path / "work"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_canary_is_harmed(place: Path, name: str) -> None:
    for folder in (place, *filter(Path.is_dir, sorted(place.rglob("*")))):
        plant(folder, SEED)
    kills = KILLS if name in WRITING else 0
    full = 0 if name in UNDER_MPI else KILLS
    command = python(PROGRAM, place, kills, full, SEED, *COMMANDS[name].split())
    run = finish(start(command), LIMIT)
    assert run.returncode == 0, run
    attempts = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(attempts) == 1 + kills + full
    for attempt in attempts:
        assert attempt["harmed"] == [], attempt
        if attempt["kind"] == "killed":
            assert attempt["status"] == -9, attempt
        else:
            assert attempt["status"] in (0, 1), attempt
            assert "Traceback" not in attempt["text"], attempt
            assert attempt["text"].count("error:") == attempt["status"], attempt
    assert attempts[0]["status"] == 0, attempts[0]


@pytest.mark.mpi
def test_checkpoints_among_files_of_others(place: Path, mpirun: Callable) -> None:
    """Also where outputs are said to lie there, which is refused."""
    plant(place / "kept", SEED)
    before = seen(place)
    command = ("-m", "mndmst", "solve", place / "in" / "graph", "--backend", "cpu")
    saving = ("-q", "--checkpoint-interval", 0, "--checkpoint", place / "kept")
    inside = ("-o", place / "kept" / "f.h5", "--report", place / "kept" / "r.json")
    run = mpirun(2, *command, *saving, *inside)
    assert run.returncode == 1
    assert run.stderr.count("error:") == 1
    assert "where the checkpoints are kept" in run.stderr
    assert seen(place) == before
    run = mpirun(2, *command, *saving, "-o", place / "out" / "f.h5")
    assert run.returncode == 0, run
    after = seen(place)
    assert {Path(name).name for name in after.keys() - before.keys()} == {LOCK, "f.h5"}
    kept = {name: facts for name, facts in after.items() if name in before}
    assert {n: f for n, f in kept.items() if not Path(n).is_dir()} == {
        n: f for n, f in before.items() if not Path(n).is_dir()
    }


@pytest.fixture
def read_only(place: Path) -> Iterator[Path]:
    """Return the directory for outputs, which cannot be written."""
    folder = place / "out"
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)
        return
    for command in (["--bind", folder, folder], ["-o", "remount,ro,bind", folder]):
        try:
            done = subprocess.run(["mount", *command], capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("root writes everywhere, and there is no mount")
        if done.returncode:
            pytest.skip(f"nothing is read-only: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def one_line(run: Run) -> bool:
    return run.stderr.count("\n") == run.stderr.count("mndmst: error: ") == 1


@pytest.mark.parametrize("name", WRITING)
def test_a_directory_for_reading_only(
    place: Path, read_only: Path, mndmst: Callable, name: str
) -> None:
    arguments = [
        str(place / word) if word.startswith(("in/", "out/", "kept")) else word
        for word in COMMANDS[name].split()
    ]
    run = mndmst(*arguments)
    assert run.returncode == 1, run
    assert one_line(run), run
    assert str(read_only) in run.stderr
    assert "Read-only" in run.stderr or "Permission denied" in run.stderr
    assert not list(read_only.iterdir())
