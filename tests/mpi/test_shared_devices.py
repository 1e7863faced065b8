"""More ranks than devices, on an emulation of CUDA: see `test_emulated_cuda.py`."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import ROOT, Run

PROGRAM = Path(__file__).with_name("device_program.py")
GRAPH = ROOT / "partitions/demo"

pytestmark = [pytest.mark.mpi, pytest.mark.slow]


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_without_a_device_load_no_driver(
    mpirun: Callable[..., Run], demo_digest: str, emulated_cuda: dict[str, str],
    ranks: int,
) -> None:  # fmt: skip
    run = mpirun(ranks, PROGRAM, GRAPH, "--backend", "cuda", **emulated_cuda)
    assert run.returncode == 0, run
    assert f"digest={demo_digest}" in run.stdout
    # The launcher may put text of another rank before the end of a line
    lines = re.findall(r"rank (\d): (loaded|none) (kernels|none)", run.stdout)
    expected = [("0", "loaded", "kernels")]
    expected += [(str(rank), "none", "none") for rank in range(1, ranks)]
    assert sorted(lines) == expected
