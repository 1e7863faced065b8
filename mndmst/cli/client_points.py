"""The actions of the command `client` on points that a service keeps."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..host.errors import about, has_points
from ..host.option_types import whole
from .options import add_file, add_overwrite, add_table_output
from .parser import Parser
from .point_options import (
    ID_FILE,
    SERVED,
    add_default,
    add_parameter,
    add_served_points,
    given_parameters,
)

if TYPE_CHECKING:
    import numpy as np

    from ..points.point_files import PointTable
    from ..service.client import Service
    from ..service.points_client import Points

# The types of options that take a version, a count or an id
_WHOLE, _COUNT = whole(0, (1 << 63) - 1), whole(1, (1 << 31) - 1)


def _add_points(action: argparse.ArgumentParser) -> None:
    action.add_argument("points", help="name of the points")


def _add_table(action: argparse.ArgumentParser) -> None:
    _add_points(action)
    action.add_argument(
        "file", type=Path, metavar="FILE",
        help="points, as the command hdbscan reads them; of a table, the columns of "
        "the coordinates",
    )  # fmt: skip


def _add_ids(action: argparse.ArgumentParser, default: str) -> None:
    action.add_argument(
        "id", nargs="*", type=_WHOLE, metavar="ID", help=f"ids of points{default}"
    )
    add_file(action, "--ids", f"file of the ids: {ID_FILE} id")


def _add_load(load: argparse.ArgumentParser) -> None:
    load.add_argument("name", help="name for the points, which nothing has yet")
    load.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="points, as the command hdbscan reads them",
    )
    add_served_points(cast(Parser, load))


def _add_insert(insert: argparse.ArgumentParser) -> None:
    _add_table(insert)
    insert.add_argument(
        "--id-column", metavar="NAME",
        help="column of FILE with ids for the points (default: as in load; without "
        "ids, the next free ones)",
    )  # fmt: skip
    add_file(
        insert, "--remove", f"ids of points to remove in the same batch: {ID_FILE} id"
    )
    _add_for_version(insert)


def _add_remove(remove: argparse.ArgumentParser) -> None:
    _add_points(remove)
    _add_ids(remove, "")
    _add_for_version(remove)


def _add_for_version(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--for-version", type=_WHOLE, metavar="N",
        help="version that the batch belongs to; the service refuses another",
    )  # fmt: skip


def _add_set_params(set_params: argparse.ArgumentParser) -> None:
    from ..points.clusters.parameters import PARAMETERS

    _add_points(set_params)
    for name in SERVED:
        add_parameter(cast(Parser, set_params), PARAMETERS[name])
    add_default(set_params)
    # None: not given, so as before
    set_params.set_defaults(**dict.fromkeys(SERVED))


def _add_labels(labels: argparse.ArgumentParser) -> None:
    _add_points(labels)
    _add_ids(labels, " (default: all)")
    labels.add_argument(
        "--of-version", type=_WHOLE, metavar="N", help="one of the last versions"
    )
    add_table_output(labels)


def _add_events(events: argparse.ArgumentParser) -> None:
    _add_points(events)
    events.add_argument(
        "--since", type=_WHOLE, metavar="N", required=True, help="version that is known"
    )
    add_table_output(events)


def _add_forest(forest: argparse.ArgumentParser) -> None:
    _add_points(forest)
    forest.add_argument(
        "-o", dest="forest", type=Path, required=True, metavar="FOREST.h5",
        help="file of the forest, which verify proves",
    )  # fmt: skip
    forest.add_argument(
        "--save", type=Path, required=True, metavar="FILE.npy",
        help="file of the points",
    )  # fmt: skip
    add_overwrite(forest, "replace any files of these names")


def _add_predict(predict: argparse.ArgumentParser) -> None:
    _add_table(predict)
    add_table_output(predict)


def _add_neighbours(neighbours: argparse.ArgumentParser) -> None:
    _add_table(neighbours)
    neighbours.add_argument(
        "--count", type=_COUNT, default=10, metavar="K",
        help="neighbours of each point (default: 10)",
    )  # fmt: skip
    add_table_output(neighbours)


def _load(service: "Service", arguments: argparse.Namespace) -> None:
    from ..points.clusters.density_clusters import density_rule
    from ..points.point_files import read_point_table
    from ..service.live_points.first_points import check_metric

    check_metric(arguments.metric, "--metric")
    rule, path = density_rule(arguments).differing, arguments.file
    table = read_point_table(
        path, columns=arguments.columns, key=arguments.key, metric=arguments.metric
    )
    ids = _noted_ids(table, path)
    points = service.load_points(
        arguments.name, table.points, ids, coordinates=table.names,
        metric=arguments.metric, **rule,
    )  # fmt: skip
    facts = points.info()
    print(
        f"version={facts['version']} points={facts['points']} "
        f"clusters={facts['clusters']}"
    )


def _noted_ids(table: "PointTable", path: Path) -> "np.ndarray | None":
    """Return the ids of a file's points, None without any; print how it is read."""
    from ..host.progress import notice
    from ..service.live_points.first_points import ids_of

    ids, note = ids_of(table, path)
    for line in (*table.notes, note):
        if line:
            notice(line)
    return ids


def _read_points(points: "Points", path: Path) -> "PointTable":
    """Return points from a file, read as `load` reads it, by the served coordinates."""
    from ..points.point_files import is_point_array, read_point_table

    columns = None if is_point_array(path) else points.coordinates or None
    metric = points.info()["metric"]
    return read_point_table(path, columns=columns, typed=True, metric=metric)


def _insert(points: "Points", arguments: argparse.Namespace) -> None:
    from .tables import read_point_ids

    file, removed = arguments.file, None
    table = _read_points(points, file)
    if (name := arguments.id_column) is not None:
        table = table._replace(ids=read_point_ids(file, name), id_name=name)
    ids = _noted_ids(table, file)
    if arguments.remove is not None:
        removed = read_point_ids(arguments.remove)
    with about(file):
        found = points.update(
            insert=table.points, ids=ids, remove=removed, version=arguments.for_version
        )
    which = ""
    if ids is None and len(found.ids):
        which = f" ids={found.ids[0]}-{found.ids[-1]}"
    print(f"version={found.version} inserted={len(found.ids)}{which}")


def _remove(points: "Points", arguments: argparse.Namespace) -> None:
    ids = _given_ids(arguments)
    if ids is None:
        from ..host.errors import ConfigError

        raise ConfigError("remove: give ids of points, or --ids FILE")
    print(f"version={points.remove(ids, version=arguments.for_version)}")


def _set_params(points: "Points", arguments: argparse.Namespace) -> None:
    from ..host.errors import ConfigError

    given = given_parameters(arguments)
    if not given:
        raise ConfigError("set-params: give a parameter; see set-params --help")
    version = points.set_params(**given)
    print(f"version={version} min_samples={points.info()['min_samples']}")


def _labels(points: "Points", arguments: argparse.Namespace) -> None:
    table = points.labels(_given_ids(arguments), arguments.of_version)
    _write(table, arguments)


def _events(points: "Points", arguments: argparse.Namespace) -> None:
    table = points.events(arguments.since)
    _write(table, arguments)


def _forest(points: "Points", arguments: argparse.Namespace) -> None:
    from ..service.points_client import check_fetched

    check_fetched(arguments.forest, arguments.save, arguments.overwrite)
    found = points.fetch()
    found.write(arguments.forest, arguments.save, arguments.overwrite)
    print(
        f"version={found.version} points={len(found.points)} edges={len(found.forest)}"
    )


def _predict(points: "Points", arguments: argparse.Namespace) -> None:
    queries = _read_points(points, arguments.file).points
    with about(arguments.file):
        found = points.predict(queries)
    _write(found, arguments)


def _neighbours(points: "Points", arguments: argparse.Namespace) -> None:
    import numpy as np

    from ..host.errors import optional

    count, queries = arguments.count, _read_points(points, arguments.file).points
    with about(arguments.file):
        found = points.neighbours(queries, count)
    rows = np.repeat(np.arange(len(found.ids)), count)
    columns = {
        "row": rows,
        "id": found.ids.ravel(),
        "distance": found.distances.ravel(),
    }
    _write(optional("pyarrow", "serve", "Tables need").table(columns), arguments)


def _given_ids(arguments: argparse.Namespace) -> "np.ndarray | list[int] | None":
    """Return the ids of the words or of the file; None without any."""
    from ..host.errors import ConfigError
    from .tables import read_point_ids

    if arguments.id and arguments.ids is not None:
        raise ConfigError("give ids of points, or --ids FILE, but not both")
    return arguments.id or (arguments.ids and read_point_ids(arguments.ids))


def _write(table: Any, arguments: argparse.Namespace) -> None:
    """Write a table to the output; without one, print it as CSV.

    In CSV a list is a text with blanks.
    """
    from .tables import print_table, with_texts, write_table

    if arguments.output is None:
        print_table(with_texts(table))
        return
    text = arguments.output.suffix == ".csv"
    write_table(with_texts(table) if text else table, arguments.output)


# The package of points has their options
WITH_POINTS = (
    ("load", "load points, whose clusters then follow their changes",
     _load, _add_load),
    ("set-params", "change parameters of clusters",
     _set_params, _add_set_params),
)  # fmt: skip
ACTIONS = (
    *(WITH_POINTS if has_points() else ()),
    ("insert", "insert points, and print their ids", _insert, _add_insert),
    ("remove", "remove points by id", _remove, _add_remove),
    ("labels", "write the cluster of each point", _labels, _add_labels),
    ("events", "write which clusters split, merged, were born or died since a version",
     _events, _add_events),
    ("forest", "write the points and their forest, which verify proves",
     _forest, _add_forest),
    ("predict", "write the clusters that points would join", _predict, _add_predict),
    ("neighbours", "write the present points nearest to others",
     _neighbours, _add_neighbours),
)  # fmt: skip
