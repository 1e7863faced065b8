"""The kernels of `kernels/*.cu`, which compute forests of graphs."""

from collections.abc import Iterator
from pathlib import Path

import cupy
import numpy as np
from cupy.cuda import thrust

from .modules import KernelSources, Macros

# Which file holds which kernels.
FILES = {
    "sample": ("draw_sample", "choose_cut"),
    "inspect": ("inspect_arcs",),
    "scan": ("find_tiles", "scan_first", "scan_all", "scan_chosen"),
    "first_round": ("find_nearest", "hook_vertices"),
    "rounds": ("run_rounds",),
    "levels": ("contract", "flatten"),
    "outside": ("find_giant", "list_outside"),
    "label": ("find_smallest", "write_labels"),
    "hooks": ("hook_rows", "mark_others"),
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
KEYS = (np.uint32, np.uint64)


class Kernels:
    """The kernels for keys of uint32 or uint64, on the current device."""

    def __init__(self, key_dtype: np.dtype) -> None:
        self.key = np.dtype(key_dtype).type
        self._functions: dict[str, cupy.cuda.Function] = {}
        self._resident: dict[str, int] = {}

    def load(self, device: cupy.cuda.Device) -> None:
        """Load all kernels; missing ones compile in parallel."""
        with device:
            SOURCES.load_modules((file, _key_macros(self.key)) for file in FILES)

    def launch(self, name: str, threads: int, *args: object, block: int = 256) -> None:
        """Run a kernel with at least `threads` threads on the current stream."""
        blocks = -(-threads // block)
        if blocks:
            self._function(name)((blocks,), (block,), args)

    def launch_together(self, name: str, *args: object) -> None:
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
        module = SOURCES.load_module(file, _key_macros(self.key))
        for name in FILES[file]:
            self._functions[name] = module.get_function(name)


def order_of(keys: cupy.ndarray) -> cupy.ndarray:
    """Return the positions of keys in ascending order; equal keys stay in theirs.

    `cupy.argsort` copies its keys by a kernel, which CuPy compiles on first use.
    """
    order, taken = cupy.empty(len(keys), np.int64), cupy.empty_like(keys)
    stream = cupy.cuda.get_current_stream()
    taken.data.copy_from_device_async(keys.data, keys.nbytes, stream)
    thrust.argsort(keys.dtype, order.data.ptr, taken.data.ptr, 0, keys.shape)
    return order


def _key_macros(key: type) -> Macros:
    return {"KEY_BITS": 8 * np.dtype(key).itemsize}


def _ahead(architecture: str) -> Iterator[tuple[str, Macros]]:
    """Yield the modules that are compiled ahead; equal for all architectures."""
    for file in FILES:
        for key in KEYS:
            yield file, _key_macros(key)


SOURCES = KernelSources(Path(__file__).with_name("kernels"), _ahead)
