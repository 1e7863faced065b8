"""The tests of GPUs pass without a GPU, on an emulation of CuPy and of CUDA's language.

`tests/emulated_cuda` compiles the kernels with the host's C++ compiler and compares the
types of all arguments with the kernels' parameters. It runs one block at a time, and
copies are done when they return: errors of streams and of concurrent blocks are left to
`tests/gpu` on a device.
"""

import os
import subprocess
import sys
from collections.abc import Iterable

import pytest
from processes import ROOT, environment, no_emulated_cuda, with_emulated_cuda

pytestmark = pytest.mark.skipif(bool(no_emulated_cuda()), reason=no_emulated_cuda())

SOME = {
    "test_cuda.py": "test_msf and gnm or contract",
    "test_upload.py": "not uint64",
    "test_point_tree_gpu.py": "copies-5 or grid-0 or all_pairs or room or suits",
    "test_point_products_gpu.py": "sizes or rows_of or stay and cupy and cosine and f2 "
    "or dense and two and f8",
    "test_followed_points_gpu.py": "copy_for",
}
ALL = {
    "test_api_gpu.py": "",
    "test_cuda.py": "",
    "test_looking.py": "",
    "test_upload.py": "",
    "test_streamed.py": "",
    # Products of larger shapes take minutes.
    "test_point_products_gpu.py": "line or grid or equal or zeros or tiny or huge or "
    "sizes or rows_of or stay and cupy or dense",
    "test_point_tree_gpu.py": "",
    "test_followed_points_gpu.py": "",
}


def emulated(*arguments: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    env = environment() | with_emulated_cuda()
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=env,
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def run_tests(files: Iterable[str], names: str, timeout: float = 280) -> None:
    paths = [f"tests/gpu/{file}" for file in files]
    options = ("-q", "-p", "no:cacheprovider", f"--timeout={timeout}", "-k", names)
    run = emulated("-m", "pytest", *paths, *options, timeout=timeout)
    assert run.returncode == 0, run.stdout[-5000:]
    assert "passed" in run.stdout
    assert "skipped" not in run.stdout


def test_some_tests_pass() -> None:
    run_tests(SOME, " or ".join(f"{file} and ({SOME[file]})" for file in SOME))


@pytest.mark.skipif(
    not os.environ.get("MNDMST_EVERY_RUN"),
    reason="takes minutes: launch/test-everything.sh",
)
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("file", ALL)
def test_all_tests_of_rows_pass_and_small_ones_of_points(file: str) -> None:
    run_tests([file], ALL[file], timeout=1450)


ARGUMENTS = {
    "cupy.empty(5, np.uint32), np.uint64(5)": "",
    "cupy.empty(5, np.int64), np.uint64(5)": "an array of int64 for *u4",
    "np.empty(5, np.uint32), np.uint64(5)": "ndarray'> for an array of a device",
    "cupy.empty(9, np.uint32)[::2], np.uint64(5)": "not contiguous",
    "cupy.empty(5, np.uint32), np.uint32(5)": "uint32 for u8",
    "cupy.empty(5, np.uint32), 5": "5 of None for u8",
    "cupy.empty(5, np.uint32)": "takes 2, not 1",
}
LAUNCHES = """
import sys
import cupy
import numpy as np
from mndmst.backends.cuda.kernels import Kernels

kernels = Kernels(np.dtype(np.uint32))
for arguments in sys.argv[1:]:
    try:
        kernels.launch("number_vertices", 5, *eval(f"({arguments},)"))
        print()
    except TypeError as error:
        print(error)
"""


def test_arguments_are_compared_with_parameters() -> None:
    run = emulated("-c", LAUNCHES, *ARGUMENTS)
    assert run.returncode == 0, run.stderr
    for given, expected in zip(ARGUMENTS.items(), run.stdout.split("\n"), strict=False):
        arguments, error = given
        assert (expected == "") == (error == ""), arguments
        assert error in expected, arguments
