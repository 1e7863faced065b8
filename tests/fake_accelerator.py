"""A kind of accelerator that computes on the CPU."""

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from mndmst.backends import ACCELERATORS
from mndmst.backends.base import Backend


def register_accelerator(
    patch: pytest.MonkeyPatch, name: str, make_device: Callable[..., Backend]
) -> ModuleType:
    """Register a kind of accelerator with one device; return its package.

    The package belongs to the test, which may replace its functions.
    """
    package = ModuleType(f"{name}_accelerator")
    package.NAME, package.visibility = name, lambda: ()
    package.ARRAY_ATTRIBUTE, package.DLPACK_DEVICES = f"__{name}_array__", ()
    package.DISTRIBUTIONS = (f"{name}-driver",)
    package.unavailable = lambda: None
    package.device_names = lambda: [f"{name.title()} 1"]
    package.device_ids = lambda: [f"{name.title()} 1 at 0"]
    package.device_bytes = lambda device: 1 << 40
    package.start_driver = lambda local_rank: None
    package.make_device = make_device
    patch.setitem(sys.modules, package.__name__, package)
    patch.setitem(ACCELERATORS, name, package.__name__)
    return package
