"""Samples of the runs that a program makes on several numbers of ranks.

A program makes each run whose case, configuration and number of ranks add up to a
multiple of its stride.
"""

import os
from typing import Any

import pytest

EVERY_RUN = bool(os.environ.get("MNDMST_EVERY_RUN"))


def sampled(few: dict[int, int], more: dict[int, int]) -> list[Any]:
    """Return parameters (ranks, stride): a few runs, and more in a slow test.

    MNDMST_EVERY_RUN makes every run.
    """
    if EVERY_RUN:
        return [(ranks, 1) for ranks in few | more]
    slow = [pytest.param(*pair, marks=pytest.mark.slow) for pair in more.items()]
    return [*few.items(), *slow]
