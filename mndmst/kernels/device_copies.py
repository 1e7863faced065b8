"""Copies from pinned memory to a device, for kernels: calls of its driver's functions.

Each returns 0 or the number of the driver's error; see `graph.arc_files.Driver`.
"""

import numpy as np

from ..native.kernel import kernel
from .intrinsics import call_function


@kernel
def enter_device(driver):
    """Let this thread use the device."""
    return call_function(driver.enter, driver.context, 0, 0, 0)


@kernel
def begin_copy(driver, lane, begin, end, target):
    """Begin to copy memory[begin:end] of a lane to an address."""
    source = np.int64(lane.memory.ctypes.data) + begin
    return call_function(driver.copy, target, source, end - begin, lane.stream)


@kernel
def wait_for_copies(driver, lane):
    """Wait until the copies of a lane are done."""
    return call_function(driver.wait, lane.stream, 0, 0, 0)
