"""Solve arrays and points without the files and calls of Linux; run as a script.

    python tests/system/other_system_program.py [Darwin]

With a name the system also says that it is this one, so that LLVM links the kernels and
waiting threads yield in place of futexes. Prints `done`.
"""

import fcntl
import os
import platform
import signal
import sys
import time

LINUX_FILES = ("/proc", "/sys", "/dev/shm")
LINUX_NAMES = {
    os: (
        "sched_getaffinity", "sched_setaffinity", "sched_getscheduler", "memfd_create",
        "posix_fadvise", "posix_fallocate", "copy_file_range", "splice", "eventfd",
        "pidfd_open", "pipe2", "preadv", "O_TMPFILE", "O_PATH", "O_DIRECT",
        "process_cpu_count",
    ),
    fcntl: ("F_SETSIG", "F_SETLEASE", "F_SETPIPE_SZ"),
    signal: ("sigtimedwait", "sigwaitinfo"),
    time: ("CLOCK_BOOTTIME",),
}  # fmt: skip
hidden: list[str] = []


def hide(event: str, arguments: tuple) -> None:
    if event in ("open", "os.listdir", "os.scandir") and arguments:
        path = arguments[0]
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if isinstance(path, str) and path.startswith(LINUX_FILES):
            hidden.append(path)
            raise FileNotFoundError(2, os.strerror(2), path)


def without_linux(system: str = "") -> None:
    """Hide what other systems do not have, from this process on."""
    for module, names in LINUX_NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sysconf = os.sysconf

    def portable(name: str) -> int:
        if name == "SC_AVPHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return sysconf(name)

    os.sysconf = portable  # type: ignore[assignment]
    if system:
        platform.system = lambda: system  # type: ignore[assignment]
    sys.addaudithook(hide)


def main() -> None:
    import numpy as np

    import mndmst
    from mndmst.points.point_forest import points_forest

    random = np.random.default_rng(1)
    ends = random.integers(0, 3000, (2, 20000))
    weight = random.integers(-99, 99, 20000)
    forest = mndmst.minimum_spanning_forest(*ends, weight, threads=2)
    assert len(forest.edges) + forest.num_trees == forest.num_vertices
    assert forest.connected([0], [1]).shape == (1,)
    points = random.random((3000, 2))
    found = points_forest(points, min_samples=3, threads=2)
    assert found.exact
    assert len(found.forest.edges) == 2999
    labels = mndmst.HDBSCAN(min_cluster_size=20).fit(points).labels_
    assert len(labels) == 3000
    print("done")


if __name__ == "__main__":
    without_linux(*sys.argv[1:])
    main()
