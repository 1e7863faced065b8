"""Prediction data in the cluster file of `hdbscan`: training points and their tree.

`hdbscan --prediction-data` adds to the file (`io.results.clusters_file`)::

    clusters.h5
        @ dimensions, min_samples, cluster_selection_epsilon, alpha
        @ metric_params          JSON: the parameters of the metric
        @ non_finite             "error" if predict refuses rows that are not finite
        @ search                 the `PointForest.search` of the fit
        @ coordinates            JSON: their names, if a table names its columns
        prediction/points        float32 or float64 [points * dimensions], by rows
        prediction/distance      float64: distances of the rows of `condensed`; lambda,
                                 their reciprocal, does not give them back bit by bit
        prediction/mass          float64 [clusters of the tree]: excess of mass
        prediction/selected      uint8 [clusters of the tree]: 1 for a selected cluster

Core distances follow from the points, so the file does not repeat them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import h5py
import numpy as np

from ...host.errors import InputError, MndmstError, about
from ...host.formatting import counted
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import TRAINING_COPIES
from ...io.file_access import (
    count_attribute,
    number_attribute,
    open_hdf5,
    reading,
    text_attribute,
)
from ...io.formats.point_columns import columns_option
from ...io.formats.table_columns import listed, plain, titled
from ...io.hdf5_reader import checked_dataset, read_dataset
from ...io.memory_limit import check_room
from ...io.results.clusters_file import check_format
from ..pairwise_forest import check_forest
from .cluster_measures import exemplars_of
from .cluster_numbers import ClusterNumbers
from .condensed import CondensedTree
from .density import Clustering
from .density_clusters import DensityClusters, DensityRule
from .parameters import PARAMETERS
from .prediction import Connections, FlatMembership, TrainingPoints, predicted_labels

REMAKE = "run mndmst hdbscan again with --prediction-data"


def prediction_facts(
    points: np.ndarray,
    rule: DensityRule,
    alpha: float,
    parameters: Mapping[str, object],
    non_finite: str,
    search: str,
    coordinates: Sequence[str] = (),
) -> dict[str, object]:
    """Return the attributes that prediction adds to a cluster file."""
    return {
        "dimensions": points.shape[1],
        "min_samples": rule.samples,
        "cluster_selection_epsilon": float(rule.selection.epsilon),
        "alpha": alpha,
        "metric_params": json.dumps(parameters),
        "non_finite": non_finite,
        "search": search,
        "coordinates": json.dumps(coordinates),
    }


def prediction_columns(
    points: np.ndarray, clusters: DensityClusters
) -> dict[str, np.ndarray]:
    """Return the datasets that prediction adds to a cluster file."""
    stored = np.float32 if points.dtype == np.float32 else np.float64
    return {
        "prediction/points": np.ascontiguousarray(points, stored).reshape(-1),
        "prediction/distance": clusters.tree.distance,
        "prediction/mass": clusters.tree.mass,
        "prediction/selected": clusters.chosen.astype(np.uint8),
    }


@dataclass(frozen=True)
class StoredModel:
    """Clusters of a cluster file, and the training points that prediction searches."""

    path: Path
    points: np.ndarray
    metric: str
    parameters: dict[str, object]
    alpha: float
    non_finite: str
    search: str  # `PointForest.search` of the fit; empty if not known
    coordinates: list[str]  # their names; empty if there are none
    min_samples: int
    epsilon: float  # `cluster_selection_epsilon` of the rule
    rule: str  # in words, as the file records it
    tree: CondensedTree
    chosen: np.ndarray  # bool, by cluster of the tree: the selected ones
    labels: np.ndarray  # 0, 1, ...; see `numbers`
    numbers: ClusterNumbers  # those of the clusters that users see

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the model from a cluster file.

        Raises InputError if the file is not a cluster file, has no prediction data, or
        is damaged.
        """
        with reading(path, REMAKE), open_hdf5(path) as file:
            check_format(
                path, file, "is not a cluster file. Give a file that mndmst hdbscan "
                "has written with --prediction-data.",
            )  # fmt: skip
            if "prediction" not in file:
                raise InputError(
                    f"{path}: has no prediction data. {REMAKE.capitalize()}."
                )
            model = cls._from(path, file)
        if not model._consistent():
            raise model._contradiction()
        return model

    @classmethod
    def _from(cls, path: Path, file: h5py.File) -> Self:
        def column(
            name: str, dtype: type | None = None, length: int | None = None
        ) -> np.ndarray:
            dataset = checked_dataset(path, file, name, length, REMAKE.capitalize())
            room = TRAINING_COPIES * max(8, dataset.dtype.itemsize) * len(dataset)
            check_room(FREE_MEMORY, path, room, f"its dataset {name}")
            found = read_dataset(path, dataset)
            return found if dtype is None else found.astype(dtype, copy=False)

        points = column("prediction/points")
        if points.dtype != np.float32:
            points = points.astype(np.float64, copy=False)
        shown = column("labels", np.int64)
        mass = column("prediction/mass", np.float64)
        if "numbers" in file:  # of points that have changed
            known = column("numbers", np.int64)
            numbers = ClusterNumbers(known, count_attribute(file, "next_number"))
        else:
            flat = min(int(shown.max(initial=-1)) + 1, len(mass))
            numbers = ClusterNumbers.first(flat)
        labels = numbers.labels_of(shown)
        rows = len(labels) + len(mass) - 1
        size = column("condensed/size", np.int64, rows)
        dimensions = count_attribute(file, "dimensions")
        return cls(
            path=path,
            points=points.reshape(len(labels), dimensions),
            metric=text_attribute(file, "metric"),
            parameters=json.loads(text_attribute(file, "metric_params")),
            alpha=number_attribute(file, "alpha"),
            non_finite=text_attribute(file, "non_finite"),
            search=text_attribute(file, "search"),
            coordinates=json.loads(text_attribute(file, "coordinates")),
            min_samples=count_attribute(file, "min_samples"),
            epsilon=number_attribute(file, "cluster_selection_epsilon"),
            rule=text_attribute(file, "rule"),
            tree=CondensedTree(
                parent=column("condensed/parent", np.int64, rows),
                distance=column("prediction/distance", np.float64, rows),
                cluster_size=np.append(len(labels), size[: len(mass) - 1]),
                mass=mass,
                num_points=len(labels),
            ),
            chosen=column("prediction/selected", np.bool_, len(mass)),
            labels=labels,
            numbers=numbers,
        )

    def _consistent(self) -> bool:
        """Return whether prediction ends, and finds every index in its array."""
        tree, clusters = self.tree, self.tree.num_clusters
        if self.points.size == 0 or clusters == 0:
            return False
        if not PARAMETERS["min_samples"].allows(self.min_samples):
            return False
        parent, above = tree.parent - tree.num_points, tree.cluster_parent
        return bool(
            isinstance(self.parameters, dict)
            and PARAMETERS["alpha"].allows(self.alpha)
            and ((parent >= 0) & (parent < clusters)).all()
            and (above[1:] < np.arange(1, clusters)).all()
            and (self.labels < len(self.numbers.numbers)).all()
            and self.numbers.consistent(clusters)
            and self.non_finite in PARAMETERS["non_finite"].choices
            and (self.non_finite != "error" or np.isfinite(self.points).all())
            and not np.isnan(tree.distance).any()
            and PARAMETERS["cluster_selection_epsilon"].allows(self.epsilon)
            and isinstance(self.coordinates, list)
            and len(self.coordinates) in (0, self.points.shape[1])
            and all(isinstance(name, str) for name in self.coordinates)
        )

    def _contradiction(self) -> InputError:
        return InputError(
            f"{self.path}: its prediction data contradict each other. "
            f"{REMAKE.capitalize()}."
        )

    def _training_points(self) -> TrainingPoints:
        """Return the training points; InputError if the metric cannot measure them."""
        try:
            return TrainingPoints(
                self.points,
                self.metric,
                self.parameters,
                self.min_samples,
                self.alpha,
                self.tree.point_distance,
                fit_search=self.search,
            )
        except MndmstError as error:
            raise self._contradiction() from error
        except (TypeError, ValueError, AttributeError) as error:
            raise self._contradiction() from error

    @property
    def num_clusters(self) -> int:
        """Number of flat clusters."""
        return int(self.labels.max()) + 1

    def check_coordinates(self, names: Sequence[str], source: Path) -> None:
        """Raise InputError if a table of new points names other coordinates."""
        own = self.coordinates
        if not own or not names or list(map(plain, own)) == list(map(plain, names)):
            return
        theirs = {plain(name): name for name in names}
        missing = [name for name in own if plain(name) not in theirs]
        if not missing:
            chosen = [theirs[plain(name)] for name in own]
            remedy = f"Give them in the order of these: {columns_option(chosen)}"
        elif len(names) == len(own):
            remedy = f"Give them in the order of these: {columns_option(names)}"
        else:
            remedy = f"Add {listed(map(titled, missing))}"
        raise InputError(
            f"{source}: its coordinates are {listed(map(titled, names))}, and those of "
            f"the training points of {self.path} {listed(map(titled, own))}. {remedy}."
        )

    def predict(
        self, points: np.ndarray, source: Path, noise: str = "keep"
    ) -> Clustering:
        """Return the labels and probabilities of new points.

        Labels are the clusters' numbers. `source` names the points in errors, `noise`
        is as in `HDBSCAN`. The result is equal, bit by bit, to that of
        `HDBSCAN.approximate_predict`. Raises InputError if the points have other
        dimensions, or do not suit the metric.
        """
        dimensions = self.points.shape[1]
        if points.shape[1] != dimensions:
            raise InputError(
                f"{source}: has {counted(points.shape[1], 'dimension')}, and the "
                f"training points of {self.path} {dimensions}. Give the same columns, "
                "of a table by --columns."
            )
        training = self._training_points()
        with about(source):
            check_forest(
                points, self.metric, alpha=self.alpha, parameters=self.parameters
            )
        joined = training.connect(points)
        flat = Clustering(
            *predicted_labels(self.tree, self.chosen, self.labels, self.epsilon, joined)
        )
        if noise == "nearest":
            flat = self._without_noise(flat, points, joined)
        return flat._replace(labels=self.numbers.of(flat.labels))

    def _without_noise(
        self, flat: Clustering, points: np.ndarray, joined: Connections
    ) -> Clustering:
        membership = FlatMembership(
            self.tree,
            self.chosen,
            self.labels,
            [
                self.points[members].astype(np.float64)
                for members in exemplars_of(self.tree, self.labels)
            ],
            self.metric,
            self.parameters,
        )
        return membership.without_noise(flat, points, joined)
