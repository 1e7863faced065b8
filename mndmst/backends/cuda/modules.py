"""Load files of CUDA kernels: stored machine code, or code compiled on first use.

One module per file and values of its macros, such as the width of keys. A cubin for the
device comes from the cache of this user, from `MNDMST_KERNELS` or from the installation
(`native/cache_dirs.py`). NVRTC compiles a missing one and stores it. Without NVRTC the
driver compiles shipped PTX.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import cupy
import numpy as np

from ...host.caches import replace_file
from ...host.errors import ConfigError, MndmstError
from ...native.cache_dirs import directories_named, directory_for, writable_named
from ...native.code_store import with_digest, without_digest
from ...native.loader import announced
from ...native.shipped import read_code
from . import use_private_cache

use_private_cache()

# The processors that `mndmst compile --cuda` compiles for. Code for sm_80 runs on all
# processors 8.x. The driver compiles PTX for later ones.
ARCHITECTURES = ("sm_80", "sm_90", "compute_80")
OPTIONS = ("-std=c++17",)
# Optimizes the functions of a module in parallel, from this version of NVRTC on. The
# order of variables in the code then differs from one compilation to the next.
SPLIT, SPLIT_FROM = "--split-compile=0", (13, 0)

# The most loaded modules that a process keeps.
LOADED = 128
# Macros of a module, in the order of its file's comment.
Macros = Mapping[str, int | str]
# A file of kernels, the values of its macros, and an architecture.
Module = tuple[str, Macros, str]


class KernelSources(NamedTuple):
    """A directory of `.cu` files, and the modules that are compiled ahead."""

    directory: Path
    # Yields the modules for an architecture; the longest compilations come first.
    ahead: Callable[[str], Iterator[tuple[str, Macros]]]

    def load_module(self, file: str, macros: Macros) -> cupy.cuda.Module:
        """Return the module of a file of kernels with some macros, on this device.

        Later calls in this process return it again. Raises ConfigError if no code for
        the device is stored, and none can be compiled.
        """
        return _loaded(cupy.cuda.Device().id, self, file, tuple(macros.items()))

    def load_modules(self, modules: Iterable[tuple[str, Macros]]) -> None:
        """Load files of kernels with their macros; missing ones compile in parallel."""
        device = cupy.cuda.Device()

        def load(module: tuple[str, Macros]) -> None:
            with device:
                self.load_module(*module)

        _directory_name(self.directory)  # once, before threads want it
        wanted = list(modules)
        with ThreadPoolExecutor(len(wanted)) as pool:
            list(pool.map(load, wanted))

    def compile_all(self, base: Path | None, jobs: int | None) -> tuple[Path, int]:
        """Compile all kernels for `ARCHITECTURES` into a directory below `base`.

        Returns the directory, and the number of modules there. Raises ConfigError if
        they cannot be compiled or written.
        """
        directory = directory_for(base, _directory_name(self.directory))
        wanted = list(self.modules_ahead())

        def make(module: Module) -> None:
            if _read(directory, *module) is None:
                _store(directory, *module, self.compile(*module))

        try:
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(make, wanted))
        except (ImportError, OSError, RuntimeError) as error:
            raise ConfigError(
                f"the CUDA kernels cannot be compiled: {error}"
            ) from error
        return directory, len(wanted)

    def modules_ahead(self) -> Iterator[Module]:
        """Yield each module that `compile_all` compiles."""
        for architecture in ARCHITECTURES:
            for file, macros in self.ahead(architecture):
                yield file, macros, architecture

    def compile(
        self, file: str, macros: Macros, architecture: str, *, split: bool = False
    ) -> bytes:
        """Return a cubin, or PTX for an architecture "compute_*", without a device.

        With `split` several threads compile it; without, the bytes are always the same.
        """
        nvrtc = cupy.cuda.nvrtc
        program = nvrtc.createProgram(self.text(file), f"{file}.cu", (), ())
        try:
            defines = (f"-D{name}={value}" for name, value in macros.items())
            options = (*OPTIONS, *defines, f"-arch={architecture}")
            if split and nvrtc.getVersion() >= SPLIT_FROM:
                options = (*options, SPLIT)
            nvrtc.compileProgram(program, options)
            if architecture.startswith("sm_"):
                return bytes(nvrtc.getCUBIN(program))
            text = nvrtc.getPTX(program)
            return text.encode() if isinstance(text, str) else bytes(text)
        except nvrtc.NVRTCError as error:
            raise RuntimeError(f"{error}: {nvrtc.getProgramLog(program)}") from error
        finally:
            nvrtc.destroyProgram(program)

    def text(self, file: str) -> str:
        """Return the text of a file of kernels, with its includes in place."""
        try:
            return _inlined(self.directory / f"{file}.cu")
        except OSError as error:
            raise ConfigError(
                f"the CUDA kernels are not where they were installed ({error}); "
                "install mndmst again"
            ) from error


def struct_of(
    kinds: np.dtype, columns: Mapping[str, cupy.ndarray], **numbers: float
) -> cupy.ndarray:
    """Return a struct of a kernel on the device: addresses of arrays, and numbers."""
    struct = np.zeros(1, kinds)
    for name, column in columns.items():
        struct[name] = column.data.ptr
    for name, number in numbers.items():
        struct[name] = number
    on_device = cupy.empty(kinds.itemsize, np.uint8)
    on_device.set(struct.view(np.uint8))  # asarray takes three times as long
    return on_device


@lru_cache(LOADED)
def _loaded(
    device: int,
    sources: KernelSources,
    file: str,
    pairs: tuple[tuple[str, int | str], ...],
) -> cupy.cuda.Module:
    """See `load_module`; `device` is the current one."""
    macros = dict(pairs)
    present = f"sm_{cupy.cuda.Device().compute_capability}"
    for architecture in (present, *_older(present)):
        module = _stored(sources, file, macros, architecture)
        if module is not None:
            return module
    try:
        with announced():
            code = sources.compile(file, macros, present, split=True)
    except MndmstError:
        raise
    except (ImportError, OSError, RuntimeError) as error:
        module = _stored(sources, file, macros, ARCHITECTURES[-1])
        if module is None:
            raise ConfigError(
                f"the CUDA kernels cannot be compiled ({error}); pip install "
                "'mndmst[cuda]', or set MNDMST_KERNELS to a directory that mndmst "
                "compile --cuda --into has filled"
            ) from error
        return module
    directory = writable_named(_directory_name(sources.directory))
    if directory is not None:
        with suppress(OSError):  # the next process compiles it
            _store(directory, file, macros, present, code)
    return _module(code)


def any_loaded() -> bool:
    """Return whether this process has loaded a module."""
    return _loaded.cache_info().currsize > 0


def _older(architecture: str) -> Iterator[str]:
    """Yield the compiled architectures whose code also runs on an architecture."""
    for other in ARCHITECTURES:
        same_major = other[:-1] == architecture[:-1]
        if other.startswith("sm_") and same_major and other < architecture:
            yield other


@cache
def _directory_name(sources: Path) -> str:
    """Return the name of directories with code of these sources.

    Code of one major version of the toolkit runs with all drivers for this version.
    """
    text = hashlib.blake2b(repr(OPTIONS).encode(), digest_size=8)
    for source in sorted(sources.glob("*.cu*")):
        text.update(f"{source.name}\n".encode() + source.read_bytes())
    major = cupy.cuda.runtime.runtimeGetVersion() // 1000
    return f"cuda{major}-{text.hexdigest()}"


def _stored(
    sources: KernelSources, file: str, macros: Macros, architecture: str
) -> cupy.cuda.Module | None:
    """Return a stored module that this device's driver takes; None without one."""
    for directory in directories_named(_directory_name(sources.directory)):
        code = _read(directory, file, macros, architecture)
        if code is not None:
            with suppress(cupy.cuda.driver.CUDADriverError):
                return _module(code)
    return None


def _module(code: bytes) -> cupy.cuda.Module:
    module = cupy.cuda.Module()
    module.load(code)
    return module


def _path(directory: Path, file: str, macros: Macros, architecture: str) -> Path:
    suffix = "cubin" if architecture.startswith("sm_") else "ptx"
    values = "-".join(map(str, macros.values()))
    return directory / f"{file}-{values}-{architecture}.{suffix}"


def _read(
    directory: Path, file: str, macros: Macros, architecture: str
) -> bytes | None:
    path = _path(directory, file, macros, architecture)
    return without_digest(read_code(path) or b"")


def _store(
    directory: Path, file: str, macros: Macros, architecture: str, code: bytes
) -> None:
    replace_file(_path(directory, file, macros, architecture), with_digest(code))


def _inlined(path: Path) -> str:
    """Return the text of a file with its includes in place, for NVRTC.

    Line directives let the compiler's messages name the real files.
    """
    parts = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        include = re.fullmatch(r'#include "(.+)"', line)
        if include:
            parts.append(_inlined(path.with_name(include[1])))
            parts.append(f'#line {number + 1} "{path}"')
        else:
            parts.append(line)
    return "\n".join([f'#line 1 "{path}"', *parts])
