"""The name of points by their contents, computed while they are searched."""

import subprocess
import sys

import numpy as np
import pytest

from mndmst.points import point_files
from mndmst.points.point_files import start_uuid, uuid_of

UUID = "87bd4394-9f6f-5a23-a15c-ad9231111885"

END_WHILE_HASHING = """
import time
from mndmst.points import point_files
point_files.uuid_of = lambda points: time.sleep(100)
point_files.start_uuid(None)
raise {error}
"""


@pytest.mark.parametrize("dtype", ["i8", "f4", ">f8", "g"])
@pytest.mark.parametrize("nbytes", [1, 1000, 1 << 24])
def test_the_name_of_points_is_that_of_their_float64_values(dtype, nbytes, monkeypatch):
    monkeypatch.setattr(point_files, "HASHED", nbytes)
    points = np.arange(6000).reshape(2000, 3).astype(dtype)
    assert uuid_of(points) == UUID
    assert start_uuid(np.asfortranarray(points)).result() == UUID


def test_an_error_is_raised_where_the_name_is_taken(monkeypatch):
    def fail(points):
        raise MemoryError

    monkeypatch.setattr(point_files, "uuid_of", fail)
    found = start_uuid(np.ones((2, 2)))
    with pytest.raises(MemoryError):
        found.result()


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ValueError"])
def test_a_process_that_ends_early_does_not_wait_for_the_name(error):
    words = sys.executable, "-c", END_WHILE_HASHING.format(error=error)
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode != 0 and error in run.stderr
