"""A service with a damaged journal names the record and the way on."""

import contextlib
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from golden_files import (
    GOLDEN,
    KILOMETRES,
    LATER,
    OLD,
    POINTS,
    SERVED_POINTS,
    TOWNS,
    write_points,
)
from graphs import simple_path, write_graph
from oracle import kruskal
from processes import finish, python, start
from services import Served, served

pytest.importorskip("pyarrow.flight", reason="the service needs pyarrow")

from mndmst.changes.batch import DELETE, Batch
from mndmst.service import records
from mndmst.service.connection import ServiceError

pytestmark = [pytest.mark.mpi, pytest.mark.slow]

N = 30


@pytest.fixture
def words(tmp_path: Path) -> tuple[object, ...]:
    """Return the words of a command that serves a graph with a journal of 3 batches."""
    write_graph(tmp_path / "g", simple_path(N), 2)
    words = (tmp_path / "g", "--journal", tmp_path / "journal", "-q")
    with served(tmp_path, 1, *words) as service, service.connect() as client:
        for version in (1, 2, 3):
            assert client["g"].insert([0], [version + 1], [version]) == version
    return words


def refusal(folder: Path, ranks: int, *words: object) -> str:
    """Return the output of a service that does not start."""
    with pytest.raises(pytest.fail.Exception) as told:
        Served(folder, ranks, *words)
    return str(told.value)


def test_a_damaged_record_and_the_way_on(
    tmp_path: Path, words: tuple[object, ...]
) -> None:
    file = tmp_path / "journal/g/journal-0"
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    said = refusal(tmp_path, 2, *words)
    assert "record 2 (byte " in said
    assert "serve --journal-until g=1" in said
    assert "Traceback" not in said
    assert file.read_bytes() == damaged
    with (
        served(tmp_path, 2, *words, "--journal-until", "g=1") as service,
        service.connect() as client,
    ):
        assert client["g"].info()["version"] == 1
        assert client["g"].insert([0], [9], [5]) == 2
    (kept,) = (tmp_path / "journal/g").glob("journal-0.kept-*")
    assert kept.read_bytes() == damaged
    with served(tmp_path, 1, *words) as service, service.connect() as client:
        assert client["g"].info()["version"] == 2


def test_a_service_continues_the_journals_of_version_1_0(tmp_path: Path) -> None:
    golden = tmp_path / "golden"
    shutil.copytree(GOLDEN, golden)
    write_points(golden / "pings.csv", OLD)
    words = (golden / "towns", *SERVED_POINTS, golden / "pings.csv")
    with (
        served(tmp_path, 2, *words, "--journal", golden / "journal", "-q") as service,
        service.connect() as client,
    ):
        towns = client["towns"]
        assert towns.info()["version"] == 1 + len(LATER)
        # Without (Düren, Aachen), and with the new weight of (Köln, Aachen)
        assert towns.forest.total_weight == 20 + 30 + 44.5 + 50 + 70 + 80.25 + 480
        assert towns.insert(["Bonn"], ["Kiel"], [1.5]) == 2 + len(LATER)
        labels = client.points("pings").labels()
        assert set(labels["id"].to_pylist()) == {*range(len(POINTS))} - {3, 17}
        with h5py.File(golden / "changed.h5") as file:  # of the same points
            sizes = np.unique(file["labels"][:], return_counts=True)[1]
        found = Counter(labels["cluster"].to_pylist())
        assert sorted(found.values()) == sorted(sizes.tolist())


def test_a_service_solves_by_a_column_of_version_1_0(tmp_path: Path) -> None:
    golden = tmp_path / "golden"
    shutil.copytree(GOLDEN, golden)
    names = sorted({name for edge in TOWNS for name in edge[:2]})
    src, dst = (np.array([names.index(edge[k]) for edge in TOWNS]) for k in (0, 1))
    expected = kruskal(len(names), src, dst, np.array(KILOMETRES))
    with (
        served(tmp_path, 2, golden / "towns", "-q") as service,
        service.connect() as client,
    ):
        forest = client["towns"].solve("kilometres")
        assert forest.total_weight == expected.total
        assert forest.digest == expected.digest


def test_a_batch_that_does_not_fit_the_graph(
    tmp_path: Path, words: tuple[object, ...]
) -> None:
    batch = Batch(np.full(1, DELETE, np.uint8), [5], [20], [0])
    with (tmp_path / "journal/g/journal-0").open("ab") as file:
        file.write(records.record(4, records.pack(batch)))
    said = refusal(tmp_path, 2, *words)
    assert "record 4 (byte " in said
    assert "no edge (5, 20)" in said
    assert "serve --journal-until g=3" in said
    with served(tmp_path, 1, *words, "--journal-until", 3) as service:
        assert service.connect()["g"].info()["version"] == 3


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--journal-until", "h=1"), r"one of the graphs g and a number"),
        (("--journal-until", "-1"), r"a number"),
        (("--journal-until", "g=1.5"), r"a number"),
        (("--journal-until", "g=9"), r"no version 9; the last one is 3"),
    ],
)
def test_wrong_versions(
    tmp_path: Path, words: tuple[object, ...], more: tuple[str, ...], text: str
) -> None:
    said = refusal(tmp_path, 1, *words, "=".join(more))
    assert text in said
    assert "Traceback" not in said


def test_journal_until_needs_a_journal(tmp_path: Path) -> None:
    command = ("-m", "mndmst", "serve", tmp_path / "g", "--journal-until", "1")
    done = finish(start(python(*command)), 60)
    assert done.returncode == 1
    assert "--journal-until needs --journal" in done.stderr


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    folder.mkdir()
    size = f"size={kilobytes}k"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if mounted.returncode:
        pytest.skip(f"no small disk: {mounted.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_what_a_full_disk_lacks_room_for_is_refused(tmp_path: Path) -> None:
    write_graph(tmp_path / "g", simple_path(20_000), 2)
    journal = tmp_path / "journal"
    with small_disk(journal, 200):
        words = (tmp_path / "g", "--journal", journal, "-q")
        with served(tmp_path, 2, *words) as service, service.connect() as client:
            assert client["g"].insert([0], [5], [1]) == 1
            with pytest.raises(ServiceError, match="cannot be written"):
                client["g"].snapshot()
            names = sorted(path.name for path in (journal / "g").iterdir())
            assert names == ["graph", "journal-0", "lease"]
            src = np.arange(12_000)
            with pytest.raises(ServiceError, match="No space left on device"):
                client["g"].insert(src, src + 9, np.ones(len(src), np.int32))
            assert client["g"].insert([0], [7], [1]) == 2
