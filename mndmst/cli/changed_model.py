"""`hdbscan --model`: points come and go, and clusters keep their numbers."""

import argparse
from typing import TYPE_CHECKING

from ..host.errors import ConfigError, InputError, about
from ..host.formatting import counted
from ..host.progress import notice
from .options import read_noted_points
from .point_options import given_parameters

if TYPE_CHECKING:
    from ..points.clusters.density_clusters import DensityRule
    from ..points.clusters.prediction_file import StoredModel
    from ..points.point_files import PointTable
    from ..points.versions.version_file import ChangedClusters, StoredVersion

# Options that a model has decided, and those of input that it replaces
DECIDED = (
    "metric", "from", "p", "w", "V", "boxsize", "missing", "missing_rule", "alpha",
    "approximate", "non_finite", "noise", "store_centers", "prediction_data", "count",
)  # fmt: skip


def check_options(arguments: argparse.Namespace) -> None:
    """Raise an error for options that do not go together, or files that are taken."""
    from ..io.atomic_output import check_outputs
    from ..io.output_kinds import (
        CLUSTERS,
        EVENTS,
        FOREST_OR_TABLE,
        MODEL,
        PICTURE,
        POINTS,
    )

    if arguments.model is None:
        for name in ("insert", "remove", "events", "default"):
            if getattr(arguments, name) is not None:
                raise ConfigError(f"--{name} changes a model; give it by --model")
        if arguments.points is None:
            raise ConfigError("give POINTS, or a model by --model; see hdbscan --help")
        return
    for name in DECIDED:
        if getattr(arguments, name) not in (None, False):
            raise ConfigError(
                f"--{name.replace('_', '-')} does not go with --model: the model has "
                "the metric and the treatment of points; leave it out"
            )
    if not arguments.model.exists():
        source = arguments.points or "POINTS"
        raise InputError(
            f"{arguments.model}: no such file. Make the model first: mndmst hdbscan "
            f"{source} -o {arguments.model} --prediction-data"
        )
    outputs = (
        (arguments.model, MODEL),
        *((path, CLUSTERS) for path in arguments.outputs),
        (arguments.forest, FOREST_OR_TABLE),
        (arguments.save, POINTS),
        (arguments.plot, PICTURE),
        (arguments.events, EVENTS),
    )
    inputs = arguments.points, arguments.insert, arguments.remove
    check_outputs(inputs, outputs, overwrite=arguments.overwrite)


def change_model(arguments: argparse.Namespace) -> "ChangedClusters":
    """Read the model and the changes, and return the changed clusters.

    The options become those of the model unless they are given. Raises InputError if a
    file does not suit the model.
    """
    from ..io.formats.id_files import read_ids
    from ..points.clusters.density_clusters import density_rule
    from ..points.clusters.prediction_file import StoredModel
    from ..points.versions.point_version import ForestRule
    from ..points.versions.version_file import ChangedClusters, StoredVersion
    from .point_forest import check_search_room

    model = StoredModel.read(arguments.model)
    stored = StoredVersion.read(model)
    _settle(arguments, model, stored)
    rule = density_rule(arguments)
    changes = _changes(stored.rule, rule)
    if arguments.insert is None and arguments.remove is None and not changes:
        raise ConfigError(
            f"--model {arguments.model}: nothing changes; give --insert, --remove, or "
            "another option of HDBSCAN*, such as --min-cluster-size"
        )
    if not arguments.quiet:
        notice(
            f"{arguments.model}: goes on from version {stored.number} of "
            f"{counted(len(model.points), 'point')}: {model.metric}, {model.rule}"
        )
        if changes:
            notice(f"{arguments.model}: from now on {', '.join(changes)}")
    if arguments.points is not None:
        _check_old(arguments, model, stored)
    forest_rule = ForestRule(
        model.metric,
        model.min_samples,
        model.alpha,
        stored.given_params,
        stored.approximate,
        arguments.search,
        arguments.threads,
    )
    before = stored.version(model, forest_rule)
    user_ids, removed, points = stored.user_ids, None, None
    if arguments.remove is not None:
        ids = read_ids(arguments.remove, user_ids.name)
        with about(arguments.remove):
            removed = user_ids.numbers_of(ids, before.ids)
    if arguments.insert is not None:
        table = _read_new(arguments, model)
        points = table.points
        with about(arguments.insert):
            user_ids = user_ids.with_new(table.ids)
    batch = before.check(removed, points)
    count = len(before.points) - len(batch.removed) + len(batch.ids)
    if count == 0:
        raise InputError(
            f"{arguments.remove}: has the ids of all points, and a model has at least "
            "one. Leave one out."
        )
    with about(arguments.model):
        rule.check_points(count)
    check_search_room(arguments, before.points, count, rule.samples)
    after = before.changed(batch, rule.samples)
    arguments.metric_params = forest_rule.parameters_for(after.points)
    rows = before.point_ids.by_row.find(batch.removed)[0]
    return ChangedClusters.of(model, rows, after, user_ids, rule)


def _settle(
    arguments: argparse.Namespace, model: "StoredModel", stored: "StoredVersion"
) -> None:
    """Replace the options that are not given by those of the model."""
    from ..points.clusters.parameters import PARAMETERS

    defaults = {name: parameter.default for name, parameter in PARAMETERS.items()}
    vars(arguments).update(
        defaults | dict(stored.rule.parameters) | given_parameters(arguments)
    )
    arguments.metric, arguments.given_params = model.metric, stored.given_params
    arguments.alpha, arguments.non_finite = model.alpha, model.non_finite
    arguments.approximate, arguments.prediction_data = stored.approximate, True


def _changes(old: "DensityRule", new: "DensityRule") -> list[str]:
    """Return the parameters that differ, each with both values."""
    before, after = (
        {**rule.parameters, "min_samples": rule.samples} for rule in (old, new)
    )
    changes = [
        f"{name} {value} (was {before[name]})"
        for name, value in after.items()
        if value != before[name]
    ]
    if old.samples != new.samples:
        changes.append("which needs a new search of all points")
    return changes


def _check_old(
    arguments: argparse.Namespace, model: "StoredModel", stored: "StoredVersion"
) -> None:
    """Raise InputError unless POINTS are those of the model."""
    import numpy as np

    from .point_input import load_points

    table = load_points(arguments, typed=True, finite=False)
    if np.array_equal(table.points, model.points, equal_nan=True):
        return
    raise InputError(
        f"{arguments.points}: has other points than version {stored.number} of "
        f"{arguments.model}. Leave POINTS out to go on from that version; to begin "
        f"anew: mndmst hdbscan {arguments.points} -o {arguments.model} "
        "--prediction-data."
    )


def _read_new(arguments: argparse.Namespace, model: "StoredModel") -> "PointTable":
    """Return the points to insert; InputError if they do not suit the model."""
    from ..points.pairwise_forest import check_forest

    source, dimensions = arguments.insert, model.points.shape[1]
    table = read_noted_points(arguments, source, metric=model.metric, typed=True)
    if arguments.columns is None:
        model.check_coordinates(table.names, source)
    if table.points.shape[1] != dimensions:
        raise InputError(
            f"{source}: has {counted(table.points.shape[1], 'dimension')}, and the "
            f"points of {model.path} {dimensions}. Give the same columns."
        )
    with about(source):
        check_forest(
            table.points, model.metric, alpha=model.alpha, parameters=model.parameters
        )
    return table
