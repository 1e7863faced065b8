"""What all unit tests share."""

from collections.abc import Iterator

import pytest

from mndmst.kernels import threads


@pytest.fixture(autouse=True, scope="module")
def small_shares() -> Iterator[None]:
    """Let threads share what is in tests, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "GRAIN", 16)
        yield
