"""Kernels are called with what Numba would have taken, and return what it would."""

import gc
import os
import pickle
import subprocess
import sys
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from processes import ROOT

from mndmst.native import loader, self_test
from mndmst.native.arguments import pack, parse, text_of, types_of, words_of
from mndmst.native.kernel import kernel, packed


class Edges(NamedTuple):
    u: np.ndarray
    weight: np.ndarray


@pytest.fixture(autouse=True)
def kept_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Kernels of tests have no place in the user's store."""
    monkeypatch.setattr(loader, "writable", lambda: tmp_path)


def mixed(edges, number, scale, flag, nothing, table):
    total = np.zeros(2, np.float64)
    for i in range(len(edges.u)):
        total[i % 2] += edges.u[i] * scale + edges.weight[i]
    table[0, 0] = number
    return total, number + flag, nothing is None, Edges(edges.u[1:], edges.weight)


@pytest.mark.parametrize(
    ("flag", "number", "step"),
    [
        (True, 7, 1),
        (np.bool_(False), np.uint32(9), 3),
        (True, np.int64(-3), 3),
        (np.bool_(False), np.uint64(2**63), 1),
    ],
)
def test_a_kernel_does_what_numba_does(flag: bool, number: int, step: int) -> None:
    edges = Edges(np.arange(30, dtype=np.uint32)[::step], np.arange(30.0)[::step])
    tables = np.zeros((2, 2, 2), np.int64)
    arguments = (edges, number, 0.5, flag, None)
    got = kernel(mixed)(*arguments, tables[0])
    expected = njit(mixed)(*arguments, tables[1])
    assert repr(got) == repr(expected)
    assert type(got[3]).__name__ == "Edges"
    assert got[0].dtype == expected[0].dtype
    np.testing.assert_array_equal(*tables)


def test_a_packed_tuple_is_passed_like_the_tuple() -> None:
    edges, tables = (
        Edges(np.arange(4, dtype=np.uint32), np.ones(4)),
        np.zeros((2, 1, 1)),
    )
    of_edges = kernel(mixed)
    expected = of_edges(edges, 7, 0.5, True, None, tables[0])
    copy = pickle.loads(pickle.dumps(packed(edges)))
    for given in (packed(edges), copy):
        got = of_edges(given, 7, 0.5, True, None, tables[1])
        assert repr(got) == repr(expected)
    edges.weight[:] = 0
    assert of_edges(copy, 7, 0.5, True, None, tables[1])[0].tolist() == [3, 4]


def test_errors_of_a_kernel_are_raised() -> None:
    @kernel
    def room(length):
        return np.empty(length, np.int64)

    assert len(room(3)) == 3
    with pytest.raises(MemoryError):
        room(1 << 59)
    with pytest.raises(ValueError, match="negative"):
        room(-1)


def test_memory_is_given_back() -> None:
    @kernel
    def room(length):
        return np.empty(length, np.int64)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    room(1)
    before = resident()
    for _ in range(100):
        room(1 << 20).fill(0)  # 800 MiB in all
    assert resident() - before < 100 << 8  # pages of 4 KiB


def test_a_result_inside_an_argument_keeps_it() -> None:
    @kernel
    def behind(array):
        return array[1:]

    class Array(np.ndarray):
        pass

    given = np.arange(5).view(Array)
    alive = weakref.ref(given)
    part = behind(given)
    del given
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(part, [1, 2, 3, 4])


def test_lists_grow_and_sorts_have_their_stack() -> None:
    @kernel
    def sorted_squares(count):
        found = [np.int64(0) for _ in range(0)]
        for i in range(count):
            found.append(i * i % 1009)
        return np.sort(np.array(found))

    expected = np.sort(np.arange(5000) ** 2 % 1009)
    np.testing.assert_array_equal(sorted_squares(5000), expected)


def test_what_no_kernel_takes_is_refused() -> None:
    @kernel
    def same(value):
        return value

    for value in ("text", {}, np.zeros(2, ">i4"), np.zeros(2, "c16"), np.zeros(())):
        with pytest.raises(TypeError):
            same(value)


def test_kernels_of_unknown_compilers_are_called_through_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(self_test, "EXPECTED", (0, False))
    loader._compiler_works.cache_clear()

    @kernel
    def plus(a, b):
        return a + b

    try:
        assert plus(1, 2) == 3
        assert plus(1.0, 2.0) == 3.0
        assert capsys.readouterr().err.count("called through Numba") == 1
    finally:
        loader._compiler_works.cache_clear()


def test_types_as_text() -> None:
    strided = np.zeros((4, 4), np.uint16)[:, ::2]
    fixed = np.zeros(3, np.float32)
    fixed.flags.writeable = False
    arguments = (1, 2.0, True, None, strided, fixed, (np.uint8(1), (fixed,)))
    text = "i8,f8,b1,none,u2[:,:],f4![],(u1,(f4![]))"
    types = parse(text)
    assert len(types) == len(arguments)
    assert text_of(types) == text
    words: list = []
    key = pack(arguments, words)
    assert types_of(key) == text
    assert hash(key) == hash(pack(arguments, []))
    assert len(words) == len(words_of(types))


def test_a_run_imports_no_compiler() -> None:
    solve = """if True:
        import sys
        from mndmst.__main__ import main
        assert main(["solve", "partitions/demo", "-q", "--backend", "cpu"]) == 0
    """
    check = """
        from mndmst.native.linker import links_here
        linker = () if links_here() else ("llvmlite",)  # which links on aarch64
        for name in {"numba", "llvmlite", "scipy", "tqdm", "pyarrow"} - {*linker}:
            assert name not in sys.modules, name
    """
    for code in (solve, solve + check):  # the first may have to compile
        run = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False
        )
        assert run.returncode == 0, run.stderr.decode()[-2000:]


def test_numba_alone_gives_the_same() -> None:
    code = """if True:
        import os
        os.environ["MNDMST_JIT"] = "1"
        from mndmst.io.kernels.partitioner import ascending
        import numpy as np, numba
        assert ascending(np.arange(3, dtype=np.uint64))
        assert isinstance(ascending, numba.core.dispatcher.Dispatcher)
    """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_of_several_processes_one_compiles(tmp_path: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        import numpy as np
        from mndmst.kernels.hooks import ROOT, count_roots
        from mndmst.native import cache_dirs
        cache_dirs.SHIPPED = Path("missing")  # a wheel has code of this kernel
        print("ready", flush=True)
        sys.stdin.readline()
        assert count_roots(np.array([ROOT, 0, ROOT], np.uint32), 0, 3) == 2
        print("mndmst.native.compiler" in sys.modules)
    """
    own = {"MNDMST_CACHE_DIR": str(tmp_path / "own"), "MNDMST_KERNELS": ""}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **own},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    said = [process.communicate()[0] for process in _begun(processes)]
    assert sorted(said) == ["False\n", "False\n", "True\n"]


def _begun(processes: list[subprocess.Popen]) -> list[subprocess.Popen]:
    """Let all of them go on before any of them is waited for."""
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    return processes
