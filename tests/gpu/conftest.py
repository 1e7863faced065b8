"""The device that tests share."""

import pytest


@pytest.fixture(scope="module")
def backend():
    """Return a backend on the first device; a file's tests share it."""
    from mndmst.backends.cuda.backend import CudaBackend

    return CudaBackend()
