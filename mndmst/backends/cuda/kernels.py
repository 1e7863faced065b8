"""The kernels of `kernels/*.cu`: found as machine code, or compiled on first use.

One module per file and values of its macros, such as the width of keys. A cubin for the
device comes from the cache of this user, from `MNDMST_KERNELS` or from the installation
(`native/cache_dirs.py`). NVRTC compiles a missing one and stores it. Without NVRTC the
driver compiles shipped PTX.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from ...host.caches import read_trusted, replace_file
from ...host.errors import ConfigError, MndmstError
from ...native.cache_dirs import directories_named, directory_for, writable_named
from ...native.code_store import with_digest, without_digest
from . import use_private_cache

use_private_cache()

DIRECTORY = Path(__file__).with_name("kernels")

# Which file holds which kernels.
FILES = {
    "sample": ("draw_sample", "choose_cut"),
    "inspect": ("inspect_arcs",),
    "scan": ("find_tiles", "scan_first", "scan_all", "scan_chosen"),
    "first_round": ("hook_vertices",),
    "rounds": ("run_rounds",),
    "levels": ("contract", "flatten"),
    "outside": ("find_giant", "list_outside"),
    "label": ("find_smallest", "write_labels"),
    "draw": ("draw_arcs",),
    "ghosts": ("mark_ghosts", "list_ghosts", "to_local"),
    "prefix": (
        "scan_sums", "sum_marks", "scan_marks", "sum_bits", "scan_bits",
        "sum_degrees", "scan_degrees",
    ),
    "columns": (
        "number_vertices", "start_components", "find_key_range", "pack_ends",
        "gather_edges", "select_edges", "make_keys",
    ),
}  # fmt: skip
COOPERATIVE = ("run_rounds", "contract", "flatten")  # their blocks wait for each other
COOPERATIVE_THREADS = 512  # of a block in components.cuh
TILE, TILE_THREADS = 2048, 256  # arcs and threads of a block in tiles.cuh
SCANNED = 4096  # items of a block in prefix.cu
NULL = np.uint64(0)

# The processors that `mndmst compile --cuda` compiles for. Code for sm_80 runs on all
# processors 8.x. The driver compiles PTX for later ones.
ARCHITECTURES = ("sm_80", "sm_90", "compute_80")
OPTIONS = ("-std=c++17",)
# Optimizes the functions of a module in parallel, from this version of NVRTC on.
SPLIT, SPLIT_FROM = "--split-compile=0", (13, 0)
KEYS = (np.uint32, np.uint64)

# The most modules that a process keeps for later searches.
LOADED = 128
# Macros of a module, in the order of its file's comment.
Macros = Mapping[str, int | str]
# Of `point_multiply`: factors, their parts, and how many of its tiles fit in the shared
# memory of processors that run the code.
FACTORS = ("f16", 1), ("bf16", 3)
STAGES = {"sm_80": (2, 3), "sm_90": (4,), "compute_80": (4,)}
# Of `point_products`: types of columns and of rows, and whether they are divided.
POINT_TYPES = (
    ("float", 0, "float", 0), ("float", 1, "float", 1), ("double", 0, "double", 0),
    ("double", 1, "double", 1), ("float", 0, "double", 0), ("float", 1, "double", 0),
    ("double", 1, "double", 0),
)  # fmt: skip
# Of `point_tree`: how many neighbours a point lists for plain and for mutual
# reachability distances; the norm, dimensions and lists that are compiled ahead.
PLAIN_LIST, MUTUAL_LISTS = 6, (8, 12, 18, 34, 66)
EUCLIDEAN, TREE_DIMENSIONS = 2, (2, 3)
TREE_LISTS = ((False, PLAIN_LIST), *((True, n) for n in MUTUAL_LISTS[:2]))


class Kernels:
    """The kernels for keys of uint32 or uint64, on the current device."""

    def __init__(self, key_dtype: np.dtype) -> None:
        self.key = np.dtype(key_dtype).type
        self._functions: dict[str, cupy.cuda.Function] = {}
        self._resident: dict[str, int] = {}

    def load(self, device: cupy.cuda.Device) -> None:
        """Load all kernels; missing ones compile in parallel."""
        with device:
            load_modules((file, _key_macros(self.key)) for file in FILES)

    def launch(self, name: str, threads: int, *args: Any, block: int = 256) -> None:
        """Run a kernel with at least `threads` threads on the current stream."""
        blocks = -(-threads // block)
        if blocks:
            self._function(name)((blocks,), (block,), args)

    def launch_together(self, name: str, *args: Any) -> None:
        """Run a cooperative kernel with all blocks that the device holds at once."""
        function = self._function(name)
        if name not in self._resident:
            blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                function.ptr, COOPERATIVE_THREADS, 0
            )
            processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
            self._resident[name] = blocks * processors
        function(
            (self._resident[name],), (COOPERATIVE_THREADS,), args,
            enable_cooperative_groups=name in COOPERATIVE,
        )  # fmt: skip

    def tile_rows(self, offset: cupy.ndarray, rows: int, arcs: int) -> cupy.ndarray:
        """Return the row in which each tile of arcs begins, and the end (uint32).

        `offset` has the first arc of each row.
        """
        tiles = -(-arcs // TILE)
        row = cupy.empty(tiles + 1, np.uint32)
        self.launch(
            "find_tiles", tiles + 1, offset, np.uint64(rows), np.uint64(arcs), row,
            np.uint64(tiles),
        )  # fmt: skip
        return row

    def prefix_sums(self, kind: str, items: cupy.ndarray) -> cupy.ndarray:
        """Return the exclusive prefix sums of some items, with the sum of all behind.

        Items are "marks" (uint8, sums of uint64), "bits" of words (uint32, sums of
        uint32) or "degrees" (int64, sums of int64).
        """
        dtype = {"marks": np.uint64, "bits": np.uint32, "degrees": np.int64}[kind]
        count, tiles = len(items), max(1, -(-len(items) // SCANNED))
        sums = cupy.empty(tiles + 1, np.uint64)
        prefix = cupy.empty(count + 1, dtype)
        self.launch(f"sum_{kind}", 256 * tiles, items, np.uint64(count), sums)
        self.launch("scan_sums", 1024, sums, np.uint64(tiles), block=1024)
        self.launch(f"scan_{kind}", 256 * tiles, items, np.uint64(count), sums, prefix)
        return prefix

    def _function(self, name: str) -> cupy.cuda.Function:
        if name not in self._functions:
            self._load(next(file for file, names in FILES.items() if name in names))
        return self._functions[name]

    def _load(self, file: str) -> None:
        module = load_module(file, _key_macros(self.key))
        for name in FILES[file]:
            self._functions[name] = module.get_function(name)


def load_module(file: str, macros: Macros) -> cupy.cuda.Module:
    """Return the module of a file of kernels with some macros, on this device.

    Later searches of the process use it again. Raises ConfigError if no code for the
    device is stored, and none can be compiled.
    """
    return _loaded(cupy.cuda.Device().id, file, tuple(macros.items()))


def load_modules(modules: Iterable[tuple[str, Macros]]) -> None:
    """Load files of kernels with their macros; missing ones compile in parallel."""
    device = cupy.cuda.Device()

    def load(module: tuple[str, Macros]) -> None:
        with device:
            load_module(*module)

    directory_name()  # once, before threads want it
    wanted = list(modules)
    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(load, wanted))


def struct_of(
    kinds: np.dtype, columns: Mapping[str, Any], **numbers: float
) -> cupy.ndarray:
    """Return a struct of a kernel on the device: addresses of arrays, and numbers."""
    struct = np.zeros(1, kinds)
    for name, column in columns.items():
        struct[name] = column.data.ptr
    for name, number in numbers.items():
        struct[name] = number
    return cupy.asarray(struct.view(np.uint8))


@lru_cache(LOADED)
def _loaded(
    device: int, file: str, pairs: tuple[tuple[str, int | str], ...]
) -> cupy.cuda.Module:
    """See `load_module`; `device` is the current one."""
    macros = dict(pairs)
    own = f"sm_{cupy.cuda.Device().compute_capability}"
    for architecture in (own, *_older(own)):
        module = _stored(file, macros, architecture)
        if module is not None:
            return module
    try:
        code = compile_kernels(file, macros, own)
    except MndmstError:
        raise
    except (ImportError, OSError, RuntimeError) as error:
        module = _stored(file, macros, ARCHITECTURES[-1])
        if module is None:
            raise ConfigError(
                f"the CUDA kernels cannot be compiled ({error}); pip install "
                "'mndmst[cuda]', or set MNDMST_KERNELS to a directory that mndmst "
                "compile --cuda --into has filled"
            ) from error
        return module
    directory = writable_named(directory_name())
    if directory is not None:
        with suppress(OSError):  # the next process compiles it
            _store(directory, file, macros, own, code)
    return _module(code)


def any_loaded() -> bool:
    """Return whether this process has loaded a module."""
    return _loaded.cache_info().currsize > 0


def compile_kernels(file: str, macros: Macros, architecture: str) -> bytes:
    """Return a cubin, or PTX for an architecture "compute_*"; no device is needed."""
    nvrtc = cupy.cuda.nvrtc
    program = nvrtc.createProgram(kernel_source(file), f"{file}.cu", (), ())
    try:
        defines = (f"-D{name}={value}" for name, value in macros.items())
        options = (*OPTIONS, *defines, f"-arch={architecture}")
        if nvrtc.getVersion() >= SPLIT_FROM:
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


def compile_all(base: Path | None, jobs: int | None) -> tuple[Path, int]:
    """Compile all kernels for `ARCHITECTURES` into a directory below `base`.

    Returns the directory, and the number of modules there.
    """
    directory = directory_for(base, directory_name())
    wanted = list(modules_ahead())

    def make(module: tuple[str, Macros, str]) -> None:
        if _read(directory, *module) is None:
            _store(directory, *module, compile_kernels(*module))

    try:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(make, wanted))
    except (ImportError, OSError, RuntimeError) as error:
        raise ConfigError(f"the CUDA kernels cannot be compiled: {error}") from error
    return directory, len(wanted)


def modules_ahead() -> Iterator[tuple[str, Macros, str]]:
    """Yield the file, the macros and the architecture of each module compiled ahead.

    The longest compilations come first.
    """
    for architecture in ARCHITECTURES:
        for factor, parts in FACTORS:
            for stages in STAGES[architecture]:
                macros = multiply_macros(factor, parts, stages)
                yield "point_multiply", macros, architecture
        for types in POINT_TYPES:
            yield "point_products", type_macros(*types), architecture
        for value in ("float", "double"):
            for file in ("point_rows", "point_factors"):
                yield file, {"VALUE": value}, architecture
            for dimensions in TREE_DIMENSIONS:
                for mutual, listed in TREE_LISTS:
                    macros = tree_macros(value, dimensions, EUCLIDEAN, mutual, listed)
                    yield "point_tree", macros, architecture
        for file in FILES:
            for key in KEYS:
                yield file, _key_macros(key), architecture


def _key_macros(key: type) -> Macros:
    return {"KEY_BITS": 8 * np.dtype(key).itemsize}


def multiply_macros(factor: str, parts: int, stages: int) -> Macros:
    """Return the macros of `point_multiply`."""
    return {"FACTOR": factor, "PARTS": parts, "STAGES": stages}


def type_macros(value: str, divided: int, query: str, query_divided: int) -> Macros:
    """Return the macros of `point_products`."""
    macros: Macros = {"VALUE": value, "DIVIDED": divided, "QUERY": query}
    return {**macros, "QUERY_DIVIDED": query_divided}


def tree_macros(
    value: str, dimensions: int, norm: int, mutual: bool, listed: int
) -> Macros:
    """Return the macros of `point_tree`."""
    numbers = {"NORM": norm, "MUTUAL": int(mutual), "LISTED": listed}
    return {"VALUE": value, "DIMENSIONS": dimensions, **numbers}


def _older(own: str) -> Iterator[str]:
    """Yield the compiled architectures whose code also runs on an architecture."""
    for other in ARCHITECTURES:
        if other.startswith("sm_") and other[:-1] == own[:-1] and other < own:
            yield other


@cache
def directory_name() -> str:
    """Return the name of directories with code of these sources.

    Code of one major version of the toolkit runs with all drivers for this version.
    """
    text = hashlib.blake2b(repr((OPTIONS, FILES)).encode(), digest_size=8)
    for source in sorted(DIRECTORY.glob("*.cu*")):
        text.update(f"{source.name}\n".encode() + source.read_bytes())
    major = cupy.cuda.runtime.runtimeGetVersion() // 1000
    return f"cuda{major}-{text.hexdigest()}"


def _stored(file: str, macros: Macros, architecture: str) -> cupy.cuda.Module | None:
    """Return a stored module that this device's driver takes; None without one."""
    for directory in directories_named(directory_name()):
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
    return without_digest(read_trusted(path) or b"")


def _store(
    directory: Path, file: str, macros: Macros, architecture: str, code: bytes
) -> None:
    replace_file(_path(directory, file, macros, architecture), with_digest(code))


def kernel_source(file: str) -> str:
    """Return the text of a file of kernels, with its includes in place."""
    try:
        return _inlined(DIRECTORY / f"{file}.cu")
    except OSError as error:
        raise ConfigError(
            f"the CUDA kernels are not where they were installed ({error}); "
            "install mndmst again"
        ) from error


def _inlined(path: Path) -> str:
    """Return a text with its includes in place: CuPy's cache does not look there.

    The compiler's messages name the real files.
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
