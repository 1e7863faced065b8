"""Tests in other systems: aarch64, emulated, and a Debian with a newer Python.

    MNDMST_ROOTS=/var/tmp/roots python -m pytest tests/system/test_debian_roots.py

The directories are made there if need be, in minutes, and stay. Quick tests run in
them: an emulator takes ten times as long as a processor.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from processes import ROOT

SCRIPT = ROOT / "tests/debian_root.sh"
FOLDER = os.environ.get("MNDMST_ROOTS", "")
HOUR = 3600

pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="MNDMST_ROOTS names no directory for roots"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes such systems"),
    pytest.mark.skipif(not shutil.which("debootstrap"), reason="needs debootstrap"),
    pytest.mark.timeout(4 * HOUR),
]
emulated = pytest.mark.skipif(
    not shutil.which("qemu-aarch64-static"), reason="needs qemu-user-static"
)

QUICK = ("unit/cli", "unit/host", "unit/graph", "unit/changes", "unit/points")
ON_RANKS = ("mpi/test_comm.py", "mpi/test_solve.py", "mpi/test_points.py")


def on(root: Path, *words: str) -> str:
    """Run a command in a root; return its output."""
    run = subprocess.run(
        [SCRIPT, "on", root, *words], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, f"{run.stdout[-8000:]}\n{run.stderr[-4000:]}"
    assert "LLVM ERROR" not in run.stderr and "not a recognized" not in run.stderr
    return run.stdout + run.stderr


def root_of(suite: str, architecture: str) -> Path:
    """Return a root, made if need be."""
    root = Path(FOLDER) / f"{suite}-{architecture}"
    root.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([SCRIPT, "up", root, suite, architecture], check=True)
    return root


def quiet_pytest(python: str, *names: str) -> list[str]:
    files = [f"/src/tests/{name}" for name in names]
    options = ["-q", "-p", "no:cacheprovider", "--timeout", str(HOUR)]
    return [python, "-m", "pytest", "--rootdir=/src", *options, *files]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels of this checkout with compiled kernels, built in minutes."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(["bash", ROOT / "launch/wheel.sh", folder], check=True)
    return folder


@pytest.mark.parametrize(
    ("suite", "architecture"),
    [
        ("bookworm", "amd64"),
        ("trixie", "amd64"),
        pytest.param("bookworm", "arm64", marks=emulated),
    ],
)
def test_an_installed_wheel_walks_through_the_readme(
    suite: str, architecture: str, wheels: Path, demo_digest: str
) -> None:
    """It answers without a compiler, and nothing is compiled."""
    root = root_of(suite, architecture)
    (wheel,) = wheels.glob(f"*_{on(root, 'uname', '-m').strip()}.whl")
    shutil.copy(wheel, root / "tmp")
    said = on(root, "/src/tests/installed_wheel.sh", f"/tmp/{wheel.name}")
    assert f"digest={demo_digest}" in said
    assert said.count("VERDICT ok") == 1


# The sources that the extra `test` is installed from: /src cannot be written to.
SOURCES = """
sources=$(mktemp -d)
cp -r /src/{mndmst,partitions,pyproject.toml,README.md,LICENSE} "$sources"
"""
NEWEST = 'pip install -q "$sources[test]"'
# Of each named package the lowest version that pyproject.toml allows and PyPI has. uv
# does not read what pip is told of certificates and an index.
OLDEST = """
python3 -m venv /oldest
pip install -q uv
export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
index=$(pip config get global.index-url 2>/dev/null) && export UV_DEFAULT_INDEX=$index
python=/oldest/bin/python
uv pip install -q --python $python --resolution lowest-direct "$sources[test]"
"""


def test_quick_tests_on_python_of_trixie() -> None:
    root = root_of("trixie", "amd64")
    on(root, "bash", "-ec", SOURCES + NEWEST)
    on(root, *quiet_pytest("python", *QUICK))


def test_the_oldest_packages_that_are_allowed() -> None:
    """The newest ones are those of every other test."""
    root = root_of("bookworm", "amd64")
    on(root, "bash", "-ec", SOURCES + OLDEST)
    on(root, *quiet_pytest("/oldest/bin/python", "unit", *ON_RANKS), "-m", "not slow")
