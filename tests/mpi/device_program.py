"""Solve on ranks; then each rank prints a line of its own.

`device_program.py GRAPH OPTION ...`: a line says whether the rank has loaded CuPy, and
whether it has run kernels of a device.
"""

import sys

from mndmst.__main__ import main
from mndmst.backends import cuda
from mndmst.host.launcher import launched_rank

rank = launched_rank()
status = main(["solve", *sys.argv[1:]])
loaded = "loaded" if "cupy" in sys.modules else "none"
kernels = "kernels" if cuda.started() else "none"
print(f"rank {rank}: {loaded} {kernels}", flush=True)
sys.exit(status)
