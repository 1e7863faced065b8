"""Processor levels: the instruction sets that kernels are compiled for.

A level belongs to one architecture. A processor of another architecture, or below its
architecture's level, needs code compiled for itself (`NATIVE`).
"""

import functools
import platform
import sys
from pathlib import Path
from typing import NamedTuple

# Code for processors of the same model and features as this one.
NATIVE = "native"


class Level(NamedTuple):
    """A set of instructions that many processors of an architecture share."""

    machine: str  # the architecture, as `platform.machine` and LLVM name it
    cpu: str  # LLVM's target: a processor, and features beyond it
    features: str
    # features in /proc/cpuinfo that every processor of this level has
    flags: frozenset[str]


LEVELS = {
    # Intel since 2013 (Haswell), AMD since 2015 (Excavator)
    "x86-64-v3": Level(
        "x86_64", "x86-64-v3", "",
        frozenset({"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}),
    ),
    # Graviton 2, Ampere Altra, Grace and later: atomic instructions in place of loops
    "armv8.1-a": Level(
        "aarch64", "generic", "+v8.1a",
        frozenset({"asimd", "atomics", "crc32", "asimdrdm"}),
    ),
}  # fmt: skip
NAMES = (*LEVELS, NATIVE)


@functools.cache
def best_level() -> str:
    """Return the name of this architecture's level, or `NATIVE`.

    `NATIVE` is for processors below the level, and architectures without a level.
    """
    machine, flags = platform.machine(), set(processor().split())
    for name, level in LEVELS.items():
        if level.machine == machine and flags >= level.flags:
            return name
    return NATIVE


@functools.cache
def processor() -> str:
    """Return the first processor's model and features, as the system reports them."""
    if sys.platform == "darwin":
        import subprocess

        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        return f"{platform.machine()} {subprocess.check_output(command, text=True)}"
    try:
        with Path("/proc/cpuinfo").open() as file:
            lines = file.read(8192).partition("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    facts = (line.partition(":") for line in lines)
    names = "vendor_id", "cpu family", "model", "flags", "Features", "CPU part"
    return " ".join(value for name, _, value in facts if name.strip() in names)
