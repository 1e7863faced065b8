"""Objects are linked as LLVM would link them, or refused."""

import subprocess
import sys

import numpy as np
import pytest

from mndmst.native import compiled_kernel
from mndmst.native.code_store import Code
from mndmst.native.compiler import compile_kernel, compile_runtime
from mndmst.native.linker import Linker, LlvmLinker, links_here
from mndmst.native.processor_levels import best_level

pytestmark = pytest.mark.skipif(not links_here(), reason="LLVM links on this machine")


def spread(values, count):
    found = [np.int64(0) for _ in range(0)]
    for i in range(count):
        found.append(values[i % len(values)] * i)
    out = np.array(found)
    out[1:] = out[:-1].copy()
    return np.sort(out), np.log10(out.sum())


@pytest.fixture(scope="module")
def codes() -> tuple[Code, Code]:
    return compile_kernel(spread, "i8[],i8", best_level()), compile_runtime(
        best_level()
    )


@pytest.mark.parametrize("by_llvm", [False, True])
def test_both_linkers_make_the_same_of_an_object(
    codes: tuple[Code, Code], by_llvm: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker = LlvmLinker() if by_llvm else Linker()
    monkeypatch.setattr(compiled_kernel, "linker", lambda: linker)
    compiled_kernel._release.cache_clear()
    try:
        run = compiled_kernel.CompiledKernel("spread", codes[0], "i8[],i8", codes[1])
        values = np.arange(1, 8)
        words = [0, 0, 7, 8, values.ctypes.data, 7, 8, 3000]
        for _ in range(50):
            got, log = run(words, (values, 3000))
    finally:
        compiled_kernel._release.cache_clear()
    expected = np.resize(values, 3000) * np.arange(3000)
    expected[1:] = expected[:-1].copy()
    np.testing.assert_array_equal(got, np.sort(expected))
    assert log == np.log10(expected.sum())


def test_objects_of_other_machines_are_refused(codes: tuple[Code, Code]) -> None:
    other = bytearray(codes[1].code)
    other[18] = 183  # AArch64
    with pytest.raises(OSError, match="not an object file of this machine"):
        Linker().add(bytes(other), codes[1].symbol)
    with pytest.raises(OSError, match="not an object file of this machine"):
        Linker().add(b"#!/bin/sh\n" * 10, "main")


def test_what_is_nowhere_is_named(codes: tuple[Code, Code]) -> None:
    changed = codes[1].code.replace(b"\0malloc\0", b"\0mallet\0")
    with pytest.raises(OSError, match="code needs mallet, which no loaded library has"):
        Linker().add(changed, codes[1].symbol)


OUTLIVING = """
import numpy as np
import mndmst
from mndmst.points.search import point_search
model = mndmst.HDBSCAN(n_jobs=2).fit(np.random.default_rng(1).normal(size=(10_000, 3)))
def callback(): pass
point_search.callback = callback  # it holds this program's variables until the end
"""


@pytest.mark.slow
def test_arrays_of_kernels_may_outlive_all_modules() -> None:
    run = subprocess.run([sys.executable, "-c", OUTLIVING], timeout=300)
    assert run.returncode == 0
