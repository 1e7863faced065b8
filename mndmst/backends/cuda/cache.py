"""CuPy's cache of compiled kernels, which run on the device."""

import os
from pathlib import Path

from ...host.caches import fresh_directory, tell_once, weak_file_in, weak_place


def use_cache_of_ones_own() -> None:
    """Point CuPy to a cache that no other user can change, before it compiles.

    Raises
    ------
    ConfigError
        If there is none.
    """
    given = os.environ.get("CUPY_CACHE_DIR")
    directory = Path(given) if given else Path.home() / ".cupy" / "kernel_cache"
    try:
        weak = weak_place(directory)
        if weak is None and directory.exists():
            weak = weak_file_in(directory)
    except OSError:
        return  # CuPy then cannot read it either
    if weak:
        fresh = fresh_directory()
        os.environ["CUPY_CACHE_DIR"] = str(fresh)
        tell_once(directory, weak, fresh)
