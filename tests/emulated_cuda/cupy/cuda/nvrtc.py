"""A compiler of CUDA's language for the CPU: the host's C++ compiler."""

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

EMULATOR = Path(__file__).parents[2] / "emulator.hpp"
# Instructions of tensor cores, which the emulator has functions for.
INSTRUCTIONS = ("copy_ahead", "load_matrices")


class NVRTCError(RuntimeError):
    """An error of the compiler."""


class _Program:
    def __init__(self, source: str) -> None:
        self.source, self.code, self.log = source, b"", ""


def getVersion() -> tuple[int, int]:  # noqa: N802
    """Return the first version with all functions here."""
    return 12, 0


def createProgram(source: str, name: str, *_: object) -> _Program:  # noqa: N802
    """Return a program."""
    return _Program(source)


def destroyProgram(program: _Program) -> None:  # noqa: N802
    """Do nothing."""


def getProgramLog(program: _Program) -> str:  # noqa: N802
    """Return the compiler's messages."""
    return program.log


def getCUBIN(program: _Program) -> bytes:  # noqa: N802
    """Return the compiled library."""
    return program.code


def compileProgram(program: _Program, options: tuple[str, ...]) -> None:  # noqa: N802
    """Compile a program to a library for the CPU."""
    source = emulated(program.source)
    with TemporaryDirectory() as folder:
        file, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        file.write_text(source)
        defines = [option for option in options if not option.startswith("-arch")]
        command = [
            "g++", *defines, "-O2", "-mf16c", "-ffp-contract=off",
            "-fno-strict-aliasing", "-fno-stack-protector", "-fPIC", "-shared", "-w",
            "-o", library, file,
        ]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True)
        program.log = run.stderr
        if run.returncode:
            raise NVRTCError(run.stderr[-3000:])
        program.code = library.read_bytes()


def emulated(source: str) -> str:
    """Return a source of kernels as C++, with an entry for each kernel."""
    plain = re.sub(r"//.*", "", source)
    names = re.findall(r"__global__[^;{]*?(\w+)\s*\([^()]*\)\s*\{", plain)
    for macro, body in re.findall(r"#define (\w+)\(name.*\\\n((?:.*\\\n)+.*)", plain):
        if "__global__" in body:
            names += re.findall(rf"^{macro}\((\w+)", plain, re.MULTILINE)
    source = re.sub(
        r"extern __shared__ (?:__align__\(\d+\) )?(\w+) (\w+)\[\];",
        r"\1* \2 = (\1*)emulated::dynamic_shared;",
        source,
    )
    source = re.sub(r"__shared__ alignas\((\d+)\)", r"alignas(\1) static", source)
    source = re.sub(r'asm volatile\("cp\.async\.\w+_group[^;]*;\\n"[^;]*;', "", source)
    for name in INSTRUCTIONS:
        source = re.sub(
            rf"(__device__ \w+ {name}\([^{{]*\{{).*?\n\}}",
            lambda found: f"{found[1]} emulated::{_call(found[1])}; }}",
            source,
            flags=re.DOTALL,
        )
    source = re.sub(
        r"(__device__ \w+ multiply_add\([^{]*\{).*?\n\}",
        r"\1 emulated::multiply_add(c, a, b0, b1, NUMBER_OF(FACTOR)); }",
        source,
        flags=re.DOTALL,
    )
    head = "#define NUMBER_OF_(x) emulated::number_of_##x\n"
    head += "#define NUMBER_OF(x) NUMBER_OF_(x)\n"
    entries = "\n".join(f"EMULATE({name})" for name in names)
    return f'#include "{EMULATOR}"\n{head}{source}\n{entries}\n'


def _call(header: str) -> str:
    """Return the call of a function with the names of its own parameters."""
    name, parameters = re.fullmatch(
        r"__device__ \w+ (\w+)\((.*)\) \{", header, re.DOTALL
    ).groups()
    given = [re.search(r"(\w+)\)?(?:\[\d+\])?$", p.strip())[1]
             for p in parameters.split(",")]  # fmt: skip
    return f"{name}({', '.join(given)})"
