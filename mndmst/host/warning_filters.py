"""Filters of Python's warnings while a block runs, in one thread at a time.

Python has one list of filters for all threads. Two overlapping blocks would restore it
in the wrong order, and the filters of one would stay for the rest of the program.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Literal

_lock = Lock()


@contextmanager
def filtered_warnings(action: Literal["error", "ignore"], text: str) -> Iterator[None]:
    """Raise or ignore warnings that begin with a text while a block runs."""
    with _lock, warnings.catch_warnings():
        warnings.filterwarnings(action, text)
        yield
