"""The kernels of `kernels/*.cu`, compiled for the device on first use.

One module per file and key width; CuPy keeps the binaries in its cache on disk.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from ...host.errors import ConfigError
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
}
COOPERATIVE = ("rounds", "levels")  # files whose blocks wait for each other
COOPERATIVE_THREADS = 512  # of a block in components.cuh
TILE = 2048  # arcs of a block in tiles.cuh
NULL = np.uint64(0)


class Kernels:
    """The kernels for one width of keys, on the current device.

    Attributes
    ----------
    key : type
        numpy.uint32 or numpy.uint64.
    """

    def __init__(self, key_dtype: np.dtype) -> None:
        self.key = np.dtype(key_dtype).type
        self._functions: dict[str, Any] = {}
        self._resident: dict[str, int] = {}

    def load(self, device: cupy.cuda.Device) -> None:
        """Load all kernels; kernels missing from CuPy's cache compile in parallel."""

        def load_file(file: str) -> None:
            with device:
                self._load(file)

        with ThreadPoolExecutor(len(FILES)) as pool:
            list(pool.map(load_file, FILES))

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
                function.kernel.ptr, COOPERATIVE_THREADS, 0
            )
            processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
            self._resident[name] = blocks * processors
        function((self._resident[name],), (COOPERATIVE_THREADS,), args)

    def _function(self, name: str) -> Any:
        if name not in self._functions:
            self._load(next(file for file, names in FILES.items() if name in names))
        return self._functions[name]

    def _load(self, file: str) -> None:
        module = cupy.RawModule(
            code=kernel_source(file),
            options=("-std=c++17", f"-DKEY_BITS={8 * np.dtype(self.key).itemsize}"),
            enable_cooperative_groups=file in COOPERATIVE,
        )
        for name in FILES[file]:
            self._functions[name] = module.get_function(name)


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
