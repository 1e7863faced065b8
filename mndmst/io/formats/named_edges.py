"""Edges between named vertices, as tables have them before vertices are numbered."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NamedEdges:
    """Edges whose ends are names.

    Attributes
    ----------
    src, dst : ndarray of str, object (of str) or any integers, shape (edges,)
    weight : ndarray of one of `order.WEIGHT_DTYPES`, shape (edges,)
    """

    src: np.ndarray
    dst: np.ndarray
    weight: np.ndarray

    def __len__(self) -> int:
        return len(self.src)
