"""The packages that a process of `solve` loads; each module costs it a file."""

import json
import os
import sys

import pytest
from processes import ROOT, finish, start

LIMIT = 300
PROGRAM = """
import json, sys
from mndmst.__main__ import main
assert main(["solve", sys.argv[1], "--quiet"]) == 0
print(json.dumps(sorted(sys.modules)))
"""
# Rooms whose modules take part in an ordinary run.
ROOMS = {
    "__main__", "backends", "cli", "comm", "graph", "host", "io", "kernels", "native",
    "pipeline", "solver",
}  # fmt: skip
PACKAGES = {"numpy", "h5py"}  # and on ranks mpi4py


def loaded() -> list[str]:
    command = [sys.executable, "-c", PROGRAM, str(ROOT / "partitions/demo")]
    run = finish(start(command), LIMIT)
    assert run.returncode == 0, run
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.skipif("COVERAGE_RCFILE" in os.environ, reason="coverage loads packages")
def test_a_process_loads_only_what_an_ordinary_run_needs() -> None:
    modules = loaded()
    ours = [name for name in modules if name.startswith("mndmst.")]
    assert {name.split(".")[1] for name in ours} <= ROOMS
    readers = ("mndmst.io.formats", "mndmst.io.partitioner")
    assert not [name for name in ours if name.startswith(readers)]
    tops = {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names)
    ignored = {"mndmst", "sitecustomize", "_distutils_hack", "cython_runtime"}
    installed = {name for name in tops - ignored if not name.startswith("_")}
    assert installed <= PACKAGES
    unused = {"tomllib", "numpy.testing", "numpy.random", "numpy.ma", "asyncio", "xml"}
    assert not unused & set(modules)


ARROW = """
import sys

import pytest
from mndmst.cli.options import leave_out_pandas
leave_out_pandas()
import pyarrow
assert pyarrow.array([1, 2]).to_numpy().tolist() == [1, 2]
assert pyarrow.table({"name": pyarrow.array(["a"])})["name"].to_pylist() == ["a"]
print("pandas" in sys.modules)
"""


def test_commands_of_the_service_leave_pandas_out() -> None:
    pytest.importorskip("pyarrow", reason="the service needs pyarrow")
    run = finish(start([sys.executable, "-c", ARROW]), LIMIT)
    assert (run.returncode, run.stdout) == (0, "False\n"), run
