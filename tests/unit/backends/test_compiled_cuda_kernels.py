"""Kernels of CUDA devices are compiled ahead, on machines without a device."""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from mndmst.backends import accelerator
from mndmst.host.errors import ConfigError, MissingExtraError
from mndmst.points.devices import searches_on


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_the_command_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"mndmst\[cuda\]"):
        accelerator("cuda").compile_kernels(tmp_path, 1)
    with pytest.raises(MissingExtraError, match=r"mndmst\[cuda\]"):
        searches_on(accelerator("cuda")).compile_kernels(tmp_path, 1)


@pytest.fixture
def nvrtc() -> None:
    """Skip the test where NVRTC is missing."""
    cupy = pytest.importorskip("cupy")
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:  # each packaging of NVRTC is missed by another error
        pytest.skip(f"NVRTC is missing: {error}")


@pytest.fixture
def compiled(nvrtc: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory of the compiled kernels of one small file."""
    from mndmst.backends.cuda import kernels
    from mndmst.backends.cuda.modules import ARCHITECTURES, KernelSources, Macros

    every = kernels.SOURCES

    def ahead(architecture: str) -> Iterator[tuple[str, Macros]]:
        yield from (m for m in every.ahead(architecture) if m[0] == "label")

    few = KernelSources(every.directory, ahead)
    monkeypatch.setattr(kernels, "SOURCES", few)
    directory, count = accelerator("cuda").compile_kernels(tmp_path, 2)
    assert count == len(list(directory.iterdir())) == 2 * len(ARCHITECTURES)
    return directory


def test_all_architectures_are_compiled_for_both_widths_of_keys(compiled: Path) -> None:
    for bits in (32, 64):
        assert (compiled / f"label-{bits}-sm_80.cubin").read_bytes()[1:4] == b"ELF"
        assert (compiled / f"label-{bits}-sm_90.cubin").read_bytes()[1:4] == b"ELF"
        assert (
            b".target sm_80" in (compiled / f"label-{bits}-compute_80.ptx").read_bytes()
        )


def test_files_hold_the_kernels_that_are_launched(nvrtc: None) -> None:
    from mndmst.backends.cuda.kernels import FILES, SOURCES

    for file, macros in SOURCES.ahead("compute_80"):
        code = SOURCES.compile(file, macros, "compute_80").decode()
        found = re.findall(r"\.entry (\w+)\(", code)
        assert sorted(found) == sorted(FILES[file]), file


@pytest.mark.parametrize("architecture", ["sm_90", "compute_80"])
def test_code_that_is_compiled_ahead_is_the_same_again(
    nvrtc: None, architecture: str
) -> None:
    """Two builds of a wheel are the same bytes."""
    from mndmst.backends.cuda.kernels import SOURCES

    macros = {"KEY_BITS": 64}
    assert len({SOURCES.compile("levels", macros, architecture) for _ in range(4)}) == 1


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_products_of_points_compile(nvrtc: None, architecture: str) -> None:
    from mndmst.points.cuda.modules import SOURCES

    ahead = list(SOURCES.ahead(architecture))
    for file in ("point_multiply", "point_products", "point_rows"):
        macros = next(macros for name, macros in ahead if name == file)
        assert SOURCES.compile(file, macros, architecture)[1:4] == b"ELF"


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize(
    ("value", "dimensions", "mutual", "listed"),
    [("float", 3, False, 6), ("double", 16, True, 66), ("double", 1, True, 8)],
)
def test_trees_of_points_compile(
    nvrtc: None,
    value: str,
    dimensions: int,
    mutual: bool,
    listed: int,
    architecture: str,
) -> None:
    from mndmst.points.cuda.modules import SOURCES, tree_macros

    macros = tree_macros(value, dimensions, mutual, listed)
    assert SOURCES.compile("point_tree", macros, architecture)[1:4] == b"ELF"


def test_damaged_code_is_compiled_again(compiled: Path) -> None:
    damaged = compiled / "label-32-sm_90.cubin"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"x" + whole[1:])
    accelerator("cuda").compile_kernels(compiled.parent, 1)
    assert damaged.read_bytes() == whole


def test_an_error_of_the_compiler_is_an_error_of_the_program(
    compiled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from mndmst.backends.cuda import modules

    monkeypatch.setattr(modules, "OPTIONS", ("-no-such-option",))
    with pytest.raises(ConfigError, match="cannot be compiled"):
        accelerator("cuda").compile_kernels(tmp_path / "other", 1)
