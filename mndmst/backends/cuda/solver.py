"""Minimum spanning forest of a list of edges on the device.

The rounds follow ECL-MST (Fallin, Gonzalez, Seo and Burtscher 2023), with components
renumbered in every round and all rounds in one launch.
"""

from collections.abc import Callable
from enum import IntEnum, auto
from typing import NamedTuple

import cupy
import numpy as np

from ...graph.tuning import Tuning
from .kernels import NULL, Kernels, order_of
from .transfer import Transfer

NONE = np.uint64((1 << 64) - 1)  # NONE of common.cuh


class StateField(IntEnum):
    """Fields of `State` in common.cuh, in its order."""

    LISTED = 0
    CAPACITY = auto()
    CHOSEN = auto()
    SIZE = auto()
    LEVEL1 = auto()
    TOP = auto()
    NEXT = auto()
    LIVE = auto()
    LIVE_OTHER = auto()
    GIANT = auto()
    AGAIN = auto()
    AGAIN_1 = auto()
    AGAIN_2 = auto()
    ARRIVED = auto()
    CUT_KEY = auto()
    CUT_END = auto()
    LEAST_KEY = auto()
    GREATEST_KEY = auto()
    DEGREES = auto()
    OUTSIDE = auto()


class Tools(NamedTuple):
    """Tools of the steps on one device, for keys of one type."""

    kernels: Kernels
    transfer: Transfer
    # Returns the bytes that a step may allocate, given the bytes that it holds.
    free_nbytes: Callable[[int], int]
    tuning: Tuning


class DeviceEdges(NamedTuple):
    """Edges on the device: ends (uint32) and keys."""

    u: cupy.ndarray
    v: cupy.ndarray
    key: cupy.ndarray

    @classmethod
    def empty(cls, length: int, key: type) -> "DeviceEdges":
        """Allocate columns for `length` edges."""
        u, v = cupy.empty(length, np.uint32), cupy.empty(length, np.uint32)
        return cls(u, v, cupy.empty(length, key))

    def cut(self, length: int) -> "DeviceEdges":
        """Return the first edges."""
        return DeviceEdges(*(column[:length] for column in self))

    def order(self, kernels: Kernels, first: int = 0) -> tuple[cupy.ndarray, int]:
        """Return the (u, v) order of edges, and how many begin at `first` or later.

        The others are last in the order.
        """
        count = len(self.key)
        words, later = cupy.empty(count, np.uint64), cupy.zeros(1, np.uint64)
        kernels.launch(
            "pack_ends", count, self.u, self.v, np.uint64(count), np.uint32(first),
            words, later,
        )  # fmt: skip
        return order_of(words), int(later[0])


class Solver:
    """One computation of a forest.

    `state` (uint64) has the fields of `state.StateField`; `parent` (uint32) is the
    stack of components that components.cuh describes.
    """

    def __init__(self, kernels: Kernels, vertices: int) -> None:
        self.kernels = kernels
        self.vertices = vertices
        self.state = cupy.zeros(len(StateField), np.uint64)
        self.set_state(StateField.GREATEST_KEY, np.iinfo(kernels.key).max)
        self.parent = cupy.empty(3 * vertices + 64, np.uint32)
        self._fresh = cupy.empty(2 * vertices + 64, np.uint32)
        self._best = cupy.empty(vertices, np.uint64)

    def set_state(self, field: StateField, *values: int) -> None:
        """Set consecutive fields of the state, from `field` on."""
        words = np.array(values, np.uint64)
        self.state[field:].data.copy_from_host_async(
            words.ctypes.data, words.nbytes, cupy.cuda.get_current_stream()
        )

    def start_from(self, component: cupy.ndarray | None) -> None:
        """Set the initial component (below `vertices`) of every vertex.

        By default each vertex is a component.
        """
        n = self.vertices
        self.kernels.launch(
            "start_components", n, NULL if component is None else component,
            self.parent, np.uint64(n),
        )  # fmt: skip
        self.set_state(StateField.SIZE, n)

    def solve(self, edges: DeviceEdges) -> cupy.ndarray:
        """Mark (uint8) the forest's edges; equal keys are ordered by position."""
        count = len(edges.key)
        self.start_from(None)
        self.set_state(StateField.LISTED, count, count)  # and the capacity
        self.set_state(StateField.LEAST_KEY, int(NONE), 0)  # and the greatest
        self.kernels.launch(
            "find_key_range", min(count, 1 << 18), edges.key, np.uint64(count),
            self.state,
        )  # fmt: skip
        mark = cupy.zeros(count, np.uint8)
        self._run_rounds(edges, mark)
        return mark

    def labels(self) -> cupy.ndarray:
        """Return for each vertex the smallest vertex of its tree (uint32)."""
        self._over_levels("flatten")
        n = np.uint64(self.vertices)
        smallest = cupy.empty(self.vertices, np.uint32)
        smallest.data.memset_async(0xFF, smallest.nbytes)
        label = cupy.empty(self.vertices, np.uint32)
        self.kernels.launch("find_smallest", self.vertices, self.parent, n, smallest)
        self.kernels.launch(
            "write_labels", self.vertices, self.parent, n, smallest, label
        )
        return label

    def _run_rounds(
        self, edges: DeviceEdges, forest: cupy.ndarray | DeviceEdges
    ) -> None:
        """Solve listed edges; mark the forest's edges, or append them to a list."""
        marks = isinstance(forest, cupy.ndarray)
        lists = [cupy.empty((len(edges.key), 4), np.uint32) for _ in range(2)]
        self.kernels.launch_together(
            "run_rounds", self.state, np.uint64(self.vertices), self.parent,
            self._fresh, self._best, *lists, *edges, np.uint32(marks),
            *((forest, NULL, NULL, NULL) if marks else (NULL, *forest)),
        )  # fmt: skip

    def _over_levels(self, name: str) -> None:
        self.kernels.launch_together(
            name, self.state, self.parent, self._fresh, np.uint64(self.vertices)
        )
