"""Start the CUDA driver and a device while Python imports the rest.

Both take a quarter of a second, in which they do not hold the interpreter's lock.
"""

import ctypes
from threading import Thread


def start_driver() -> None:
    """Begin to start the first visible device, in a thread; do nothing without one.

    What is wrong with a driver is said where the device is used.
    """
    Thread(target=_start, name="mndmst-driver").start()


def _start() -> None:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    if driver.cuInit(0) == 0:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), 0)
