"""How little `import mndmst` costs, and that the contracts on imports can fail."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT

LINTER = Path(sys.executable).with_name("lint-imports")
HEAVY = ("mpi4py.MPI", "numba", "cupy", "h5py", "scipy", "kagen")


@pytest.mark.parametrize("command", ["import mndmst", "import mndmst.__main__"])
def test_importing_the_package_loads_nothing_heavy(command: str) -> None:
    report = f"import sys; print([name for name in {HEAVY} if name in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", f"{command}; {report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "[]"


def test_a_kernel_loads_no_linear_algebra_and_hides_none() -> None:
    pytest.importorskip("scipy")
    code = """if True:
        import sys
        import numpy as np
        from mndmst.io.kernels.partitioner import ascending
        assert ascending(np.arange(3, dtype=np.uint64))
        assert "scipy.linalg" not in sys.modules
        from numba.np import arraymath, linalg
        assert arraymath._HAVE_BLAS
        linalg.ensure_blas()
    """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and of its contracts."""
    if not LINTER.exists():
        pytest.skip("import-linter is in the extra 'dev'")
    copy = tmp_path_factory.mktemp("checkout")
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "mndmst", copy / "mndmst", ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def broken(checkout: Path) -> list[str]:
    """Return the names of the contracts that are broken."""
    command = [LINTER, "--no-cache"]
    run = subprocess.run(
        command, cwd=checkout, capture_output=True, text=True, check=False
    )
    lines = run.stdout.splitlines()
    found = [line.partition(" BROKEN")[0] for line in lines if " BROKEN" in line]
    assert bool(found) == bool(run.returncode), run.stdout + run.stderr
    return found


def test_the_contracts_are_kept(checkout: Path) -> None:
    assert broken(checkout) == []


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("graph/order.py", "from ..run import config", "Rooms import what lies below"),
        ("io/file_access.py", "from . import shards", "No circles of imports"),
        ("solver/read.py", "from ..backends.cpu import msf", "Devices are known by"),
        ("solver/merging/leaders.py", "import numba", "Numba serves the compiler"),
        ("solver/write.py", "import mpi4py.MPI", "One module loads MPI"),
        ("service/session.py", "from ..points import metrics", "Graphs do without"),
    ],
)
def test_a_planted_import_breaks_its_contract(
    checkout: Path, file: str, line: str, contract: str
) -> None:
    place = checkout / "mndmst" / file
    text = place.read_text()
    try:
        place.write_text(f"{text}\n{line}\n")
        assert any(name.startswith(contract) for name in broken(checkout))
    finally:
        place.write_text(text)
