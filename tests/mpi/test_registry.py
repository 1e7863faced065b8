"""The registry has all kernels of a command: they can be compiled beforehand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from called_kernels import write_graphs

from mndmst.graph.order import WEIGHT_DTYPES
from mndmst.native.precompile import listed_kernels

pytestmark = [pytest.mark.mpi, pytest.mark.slow]


@pytest.mark.parametrize(("ranks", "weights"), [(1, "int32"), (3, "float64")])
def test_commands_call_nothing_that_is_not_registered(
    mpirun: Callable, tmp_path: Path, ranks: int, weights: str
) -> None:
    program = Path(__file__).with_name("kernels_program.py")
    paths = write_graphs(tmp_path, weights)
    dtype = next(dtype for dtype in WEIGHT_DTYPES if dtype.name == weights)
    for user in ("solve", "verify", "update"):
        run = mpirun(ranks, "-m", "mpi4py", program, user, *paths, timeout=280)
        assert run.returncode == 0, run.stderr[-3000:]
        called = {tuple(entry) for entry in json.loads(run.stdout)}
        assert called
        assert called <= set(listed_kernels(user, dtype))


def test_types_of_weights_share_what_they_can() -> None:
    narrow, wide = (set(listed_kernels("solve", dtype)) for dtype in WEIGHT_DTYPES[:2])
    every = set(listed_kernels())
    assert len(WEIGHT_DTYPES) == 6
    assert narrow < every
    assert wide < every
    assert narrow & wide
    assert narrow ^ wide
