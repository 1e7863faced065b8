"""A version of points in the cluster file of `hdbscan --prediction-data`.

`hdbscan --model` goes on from it. The file has, beside the data of prediction
(`clusters.prediction_file`)::

    clusters.h5
        @ parameters             JSON: parameters of the rule that differ from defaults
        @ given_params           JSON: `metric_params` without those of the points;
                                 left out if there are none, such as variances
        @ approximate, exact     options and outcome of the search, see `PointForest`
        @ certain                `PointForest.certain`
        @ point_version          batches so far
        @ next_point             points so far
        @ next_number            larger than the numbers of all clusters so far
        labels                   the numbers of the points' clusters
        numbers                  int64: the numbers of the clusters of `persistence`
        version/src, dst, weight the forest
        version/radius           float64: `PointForest.radius`; left out if not known
        version/neighbours       uint32: `PointForest.neighbours`, row by row; left out
                                 if not known
        version/point            int64: by row, the number of the point
        version/ids              ids of all points so far, if users gave them

A file of points that have not changed leaves out `numbers`, `version/point` and
`version/ids`: clusters and points are numbered from 0, and `ids` has the ids.
"""

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

import h5py
import numpy as np

from ...api.forest import Forest, labels_of
from ...host.errors import ConfigError, InputError, MndmstError, about
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import TRAINING_COPIES
from ...io.file_access import (
    count_attribute,
    flag_attribute,
    open_hdf5,
    reading,
    text_attribute,
)
from ...io.hdf5_reader import checked_dataset, read_dataset
from ...io.memory_limit import check_room
from ..clusters.cluster_numbers import (
    ChangedLabels,
    ClusterEvent,
    ClusterNumbers,
    renumbered,
)
from ..clusters.density_clusters import (
    DensityClusters,
    DensityRule,
    clusters_of,
    density_rule,
)
from ..clusters.parameters import PARAMETERS
from ..clusters.prediction_file import REMAKE, StoredModel
from ..devices.point_products import NO_POSITION
from ..pairwise_forest import check_forest
from ..point_forest import PointForest
from .point_batch import IdSet, PointIds, RowIds
from .point_version import ForestRule, PointVersion
from .user_ids import UserIds

FIRST_ID_NAME = "id"  # the column of ids if no user gave them


@dataclass(frozen=True)
class StoredVersion:
    """The version of points that a cluster file has."""

    rule: DensityRule
    given_params: dict[str, object]  # of the metric, but for those of the points
    approximate: bool
    number: int
    point_forest: PointForest
    point_ids: PointIds
    user_ids: UserIds

    @classmethod
    def read(cls, model: StoredModel) -> "StoredVersion":
        """Read the version from the file of a model.

        Raises InputError if the file has none, or is damaged.
        """
        with reading(model.path, REMAKE), open_hdf5(model.path) as file:
            if "version" not in file:
                raise InputError(
                    f"{model.path}: has no forest to go on from. {REMAKE.capitalize()}."
                )
            return cls._from(model, file)

    @classmethod
    def _from(cls, model: StoredModel, file: h5py.File) -> "StoredVersion":
        path, count = model.path, len(model.points)

        def column(name: str, length: int | None = None) -> np.ndarray:
            dataset = checked_dataset(path, file, name, length, REMAKE.capitalize())
            room = TRAINING_COPIES * max(8, dataset.dtype.itemsize) * len(dataset)
            check_room(FREE_MEMORY, path, room, f"its dataset {name}")
            found = read_dataset(path, dataset)
            if found.dtype.kind == "S":
                return np.char.decode(found, "utf-8")
            return found

        weight = column("version/weight").astype(np.float64, copy=False)
        src = column("version/src", len(weight)).astype(np.int64, copy=False)
        dst = column("version/dst", len(weight)).astype(np.int64, copy=False)
        ends = ((src >= 0) & (src < dst) & (dst < count)).all()
        if not ends or not (weight >= 0).all() or len(weight) >= count:
            raise _damaged(model)
        labels = labels_of(count, src, dst)
        roots = np.count_nonzero(labels == np.arange(count))
        if roots + len(weight) != count:  # the edges close a cycle
            raise _damaged(model)
        numbers, given, id_name = np.arange(count), None, FIRST_ID_NAME
        if "ids-name" in file.attrs:
            id_name = text_attribute(file, "ids-name")
        if "version/point" in file:
            numbers = column("version/point", count).astype(np.int64, copy=False)
            if "version/ids" in file:
                given = column("version/ids")
        elif "ids" in file:
            given = column("ids", count)
        next_point = count_attribute(file, "next_point")
        # Rows keep their order, and new points get the next numbers
        ascend = (np.diff(numbers, prepend=-1) > 0).all()
        if not ascend or numbers[-1] >= next_point:
            raise _damaged(model)
        if given is not None and len(given) != next_point:
            raise _damaged(model)
        rule = _rule_of(json.loads(text_attribute(file, "parameters")))
        if rule is None or rule.samples != model.min_samples:
            raise _damaged(model)
        given_params = model.parameters
        if "given_params" in file.attrs:
            given_params = json.loads(text_attribute(file, "given_params"))
        if not isinstance(given_params, dict):
            raise _damaged(model)
        radius = None
        if "version/radius" in file:
            radius = column("version/radius", count).astype(np.float64, copy=False)
            if not (radius >= 0).all():
                raise _damaged(model)
        neighbours = None
        if "version/neighbours" in file:
            neighbours = column("version/neighbours").astype(np.uint32, copy=False)
            order = max(rule.samples, 1)  # neighbours that no list lacks
            if len(neighbours) % count or len(neighbours) < order * count:
                raise _damaged(model)
            neighbours = neighbours.reshape(count, -1)
            is_known = neighbours < count
            is_missing = neighbours == NO_POSITION
            is_missing[:, :order] = False
            if not (is_known | is_missing).all():
                raise _damaged(model)
        forest = PointForest(
            Forest(src, dst, weight, labels),
            count_attribute(file, "certain"),
            flag_attribute(file, "exact"),
            model.search,
            radius,
            neighbours,
        )
        # Points get the next numbers, so no removed one can be given again
        point_ids = PointIds(RowIds.of(numbers), IdSet.of(numbers[:0]), next_point)
        number = count_attribute(file, "point_version")
        return cls(
            rule,
            given_params,
            flag_attribute(file, "approximate"),
            number,
            forest,
            point_ids,
            UserIds(given, id_name),
        )

    def version(self, model: StoredModel, rule: ForestRule) -> PointVersion:
        """Return the version; `rule` has the model's metric and `min_samples`.

        Raises InputError if a point is not finite, two have one id, or the metric
        cannot measure the points.
        """
        try:
            for parameters in (model.parameters, self.given_params):
                check_forest(
                    model.points,
                    model.metric,
                    alpha=model.alpha,
                    parameters=parameters,
                )
        except MndmstError as error:
            raise _damaged(model) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise _damaged(model) from error
        with about(model.path):
            self.user_ids.check()
            first = PointVersion.first(
                model.points, rule, point_forest=self.point_forest
            )
        return replace(first, number=self.number, point_ids=self.point_ids)


def first_facts(
    rule: DensityRule, approximate: bool, point_forest: PointForest, points: int
) -> dict[str, object]:
    """Return the attributes of points that have not changed."""
    return {
        "parameters": json.dumps(rule.differing),
        "approximate": approximate,
        "exact": point_forest.exact,
        "certain": point_forest.certain,
        "point_version": 0,
        "next_point": points,
    }


def forest_columns(point_forest: PointForest) -> dict[str, np.ndarray]:
    """Return the datasets of a version's forest."""
    forest = point_forest.forest
    columns = {
        "version/src": forest.src,
        "version/dst": forest.dst,
        "version/weight": forest.weight,
    }
    if point_forest.radius is not None:
        columns["version/radius"] = point_forest.radius
    if point_forest.neighbours is not None:
        columns["version/neighbours"] = point_forest.neighbours.ravel()
    return columns


@dataclass(frozen=True)
class ChangedClusters:
    """The clusters of a version, which has followed from that of a model."""

    version: PointVersion
    coordinates: list[str]  # their names; empty if there are none
    user_ids: UserIds
    clusters: DensityClusters
    numbers: ClusterNumbers
    events: list[ClusterEvent]

    @classmethod
    def of(
        cls,
        model: StoredModel,
        removed: np.ndarray,
        after: PointVersion,
        user_ids: UserIds,
        rule: DensityRule,
    ) -> "ChangedClusters":
        """Return the clusters `after` a change of the points of `model`.

        `removed` has rows of the model; `user_ids` has ids of all points.
        """
        clusters = clusters_of(after.point_forest, rule, after.rule.threads)

        def ranks_at(rows: np.ndarray) -> np.ndarray:
            return user_ids.ranks_of(after.point_ids.by_row.at(rows))

        old = np.maximum(model.labels, -1)  # a file may have other codes of noise
        labels = ChangedLabels(old, removed, clusters.flat.labels, ranks_at)
        numbers, events = renumbered(model.numbers, labels, after.number)
        return cls(after, model.coordinates, user_ids, clusters, numbers, events)

    @property
    def facts(self) -> dict[str, object]:
        """The attributes of the file, in place of some of `first_facts`."""
        return {
            "point_version": self.version.number,
            "next_point": self.version.next_id,
            "next_number": self.numbers.next_number,
        }

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The datasets of the file, beside `forest_columns`."""
        columns = {
            "version/point": self.version.ids,
            "numbers": self.numbers.numbers,
        }
        if self.user_ids.given is not None:
            columns["version/ids"] = self.user_ids.given
        if (followed := self.version.followed) is not None:
            columns["version/radius"] = followed.radius[followed.positions()]
            if (listed := followed.neighbours) is not None:
                columns["version/neighbours"] = listed.ravel()
        return columns


def _rule_of(parameters: object) -> DensityRule | None:
    """Return the rule of stored parameters; None if they are damaged."""
    if not isinstance(parameters, dict) or not parameters.keys() <= set(PARAMETERS):
        return None
    defaults = {name: parameter.default for name, parameter in PARAMETERS.items()}
    try:
        return density_rule(SimpleNamespace(**defaults | parameters))
    except ConfigError:
        return None


def _damaged(model: StoredModel) -> InputError:
    return InputError(
        f"{model.path}: its version of points contradicts itself. "
        f"{REMAKE.capitalize()}."
    )
