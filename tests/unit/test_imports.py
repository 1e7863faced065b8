"""Which module may import what, and how little `import mndmst` costs."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("mndmst/**/*.py"))
HEAVY = ("mpi4py.MPI", "numba", "cupy", "h5py", "scipy", "kagen")


def imports(module: Path) -> Iterator[str]:
    """Yield the absolute names that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers(package: str) -> set[Path]:
    """Return the modules that import a package or something of it."""
    return {
        module.relative_to(ROOT / "mndmst")
        for module in MODULES
        if any(f"{name}.".startswith(f"{package}.") for name in imports(module))
    }


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
        from mndmst.io.kernels.external import ascending
        assert ascending(np.arange(3, dtype=np.uint64))
        assert "scipy.linalg" not in sys.modules
        from numba.np import arraymath, linalg
        assert arraymath._HAVE_BLAS
        linalg.ensure_blas()
    """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("package", ["numba", "cupy", "llvmlite"])
def test_devices_stay_below_backends(package: str) -> None:
    outside = {m for m in importers(package) if m.parts[0] != "backends"}
    assert not outside


def test_mpi_is_imported_in_one_place() -> None:
    assert importers("mpi4py") == {Path("mpi_library.py")}


def test_the_search_finds_imports() -> None:
    found = set(imports(ROOT / "mndmst/mpi_library.py"))
    assert {"mpi4py.MPI", "functools.cache", "re"} <= found
