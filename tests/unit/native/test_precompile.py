"""What is compiled ahead, of a list that may be older than the sources."""

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import NoReturn

import pytest
from services import wait_until

from mndmst.host.progress import notice
from mndmst.native import loader, precompile
from mndmst.native.arguments import named, parse, words_of
from mndmst.native.kernel import Kernel
from mndmst.native.loader import announced, announcing_compilation
from mndmst.native.precompile import (
    KernelSignature,
    compile_side_by_side,
    listed_kernels,
    without_code,
)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mndmst.kernels.edge_columns.renamed", "has no attribute 'renamed'"),
        ("mndmst.kernels.moved.rows", "No module named 'mndmst.kernels.moved'"),
    ],
)
def test_a_kernel_that_is_no_more_is_told_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    runtime = listed_kernels()[0]
    compile_side_by_side([KernelSignature(name, "i8[]"), runtime], 1, tmp_path)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"mndmst: {name} could not be compiled ahead")
    assert why in said and "python -m tests.called_kernels" in said
    assert without_code([runtime], [tmp_path]) == []


def test_the_progress_of_a_compilation_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precompile, "REPORT_SECONDS", 0.0)
    runtime, reports = listed_kernels()[0], []
    compile_side_by_side(
        [runtime], 1, tmp_path, report=lambda *counts: reports.append(counts)
    )
    assert reports[0] == (0, 1) and reports[-1] == (1, 1)


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from mndmst.native import precompile
from mndmst.native.arguments import named, parse, words_of
from mndmst.native.kernel import Kernel
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
precompile.REPORT_SECONDS = 0.0
def interrupt(*counts):
    os.killpg(0, signal.SIGINT)  # as a terminal does
try:
    wanted = precompile.listed_kernels("points")
    precompile.compile_side_by_side(wanted, 2, Path(sys.argv[1]), report=interrupt)
except KeyboardInterrupt:
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:  # no worker is left
        print("interrupted")
"""


def test_an_interrupt_ends_the_workers_in_silence(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=60, start_new_session=True
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "interrupted\n", "")


def test_many_are_told_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gone = [
        KernelSignature(f"mndmst.kernels.edge_columns.gone{k}", "i8[]")
        for k in range(9)
    ]
    compile_side_by_side([*gone, listed_kernels()[0]], 2, tmp_path)
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "and 8 others could not be compiled ahead (module" in said
    assert without_code([listed_kernels()[0]], [tmp_path]) == []


def test_a_full_disk_leaves_compilation_to_the_first_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: object, **options: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    compile_side_by_side(listed_kernels(), 1, tmp_path)
    said = capsys.readouterr().err
    assert said.startswith(f"mndmst: {tmp_path}: kernels cannot be compiled ahead")
    assert "No space left" in said and "MNDMST_CACHE_DIR" in said


def test_the_list_names_kernels_that_exist() -> None:
    _, *kernels = listed_kernels()
    assert all(isinstance(named(name), Kernel) for name, _ in kernels)


def test_few_kernels_take_arguments_in_floating_point() -> None:
    """Python makes every call of such a kernel, so none may run once for each range."""
    _, *kernels = listed_kernels()
    found = {name for name, types in kernels if set(words_of(parse(types))) != {"i8"}}
    assert found == {
        "mndmst.points.kernels.dendrogram.merge_brief",
        "mndmst.points.kernels.dendrogram.raised",
        "mndmst.io.kernels.generators.ssca2",
    }


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say at once, and as in a new process, that kernels are compiled."""
    monkeypatch.setattr(loader, "PATIENCE", 0.0)
    monkeypatch.setattr(loader, "_OTHERS", loader._Announcement(notice))


def compile_until(told: Callable[[], bool]) -> None:
    with announced():
        wait_until(told, "no line on the compilation")
    with announced():  # a second compilation
        pass


def test_python_says_that_it_compiles(
    impatient: None, capsys: pytest.CaptureFixture
) -> None:
    said: list[str] = []
    compile_until(lambda: bool(said.append(capsys.readouterr().err) or "".join(said)))
    said.append(capsys.readouterr().err)
    assert "".join(said) == "mndmst: compiling kernels, once on this machine\n"


def test_a_run_says_it_in_its_own_way(
    impatient: None, capsys: pytest.CaptureFixture
) -> None:
    said: list[str] = []
    with announcing_compilation(said.append):
        compile_until(lambda: bool(said))
    assert said == ["compiling kernels, once on this machine"]
    assert capsys.readouterr().err == ""


def test_calls_in_threads_say_it_each_in_its_own_way(
    impatient: None, capsys: pytest.CaptureFixture
) -> None:
    began = Barrier(8)

    def call(number: int) -> list[str]:
        said: list[str] = []
        with announcing_compilation(said.append):
            began.wait()
            compile_until(lambda: bool(said))
        return said

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, range(8)))
    assert found == [["compiling kernels, once on this machine"]] * 8
    assert capsys.readouterr().err == ""


def test_a_short_compilation_says_nothing(capsys: pytest.CaptureFixture) -> None:
    with announced():
        pass
    assert capsys.readouterr().err == ""
