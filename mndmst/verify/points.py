"""The certificate of a forest of points: from the points, without the solver's code."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..host.errors import InputError
from ..host.formatting import counted
from ..io.results.forest_file import ForestFile, read_forest
from ..points.metric import METRICS, prepared
from ..points.read import uuid_of
from .candidate import Examination, examine, unlike
from .certificate import Verdict
from .claims import Claims


class PointSet(NamedTuple):
    """Points as `candidate` knows a graph."""

    uuid: str
    num_vertices: int
    weight_dtype: np.dtype


def verify_points(points: np.ndarray, forest_path: str | Path) -> Verdict:
    """Decide whether a forest file is the minimum spanning forest of points.

    The file names the metric and `min_samples`.

    Raises
    ------
    InputError
        If the file is damaged, or is not of points.
    MissingExtraError
        If SciPy is not installed.
    """
    begin = time.perf_counter()
    forest = read_forest(forest_path)
    n = len(points)
    point_set = PointSet(uuid_of(points), n, np.dtype(np.float64))
    strange = unlike(point_set, forest)
    if strange:
        seconds = time.perf_counter() - begin
        return Verdict(
            ok=False,
            n=n,
            m=None,
            edges=forest.num_edges,
            trees=None,
            weight=None,
            digest=None,
            problems=strange,
            seconds=seconds,
        )
    metric, min_samples = _settings(forest)
    seen: Examination = examine(point_set, forest)
    problems = [*seen.faults, *seen.differences]
    if forest.num_edges != n - 1:
        problems.append(
            f"{counted(n, 'point')} take a tree of {counted(n - 1, 'edge')}; the "
            f"forest has {forest.num_edges:,}"
        )
    elif not seen.faults:
        claims = Claims(prepared(points, metric), metric, min_samples)
        problems += claims.problems(*forest.read(0, forest.num_edges))
    return Verdict(
        ok=not problems,
        n=n,
        m=n * (n - 1) // 2,
        edges=forest.num_edges,
        trees=None if problems else n - forest.num_edges,
        weight=seen.weight,
        digest=seen.digest,
        problems=problems,
        seconds=time.perf_counter() - begin,
    )


def _settings(forest: ForestFile) -> tuple[str, int]:
    config = forest.header.config
    metric, min_samples = config.get("metric"), config.get("min_samples")
    if metric not in METRICS or not isinstance(min_samples, int) or min_samples < 0:
        raise InputError(
            f"{forest.path}: does not say which distances of points it is of. Give "
            "what linkage or hdbscan has written with --forest."
        )
    return metric, min(min_samples, forest.header.num_vertices - 1)
