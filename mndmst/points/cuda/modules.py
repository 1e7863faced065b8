"""The kernels in `kernels/*.cu`, which search points, and their macros."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...backends.cuda.modules import KernelSources, Macros
from ..devices import MOST_DIMENSIONS

# Of `point_multiply`: types of factors with their parts; and the stages that fit in the
# shared memory of the processors of an architecture.
FACTORS = ("f16", 1), ("bf16", 3)
STAGES = {"sm_80": (2, 3), "sm_90": (4,), "compute_80": (4,)}
# Of `point_products`: the types of columns and of rows, each with DIVIDED.
POINT_TYPES = (
    ("float", 0, "float", 0), ("float", 1, "float", 1), ("double", 0, "double", 0),
    ("double", 1, "double", 1), ("float", 0, "double", 0), ("float", 1, "double", 0),
    ("double", 1, "double", 0),
)  # fmt: skip
# Of `point_tree`: lengths of neighbour lists for plain and for mutual reachability
# distances, and the least neighbours listed in addition to `min_samples`.
PLAIN_LIST, MUTUAL_LISTS, BEYOND = 6, (8, 12, 18, 34, 66), 2
TREE_LISTS = ((False, PLAIN_LIST), *((True, n) for n in MUTUAL_LISTS))


def type_name(dtype: np.dtype) -> str:
    """Return the name in CUDA of float32 or float64."""
    return "float" if dtype == np.float32 else "double"


def multiply_macros(factor: str, parts: int, stages: int) -> Macros:
    """Return the macros of `point_multiply`."""
    return {"FACTOR": factor, "PARTS": parts, "STAGES": stages}


def type_macros(value: str, divided: int, query: str, query_divided: int) -> Macros:
    """Return the macros of `point_products`."""
    macros: Macros = {"VALUE": value, "DIVIDED": divided, "QUERY": query}
    return {**macros, "QUERY_DIVIDED": query_divided}


def tree_macros(value: str, dimensions: int, mutual: bool, listed: int) -> Macros:
    """Return the macros of `point_tree`."""
    numbers = {"MUTUAL": int(mutual), "LISTED": listed}
    return {"VALUE": value, "DIMENSIONS": dimensions, **numbers}


def listed_for(min_samples: int) -> int:
    """Return the length of neighbour lists; `min_samples` is 0 for plain distances."""
    lists = MUTUAL_LISTS if min_samples else (PLAIN_LIST,)
    return next(length for length in lists if length >= min_samples + BEYOND)


def _ahead(architecture: str) -> Iterator[tuple[str, Macros]]:
    """Yield the modules that are compiled ahead; the longest compilations first."""
    for factor, parts in FACTORS:
        for stages in STAGES[architecture]:
            yield "point_multiply", multiply_macros(factor, parts, stages)
    for types in POINT_TYPES:
        yield "point_products", type_macros(*types)
    for value in ("float", "double"):
        for file in ("point_rows", "point_factors"):
            yield file, {"VALUE": value}
        for dimensions in range(1, MOST_DIMENSIONS + 1):
            for mutual, listed in TREE_LISTS:
                yield "point_tree", tree_macros(value, dimensions, mutual, listed)


SOURCES = KernelSources(Path(__file__).with_name("kernels"), _ahead)
