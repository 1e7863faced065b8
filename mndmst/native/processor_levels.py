"""Processor levels: the instruction sets that kernels are compiled for.

A level belongs to one architecture. A processor of another architecture, or below its
architecture's level, needs code compiled for itself (`NATIVE`).
"""

import ctypes
import functools
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Code for processors of the same model and features as this one.
NATIVE = "native"


@dataclass(frozen=True)
class Level:
    """A set of instructions that many processors of an architecture share."""

    name: str
    machine: str  # the architecture, as `platform.machine` names it
    cpu: str  # LLVM's target: a processor, and features beyond it
    features: str
    # features in /proc/cpuinfo that every processor of this level has
    flags: frozenset[str]


LEVELS = (
    # Intel since 2013 (Haswell), AMD since 2015 (Excavator)
    Level(
        "x86-64-v3", "x86_64", "x86-64-v3", "",
        frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}),
    ),
    # Graviton 2, Ampere Altra, Grace and later: atomic instructions in place of loops
    Level(
        "armv8.1-a", "aarch64", "generic", "+v8.1a",
        frozenset({"asimd", "atomics", "crc32", "asimdrdm"}),
    ),
)  # fmt: skip
NAMES = (*(level.name for level in LEVELS), NATIVE)


def level_named(name: str) -> Level | None:
    """Return the level with a name; None for `NATIVE`."""
    return next((level for level in LEVELS if level.name == name), None)


@functools.cache
def best_level() -> str:
    """Return the name of this architecture's level, or `NATIVE`.

    `NATIVE` is for processors below the level, and architectures without a level.
    """
    machine, flags = platform.machine(), set(processor().split())
    for level in LEVELS:
        if level.machine == machine and flags >= level.flags:
            return level.name
    return NATIVE


@functools.cache
def processor() -> str:
    """Return the first processor's model and features, as the system reports them."""
    if sys.platform == "darwin":
        return f"{platform.machine()} {_sysctl('machdep.cpu.brand_string')}"
    try:
        with Path("/proc/cpuinfo").open() as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    facts = (line.partition(":") for line in lines)
    names = "vendor_id", "cpu family", "model", "flags", "Features", "CPU part"
    return " ".join(value for name, _, value in facts if name.strip() in names)


def _sysctl(name: str) -> str:
    """Return a string of sysctlbyname(3) on macOS; empty if it has none."""
    text = ctypes.create_string_buffer(256)
    size = ctypes.c_size_t(len(text))
    with suppress(AttributeError):
        ctypes.CDLL(None).sysctlbyname(
            name.encode(), text, ctypes.byref(size), None, ctypes.c_size_t(0)
        )
    return text.value.decode(errors="replace")
