"""The command `predict`."""

import argparse
from pathlib import Path

from .options import (
    add_outputs,
    add_overwrite,
    add_point_columns,
    add_quiet,
    notice_not_kept,
    read_noted_points,
)
from .parser import Commands, on_disk
from .point_input import spent
from .point_options import add_parameter


def add_predict(commands: Commands) -> None:
    """Add the command to the parser."""
    from ..points.clusters.parameters import PARAMETERS

    predict = commands.add_parser(
        "predict",
        help="find the clusters of new points, without changing the clusters",
        description="Find the label and probability of each new point in the clusters "
        "of hdbscan --prediction-data. The clusters do not change. The result is that "
        "of HDBSCAN.approximate_predict in Python.",
        epilog="Example: mndmst hdbscan old.npy -o clusters.h5 --prediction-data; "
        "mndmst predict clusters.h5 new.npy -o labels.csv",
    )
    predict.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="cluster file that hdbscan has written with --prediction-data",
    )
    predict.add_argument(
        "points",
        type=on_disk,
        metavar="POINTS",
        help="file of the new points, in a format that hdbscan reads",
    )
    add_point_columns(predict)
    add_outputs(
        predict,
        "file to write with the labels and probabilities, .h5 or .csv",
    )
    add_parameter(predict, PARAMETERS["noise"])
    add_overwrite(predict)
    add_quiet(predict)
    predict.set_defaults(process=_predict, one_process=True)


def _predict(arguments: argparse.Namespace) -> int:
    from ..io.atomic_output import AtomicOutput, check_outputs
    from ..io.output_kinds import PREDICTIONS
    from ..io.results.clusters_file import write_clusters
    from ..points.clusters.prediction_file import StoredModel
    from ..points.point_files import uuid_of

    source = arguments.points
    given = [arguments.model, source]
    outputs = [(path, PREDICTIONS) for path in arguments.outputs]
    check_outputs(given, outputs, overwrite=arguments.overwrite)
    model = StoredModel.read(arguments.model)
    finite = model.non_finite == "error"
    table = read_noted_points(arguments, source, finite, model.metric)
    if arguments.columns is None:
        model.check_coordinates(table.names, source)
    labels, probabilities = model.predict(table.points, source, arguments.noise)
    facts = {
        "graph-uuid": uuid_of(table.points),
        "num_vertices": len(labels),
        "num_clusters": model.num_clusters,
        "rule": f"predicted by {model.rule}"
        + " noise nearest" * (arguments.noise == "nearest"),
        "metric": model.metric,
    }
    columns = {"labels": labels, "probabilities": probabilities}
    if table.ids is not None:
        facts["ids-name"] = table.id_name or "id"
        columns["ids"] = table.ids
    if not arguments.outputs:
        notice_not_kept("the labels are", arguments.quiet)
    with AtomicOutput(overwrite=arguments.overwrite) as files:
        for path in arguments.outputs:
            write_clusters(path, facts, columns, files)
    print(
        f"RESULT n={len(labels)} clusters={model.num_clusters} "
        f"noise={int((labels < 0).sum())} {spent()}",
        flush=True,
    )
    return 0
