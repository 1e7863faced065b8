"""Kernels of CUDA devices are compiled ahead, on machines without a device."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from mndmst.backends import accelerator
from mndmst.host.errors import ConfigError, MissingExtraError


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_the_command_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"mndmst\[cuda\]"):
        accelerator("cuda").compile_kernels(tmp_path, 1)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The directory of the compiled kernels of one small file."""
    pytest.importorskip("cupy")
    from mndmst.backends.cuda import kernels

    monkeypatch.setattr(kernels, "FILES", {"label": kernels.FILES["label"]})
    kernels.directory_name.cache_clear()  # its digest covers the files
    directory, count = accelerator("cuda").compile_kernels(tmp_path, 2)
    assert count == len(list(directory.iterdir())) == 2 * len(kernels.ARCHITECTURES)
    return directory


def test_all_architectures_are_compiled_for_both_widths_of_keys(compiled: Path) -> None:
    for bits in (32, 64):
        assert (compiled / f"label-{bits}-sm_80.cubin").read_bytes()[1:4] == b"ELF"
        assert (compiled / f"label-{bits}-sm_90.cubin").read_bytes()[1:4] == b"ELF"
        assert (
            b".target sm_80" in (compiled / f"label-{bits}-compute_80.ptx").read_bytes()
        )


def test_damaged_code_is_compiled_again(compiled: Path) -> None:
    from mndmst.backends.cuda import kernels

    damaged = compiled / "label-32-sm_90.cubin"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"x" + whole[1:])
    accelerator("cuda").compile_kernels(compiled.parent, 1)
    assert damaged.read_bytes() == whole
    assert kernels.directory_name() == compiled.name


def test_an_error_of_the_compiler_is_an_error_of_the_program(
    compiled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from mndmst.backends.cuda import kernels

    monkeypatch.setattr(kernels, "OPTIONS", ("-no-such-option",))
    kernels.directory_name.cache_clear()
    with pytest.raises(ConfigError, match="cannot be compiled"):
        accelerator("cuda").compile_kernels(tmp_path / "other", 1)
