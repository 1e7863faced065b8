"""Errors for want of memory are told as such, whatever was being done meanwhile."""

import os
import resource
import subprocess
import sys
from errno import ENOMEM

import pytest

import mndmst.__main__ as program
from mndmst.host.errors import MissingExtraError, optional

MAPPED = "libllvmlite.so: failed to map segment from shared object"


def on_the_way_out(first: BaseException) -> BaseException:
    """Return an error that was raised while another one was handled."""
    try:
        try:
            raise first
        except type(first):
            raise OSError("Could not find/load shared object file") from None
    except OSError as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 8 GiB"),
        OSError(ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError(MAPPED),
        OSError(MAPPED),
        on_the_way_out(RuntimeError("can't start new thread")),
        on_the_way_out(MemoryError()),
    ],
    ids=repr,
)
def test_it_is_a_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
) -> None:
    def run(argv: list[str]) -> int:
        raise error

    monkeypatch.setattr("mndmst.cli.main.main", run)
    assert program.main(["solve"]) == 1
    err = capsys.readouterr().err
    assert "ran out of memory" in err and "bug in mndmst" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("error", [ValueError("can't start new thread"), OSError("x")])
def test_other_errors_are_not(error: Exception) -> None:
    assert program._lack_of_memory(error) is None


def test_a_package_that_cannot_be_loaded_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(module: str) -> None:
        raise ImportError(MAPPED)

    monkeypatch.setattr("mndmst.host.errors.import_module", fail)
    with pytest.raises(MissingExtraError, match=r"installed but cannot be loaded.*map"):
        optional("scipy.spatial", "formats")
    monkeypatch.setattr("mndmst.host.errors.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="which is not installed"):
        optional("scipy.spatial", "formats")


@pytest.mark.skipif(sys.platform != "linux", reason="limits addresses")
@pytest.mark.parametrize("mebibytes", [450, 2000])
def test_threads_that_do_not_fit_are_told(mebibytes: int) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20,) * 2)

    words = ["linkage", "rings", "--count", "20000", "--threads", "4000", "-q"]
    run = subprocess.run(
        [sys.executable, "-m", "mndmst", *words], preexec_fn=limit, check=False,
        capture_output=True, text=True, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.returncode == 1
    assert "ran out of memory" in run.stderr, run.stderr
    assert "bug in mndmst" not in run.stderr
