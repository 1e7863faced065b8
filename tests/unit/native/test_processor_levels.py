"""Levels of code: each belongs to an architecture, and LLVM knows each."""

import platform
from collections.abc import Iterator

import numpy as np
import pytest

from mndmst.native import compiler, processor_levels
from mndmst.native.compiler import compile_kernel, compile_runtime
from mndmst.native.linker import undefined_symbols
from mndmst.native.processor_levels import NAMES, NATIVE, Level, best_level

INTEL = "GenuineIntel 6 85 fpu sse2 avx avx2 bmi1 bmi2 f16c fma abm movbe avx512f"
GRACE = "fp asimd evtstrm aes sha2 crc32 atomics fphp asimdhp cpuid asimdrdm sve"
CORTEX_A72 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid"


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    best_level.cache_clear()
    yield
    best_level.cache_clear()


@pytest.mark.parametrize(
    ("machine", "processor", "level"),
    [
        ("x86_64", INTEL, "x86-64-v3"),
        ("x86_64", INTEL.replace("movbe", ""), NATIVE),
        ("aarch64", GRACE, "armv8.1-a"),
        ("aarch64", CORTEX_A72, NATIVE),
        ("aarch64", INTEL, NATIVE),  # an emulator shows the processor of its host
        ("x86_64", GRACE, NATIVE),
        ("arm64", "arm64 Apple M3", NATIVE),
        ("riscv64", "rv64imafdc", NATIVE),
        ("ppc64le", "", NATIVE),
    ],
)
def test_a_processor_has_its_architectures_level_or_its_own(
    monkeypatch: pytest.MonkeyPatch, machine: str, processor: str, level: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(processor_levels, "processor", lambda: processor)
    assert best_level() == level


def sum_above(values, least):
    total = 0.0
    for value in values:
        if value > least:
            total += value
    return int(total), np.sqrt(total)


MACHINES = {"x86-64-v3": 62, "armv8.1-a": 183}  # in the head of an object


@pytest.mark.parametrize("level", NAMES)
def test_every_machine_compiles_for_all_levels(
    capfd: pytest.CaptureFixture[str], level: str
) -> None:
    code = compile_kernel(sum_above, "f8[],f8", level)
    if level != NATIVE and platform.system() == "Linux":
        assert code.code[18] == MACHINES[level]
    needed = undefined_symbols(code.code) | undefined_symbols(
        compile_runtime(level).code
    )
    assert not {name for name in needed if not compiler._known(name)}
    assert capfd.readouterr() == ("", "")


def repeated(values, count):
    if count < 0:
        raise ValueError("a negative count")
    made = np.empty(count * len(values), values.dtype)
    for i in range(count):
        made[i * len(values) : (i + 1) * len(values)] = values
    return made


@pytest.mark.parametrize("level", NAMES)
def test_a_kernel_has_the_same_bytes_in_every_process(level: str) -> None:
    """Numba counts the functions of the process, and notes where their sources are."""
    first = compile_kernel(repeated, "u4[],i8", level)
    compile_kernel(sum_above, "f8[],f8", level)
    assert compile_kernel(repeated, "u4[],i8", level) == first
    assert first.symbol.startswith(f"{__name__}.repeated-")
    assert b".py" not in first.code


def combined(values, others):
    made = values + others
    made[: len(others)] = others
    return made


@pytest.mark.parametrize("level", NAMES)
def test_messages_of_numba_say_nothing_of_the_process(level: str) -> None:
    """They would name a file of Numba's, and count compiled functions."""
    code = compile_kernel(combined, "f8[],f8[]", level).code
    assert b"unable to broadcast argument" in code
    assert b"missing Environment" in code
    assert b".py" not in code
    assert b"NumbaEnv" not in code


@pytest.mark.skipif(best_level() != "x86-64-v3", reason="names features of x86")
def test_code_that_lacks_functions_is_refused_before_it_is_linked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """LLVM's linker would end the process, with a line of its own."""
    soft = Level("x86_64", "x86-64", "+soft-float,-sse", frozenset())
    monkeypatch.setitem(compiler.LEVELS, "soft", soft)
    with pytest.raises(TypeError, match=r"__\w+df"):
        compile_kernel(sum_above, "f8[],f8", "soft")


def test_features_of_this_processor_bound_native_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hypervisor may hide features that the model's name stands for."""
    monkeypatch.setattr(compiler.codegen, "get_host_cpu_features", lambda: "-avx512f")
    made = compiler._Codegen(NATIVE)
    assert made._tm_features == "-avx512f"
    assert compiler._Codegen("x86-64-v3")._tm_features == ""
