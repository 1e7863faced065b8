"""The kernels of `kernels/*.cu`, compiled for the device on first use.

One module per file and key width; CuPy keeps the binaries in its cache on disk.
"""

from functools import cached_property
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from ...errors import ConfigError

DIRECTORY = Path(__file__).with_name("kernels")

# Which file holds which kernels.
FILES = {
    "sample": ("draw_sample", "choose_cut"),
    "scan": ("find_tiles", "scan_rows"),
    "first_round": ("find_nearest", "hook_vertices"),
    "rounds": ("run_rounds",),
    "outside": ("find_giant", "list_outside"),
    "label": ("find_smallest", "write_labels"),
    "next_lightest": ("find_next",),
}
TILE = 2048  # arcs of a block in scan.cu
ROUND_THREADS = 512  # threads of a block in rounds.cu
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

    def launch(self, name: str, threads: int, *args: Any, block: int = 256) -> None:
        """Run a kernel with at least `threads` threads on the current stream."""
        blocks = -(-threads // block)
        if blocks:
            self._function(name)((blocks,), (block,), args)

    def run_rounds(self, *args: Any) -> None:
        """Run the rounds with as many blocks as the device holds at once."""
        self._function("run_rounds")((self._resident,), (ROUND_THREADS,), args)

    @cached_property
    def _resident(self) -> int:
        function = self._function("run_rounds").kernel
        blocks = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
            function.ptr, ROUND_THREADS, 0
        )
        return blocks * cupy.cuda.Device().attributes["MultiProcessorCount"]

    def _function(self, name: str) -> Any:
        if name not in self._functions:
            file = next(file for file, names in FILES.items() if name in names)
            module = cupy.RawModule(
                code=_source(file),
                options=("-std=c++17", f"-DKEY_BITS={8 * np.dtype(self.key).itemsize}"),
                enable_cooperative_groups=file == "rounds",
            )
            for other in FILES[file]:
                self._functions[other] = module.get_function(other)
        return self._functions[name]


def _source(file: str) -> str:
    # One text, because CuPy's cache does not look into included files.
    try:
        paths = (DIRECTORY / "common.cuh", DIRECTORY / f"{file}.cu")
        return "".join(f'#line 1 "{path}"\n{path.read_text()}\n' for path in paths)
    except OSError as error:
        raise ConfigError(
            f"the CUDA kernels are not where they were installed ({error}); "
            "install mndmst again"
        ) from error
