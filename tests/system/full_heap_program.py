"""Starts MPI in a process whose memory is full of letters, but for small holes.

What MPI puts in one of the holes has no zeros behind it for some KiB: see
`mndmst.comm.mpi_library.choose_network`.
"""

import ctypes
import sys

from mndmst.comm.world import world

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


def letters(size: int) -> int:
    """Return the address of new memory full of letters, which stays unless freed."""
    address = libc.malloc(ctypes.c_size_t(size))
    ctypes.memset(address, ord("m"), size)
    return int(address)


holes = []
for size in range(24, 600, 16):
    for _ in range(300):
        holes.append(letters(size))
        letters(4096)
for hole in holes:
    libc.free(hole)

sys.stdout.write(f"{world().size} ranks\n")
