"""What killed jobs leave in shared memory goes, and what anybody has stays."""

import ctypes
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mndmst.comm.mpi_library import LEAST_AGE, remove_leftovers

NAMES = ["mpich_shm_5dad94db_0", "mpich_shm_7289_11", "ucx_shm_posix_3243a99"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / NAMES[0])
    remove_leftovers(tmp_path, 0.0)
    if (tmp_path / NAMES[0]).exists():
        pytest.skip("this file system gives no leases")
    return tmp_path


def make(path: Path) -> Path:
    path.write_bytes(bytes(mmap.PAGESIZE))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_what_nobody_has_goes(folder: Path, name: str) -> None:
    make(folder / name)
    remove_leftovers(folder, 0.0)
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "name", ["mpich_shm_", "mpich_shm_xyz_0", "xmpich_shm_1_0", "mpich_shm_1_0.h5"]
)
def test_other_names_stay(folder: Path, name: str) -> None:
    path = make(folder / name)
    remove_leftovers(folder, 0.0)
    assert path.exists()


def test_what_is_young_stays(folder: Path) -> None:
    path = make(folder / NAMES[0])
    os.utime(path, (0, 0))  # it was made just now, whatever its owner says
    remove_leftovers(folder)
    assert path.exists()
    assert LEAST_AGE >= 60


def test_ranks_that_remove_at_once(folder: Path) -> None:
    for number in range(200):
        make(folder / f"mpich_shm_{number:x}_0")
    program = (
        "import sys; from pathlib import Path;"
        "from mndmst.comm.mpi_library import remove_leftovers;"
        "sys.stdin.readline();"
        "remove_leftovers(Path(sys.argv[1]), 0.0)"
    )
    command = [sys.executable, "-c", program, str(folder)]
    ranks = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(4)]
    for rank in ranks:
        assert rank.stdin is not None
        rank.stdin.write(b"\n")
        rank.stdin.close()
    assert [rank.wait(timeout=60) for rank in ranks] == [0] * 4
    assert not list(folder.iterdir())


def by_a_link(path: Path) -> object:
    other = make(path.with_name("other"))
    path.symlink_to(other)
    return None


def by_two_names(path: Path) -> object:
    os.link(make(path), path.with_name("other"))
    return None


def by_a_directory(path: Path) -> object:
    path.mkdir()
    return None


def by_an_open_file(path: Path) -> object:
    return make(path).open("rb")


def by_a_mapping(path: Path) -> object:
    """Map a file and close it, as MPI libraries may."""
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    with make(path).open("r+b") as file:
        return library.mmap(
            None, ctypes.c_size_t(mmap.PAGESIZE), mmap.PROT_READ | mmap.PROT_WRITE,
            mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0),
        )  # fmt: skip


def by_a_pipe(path: Path) -> object:
    os.mkfifo(path)
    return None


@pytest.mark.parametrize(
    "kept",
    [by_a_link, by_two_names, by_a_directory, by_an_open_file, by_a_mapping, by_a_pipe],
)
def test_what_may_be_somebodys_stays(
    folder: Path, kept: Callable[[Path], object]
) -> None:
    holder = kept(folder / NAMES[0])
    before = sorted(folder.iterdir())
    remove_leftovers(folder, 0.0)
    assert sorted(folder.iterdir()) == before
    if kept is by_an_open_file:
        holder.close()
    if kept is by_a_mapping:
        munmap = ctypes.CDLL(None).munmap
        munmap(ctypes.c_void_p(holder), ctypes.c_size_t(mmap.PAGESIZE))
        remove_leftovers(folder, 0.0)
        assert not list(folder.iterdir())


def test_what_a_process_in_another_container_has_stays(folder: Path) -> None:
    path = make(folder / NAMES[0])
    program = "import sys, time; file = open(sys.argv[1]); print(1, flush=1); input()"
    hidden = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    command = [*hidden, sys.executable, "-c", program, str(path)]
    try:
        if subprocess.run([*hidden, "true"], check=False).returncode:
            pytest.skip("no process namespaces")
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"1\n"
        remove_leftovers(folder, 0.0)
        assert path.exists()
        process.communicate(b"\n", timeout=30)
    remove_leftovers(folder, 0.0)
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_is_another_users_stays(folder: Path) -> None:
    path = make(folder / NAMES[0])
    os.chown(path, 12345, 12345)
    remove_leftovers(folder, 0.0)
    assert path.exists()


def test_what_is_old_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(folder / NAMES[0])
    later = time.time() + LEAST_AGE
    monkeypatch.setattr("mndmst.comm.mpi_library.time.time", lambda: later)
    remove_leftovers(folder)
    assert not path.exists()


def test_without_a_directory_nothing_happens(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "missing")
