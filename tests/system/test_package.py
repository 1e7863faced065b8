"""The wheel and the source distribution are whole, and work once installed."""

import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import ROOT

if TYPE_CHECKING:  # needs CuPy
    from mndmst.backends.cuda.modules import KernelSources

# What is no module, but needed at run time.
DATA = (
    "backends/cuda/kernels/rounds.cu", "docs/tutorial.md",
    "native/memory.ll", "native/signatures.txt",
)  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the source distribution, which is built from the checkout."""
    folder = tmp_path_factory.mktemp("dist")
    checkout = folder / "checkout"
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if files.returncode:
        pytest.skip("not a git checkout")
    for name in filter(None, files.stdout.split("\0")):
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            (checkout / name).write_bytes((ROOT / name).read_bytes())
    script = "from setuptools import build_meta as b; print(b.build_sdist(%r))"
    build(checkout, script % str(folder))
    source = next(folder.glob("*.tar.gz"))
    # Python's own extraction takes a filter, and warns without, but not before 3.11.4.
    subprocess.run(["tar", "-xf", source, "-C", folder], check=True)
    unpacked = folder / source.name.removesuffix(".tar.gz")
    build(unpacked, script.replace("sdist", "wheel") % str(folder))
    return next(folder.glob("*.whl"))


def build(directory: Path, script: str) -> None:
    """Run a build step; setuptools comes with the environments we make."""
    pytest.importorskip("setuptools", "77", reason="building needs setuptools 77")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=directory, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_nothing_is_missing(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "mndmst").rglob("*.py")
        if subprocess.run(
            ["git", "ls-files", "--error-unmatch", path], cwd=ROOT, capture_output=True,
            check=False,
        ).returncode == 0
    }  # fmt: skip
    assert len(modules) > 100
    assert modules - names == set()
    assert {f"mndmst/{name}" for name in DATA} - names == set()
    assert not {name for name in names if name.startswith("tests")}


def test_it_runs_where_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    """What it depends on is there already; nothing of the checkout is in reach."""
    place = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(place)
    (data,) = place.glob("*.data/data")
    (data / "share").rename(place / "share")
    script = (
        f"import sys; sys.path[:0] = [{str(place)!r}]; import mndmst; "
        f"assert mndmst.__file__.startswith({str(place)!r}), mndmst.__file__; "
        "from mndmst.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=tmp_path,
            capture_output=True, text=True, timeout=150, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("--version").startswith("mndmst 1.")
    assert "n=5184 m=6691 edges=5094" in run()  # the graph that comes along
    assert "5184" in run("info", str(ROOT / "partitions/demo"))
    assert "numba" in run("info")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_wheels_with_kernels_hold_code_for_cpus_and_gpus(tmp_path: Path) -> None:
    """They carry every kernel of a level, and modules for GPUs of 2020 and later."""
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:  # each packaging of NVRTC is missed by another error
        pytest.skip(f"NVRTC is missing: {error}")
    from mndmst.backends.cuda import kernels as graphs
    from mndmst.points.cuda import modules as points

    command = ["bash", ROOT / "launch/wheel.sh", tmp_path, "--cuda"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=3500, check=False
    )
    assert done.returncode == 0, done.stderr
    for level, tag in (("x86-64-v3", "x86_64"), ("armv8.1-a", "aarch64")):
        (wheel,) = tmp_path.glob(f"*-py3-none-manylinux2014_{tag}.whl")
        check_kernels(zipfile.ZipFile(wheel), level, [graphs.SOURCES, points.SOURCES])
    (pure,) = tmp_path.glob("*-py3-none-any.whl")
    assert not [n for n in zipfile.ZipFile(pure).namelist() if "/objects/" in n]


def check_kernels(
    wheel: zipfile.ZipFile, level: str, cuda: "list[KernelSources]"
) -> None:
    objects = [n for n in wheel.namelist() if n.startswith("mndmst/native/objects/")]
    cpu = [n for n in objects if n.endswith(".o")]
    assert len(cpu) > 300
    assert all(name.split("/")[3].startswith(f"{level}-") for name in cpu)
    # a place of the build, or a count of what its process had compiled before
    places = [n for n in cpu if re.search(rb"\.py|NumbaEnv", wheel.read(n))]
    assert not places
    digests = wheel.read("mndmst/native/objects/__init__.py").decode()
    assert all(f'"{name.partition("objects/")[2]}": "' in digests for name in cpu)
    for architecture, suffix, begin in (
        ("sm_80", "cubin", b"\x7fELF"),
        ("sm_90", "cubin", b"\x7fELF"),
        ("compute_80", "ptx", b"//\n// Generated by NVIDIA NVVM"),
    ):
        found = [n for n in objects if n.endswith(f"-{architecture}.{suffix}")]
        assert Counter(Path(name).name.partition("-")[0] for name in found) == Counter(
            file for sources in cuda for file, macros in sources.ahead(architecture)
        )
        for name in found:
            assert wheel.read(name).lstrip().startswith(begin), name


def test_the_wheel_names_its_extras(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    metadata = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    text = archive.read(metadata).decode()
    for extra in ("mpi", "cuda", "formats", "networkx", "plot"):
        assert f"Provides-Extra: {extra}" in text
    points = archive.read(metadata.replace("METADATA", "entry_points.txt")).decode()
    assert "[networkx.backends]" in points
