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
from .kernels import NULL, Kernels
from .transfer import Transfer

NONE = np.uint64((1 << 64) - 1)  # NONE of common.cuh


class StateField(IntEnum):
    """Fields of `State` in common.cuh, in its order."""

    FOUND = 0
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
    """Tools of the steps on one device, for keys of one type.

    Attributes
    ----------
    kernels : Kernels
    transfer : Transfer
        Copies to the device and back.
    free_nbytes : callable
        Returns the bytes that may still be taken.
    tuning : Tuning
    """

    kernels: Kernels
    transfer: Transfer
    free_nbytes: Callable[[], int]
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

    def in_order(self) -> "DeviceEdges":
        """Return edges in (u, v) order."""
        order = cupy.argsort(self.u.astype(np.uint64) << 32 | self.v)
        return DeviceEdges(*(column[order] for column in self))


class Solver:
    """One computation of a forest.

    Attributes
    ----------
    state : device array of uint64
        See `state.StateField`.
    parent : device array of uint32
        The stack of components that components.cuh describes.
    """

    def __init__(self, kernels: Kernels, vertices: int) -> None:
        self.kernels = kernels
        self.vertices = vertices
        self.state = cupy.zeros(len(StateField), np.uint64)
        self.state[StateField.GREATEST_KEY] = np.iinfo(kernels.key).max
        self.parent = cupy.empty(3 * vertices + 64, np.uint32)
        self._fresh = cupy.empty(2 * vertices + 64, np.uint32)
        self._best = cupy.empty(vertices, np.uint64)

    def start_from(self, component: cupy.ndarray) -> None:
        """Begin with every vertex in a component, numbered below `vertices`."""
        n = self.vertices
        self.parent[:n] = component
        self.parent[:n] += np.uint32(n)
        self.parent[n : 2 * n] = cupy.arange(n, 2 * n, dtype=np.uint32)
        self.state[StateField.SIZE] = n

    def solve(self, edges: DeviceEdges) -> cupy.ndarray:
        """Mark (uint8) the forest's edges; equal keys are ordered by position."""
        self.start_from(cupy.arange(self.vertices, dtype=np.uint32))
        self.state[StateField.FOUND] = self.state[StateField.CAPACITY] = len(edges.key)
        self.state[StateField.LEAST_KEY] = edges.key.min()
        self.state[StateField.GREATEST_KEY] = edges.key.max()
        mark = cupy.zeros(len(edges.key), np.uint8)
        self._run_rounds(edges, mark)
        return mark

    def labels(self) -> cupy.ndarray:
        """Return for each vertex the smallest vertex of its tree (uint32)."""
        self._over_levels("flatten")
        n = np.uint64(self.vertices)
        smallest = cupy.full(self.vertices, np.iinfo(np.uint32).max, np.uint32)
        label = cupy.empty(self.vertices, np.uint32)
        self.kernels.launch("find_smallest", self.vertices, self.parent, n, smallest)
        self.kernels.launch(
            "write_labels", self.vertices, self.parent, n, smallest, label
        )
        return label

    def _run_rounds(
        self, edges: DeviceEdges, found: cupy.ndarray | DeviceEdges
    ) -> None:
        """Solve listed edges; mark the forest's edges, or add them to a list."""
        marks = isinstance(found, cupy.ndarray)
        lists = [cupy.empty((len(edges.key), 4), np.uint32) for _ in range(2)]
        self.kernels.launch_together(
            "run_rounds", self.state, np.uint64(self.vertices), self.parent,
            self._fresh, self._best, *lists, *edges, np.uint32(marks),
            *((found, NULL, NULL, NULL) if marks else (NULL, *found)),
        )  # fmt: skip

    def _over_levels(self, name: str) -> None:
        self.kernels.launch_together(
            name, self.state, self.parent, self._fresh, np.uint64(self.vertices)
        )
