"""The command `client`: requests to a service from a shell."""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..host.formatting import to_json
from ..host.option_types import number, real, whole
from .client_points import ACTIONS
from .options import (
    add_file,
    add_flag,
    add_table_output,
    leave_out_pandas,
)
from .parser import Commands

if TYPE_CHECKING:
    import numpy as np

    from ..service.client import Graph, Service
    from ..service.remote_versions import RemoteVersions

# The type of an option that takes the version of a graph
_VERSION = whole(0, (1 << 63) - 1)


def add_client(commands: Commands) -> None:
    """Add the command to the parser."""
    client = commands.add_parser(
        "client",
        help="send requests to a service of mndmst serve",
        description="Send a request to a service. URL is the address that `mndmst "
        "serve` prints, or its --address-file, which also names the token.",
    )
    client.add_argument("url", metavar="URL", help="grpc+tcp://HOST:PORT, or a file")
    add_file(client, "--token-file", "file of the service's token")
    add_file(client, "--tls-root", "trusted certificate of the service", metavar="PEM")
    actions = client.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, meaning, ask, add_options in (
        ("list", "print the graphs, the points and their versions", _list, None),
        ("metrics", "print counters and latencies", _metrics, None),
        ("shutdown", "end the service", _shutdown, None),
        ("info", "print the properties of a graph or of points", _info, _add_served),
        ("snapshot", "write the graph as shards, or the points beside the journal",
         _snapshot, _add_served),
        ("solve", "compute a forest", _solve, _add_solve),
        ("update", "apply a batch of changes: all of them or none",
         _update, _add_update),
        ("wait", "wait for a later version, and print it", _wait, _add_wait),
        ("changes", "write the edges that left and entered the forest since a version",
         _changes, _add_changes),
        ("store", "store weights as a column", _store, _add_store),
        ("edges", "write the edges in the order of weight files", _edges, _add_edges),
        ("connected", "print whether pairs of vertices are connected",
         _connected, _add_pairs),
        ("path-max", "print the heaviest edge on the path between vertices",
         partial(_bottlenecks, "path_max"), _add_pairs),
        ("path-min", "of a graph for maximum forests: print the lightest edge on the "
         "path between vertices", partial(_bottlenecks, "path_min"), _add_pairs),
        ("path", "print the edges on the path between vertices", _path, _add_pairs),
        ("components", "write the component of each vertex",
         _components, _add_components),
        ("clusters", "write the cluster of each vertex", _clusters, _add_clusters),
        *ACTIONS,
    ):  # fmt: skip
        about = f"{meaning.capitalize()}."
        action = actions.add_parser(name, help=meaning, description=about)
        if add_options is not None:
            add_options(action)
        action.set_defaults(ask=ask)
    client.set_defaults(process=_client, one_process=True)


def _add_graph(action: argparse.ArgumentParser) -> None:
    action.add_argument("graph", help="its name")


def _add_served(action: argparse.ArgumentParser) -> None:
    action.add_argument("served", metavar="name", help="name of the graph or points")


def _add_graph_of_names(action: argparse.ArgumentParser) -> None:
    """Add a graph whose vertices are given and printed by name."""
    _add_graph(action)
    add_flag(action, "--numbers", "give and print vertex numbers instead of names")


def _add_solve(solve: argparse.ArgumentParser) -> None:
    _add_graph_of_names(solve)
    solve.add_argument(
        "--weights", help="weights: a column, an expression of columns, or an .npy file"
    )
    _add_version(solve, "the file of weights")
    direction = solve.add_mutually_exclusive_group()
    for name, graph in (("maximum", "minimum"), ("minimum", "maximum")):
        direction.add_argument(
            f"--{name}", action="store_true",
            help=f"{name} spanning forest; of a graph for {graph} forests by other "
            "--weights only",
        )  # fmt: skip
    _add_threshold(solve)
    add_file(solve, "--without", "table (src, dst) of edges to leave out")
    add_file(
        solve, "--vertices", "use only edges between these vertices", metavar="FILE.npy"
    )
    add_table_output(solve)


def _add_threshold(action: argparse.ArgumentParser) -> None:
    side = action.add_mutually_exclusive_group()
    for name, edges in (("below", "lighter"), ("above", "heavier")):
        kind = "minimum" if name == "below" else "maximum"
        side.add_argument(
            f"--{name}", type=number, metavar="X",
            help=f"{kind} forest: use only edges {edges} than X",
        )  # fmt: skip


def _add_version(action: argparse.ArgumentParser, what: str) -> None:
    action.add_argument(
        "--for-version",
        type=_VERSION,
        metavar="N",
        help=f"version that {what} belongs to, as edges prints it; the service refuses "
        "another",
    )


def _add_edges(edges: argparse.ArgumentParser) -> None:
    _add_graph_of_names(edges)
    add_table_output(edges)


def _add_pairs(query: argparse.ArgumentParser) -> None:
    _add_graph_of_names(query)
    query.add_argument(
        "pair", nargs="*", metavar="VERTEX",
        help="two vertices, or more pairs one after the other: names, or numbers",
    )  # fmt: skip
    add_file(query, "--pairs", "table (u, v)")
    add_table_output(query)


def _add_components(components: argparse.ArgumentParser) -> None:
    _add_graph_of_names(components)
    _add_threshold(components)
    add_table_output(components)


def _add_clusters(clusters: argparse.ArgumentParser) -> None:
    _add_graph_of_names(clusters)
    rule = clusters.add_mutually_exclusive_group(required=True)
    rule.add_argument("--count", type=whole(1, (1 << 63) - 1), help="how many clusters")
    rule.add_argument(
        "--threshold", type=number, help="largest weight inside a cluster"
    )
    rule.add_argument(
        "--min-weight", type=number,
        help="maximum forest: smallest weight inside a cluster",
    )  # fmt: skip
    rule.add_argument(
        "--min-size", type=whole(1, (1 << 63) - 1),
        help="HDBSCAN*: smallest number of vertices of a cluster",
    )  # fmt: skip
    add_table_output(clusters)


def _add_update(update: argparse.ArgumentParser) -> None:
    _add_graph_of_names(update)
    update.add_argument(
        "changes", nargs="?", type=Path, metavar="CHANGES",
        help="table (op, src, dst, weight), as the command update takes",
    )  # fmt: skip
    for name, columns in (
        ("insert", "src, dst, weight"),
        ("delete", "src, dst"),
        ("set-weights", "src, dst, weight"),
    ):
        update.add_argument(
            f"--{name}", type=Path, metavar="FILE", help=f"table ({columns})"
        )
    _add_version(update, "the batch")


def _add_wait(wait: argparse.ArgumentParser) -> None:
    _add_served(wait)
    wait.add_argument(
        "--after", type=_VERSION, metavar="N", required=True,
        help="version that is known",
    )  # fmt: skip
    wait.add_argument(
        "--timeout", dest="seconds", type=real(0), metavar="SECONDS",
        help="then print the present version (by default there is no bound)",
    )  # fmt: skip


def _add_changes(changes: argparse.ArgumentParser) -> None:
    _add_graph_of_names(changes)
    changes.add_argument(
        "--since", type=_VERSION, metavar="N", required=True,
        help="version to compare with",
    )  # fmt: skip
    add_file(changes, "--tree-changes", "also write a table of the changed trees")
    add_table_output(changes)


def _add_store(store: argparse.ArgumentParser) -> None:
    _add_graph(store)
    store.add_argument("column", help="its name")
    store.add_argument("weights", type=Path, help=".npy file, in the order of edges")
    _add_version(store, "the file")


def _client(arguments: argparse.Namespace) -> int:
    leave_out_pandas()
    from ..service.client import Service, connect
    from ..service.remote_versions import RemoteVersions

    given = vars(arguments)
    if "output" in given:
        from ..io.atomic_output import check_outputs
        from ..io.output_kinds import TABLE

        files = ("without", "vertices", "pairs", "file", "ids")
        inputs = [given.get(name) for name in files]
        outputs = [(given.get(name), TABLE) for name in ("output", "tree_changes")]
        check_outputs(inputs, outputs, overwrite=arguments.overwrite)
    with connect(
        arguments.url, token_file=arguments.token_file, tls_root=arguments.tls_root
    ) as service:
        subject: Service | RemoteVersions = service
        if "graph" in given:
            graph = service[arguments.graph]
            subject = graph.numbers if given.get("numbers") else graph
        elif "points" in given:
            subject = service.points(arguments.points)
        elif "served" in given:
            subject = RemoteVersions(service.connection, arguments.served)
        arguments.ask(subject, arguments)
    return 0


def _list(service: "Service", arguments: argparse.Namespace) -> None:
    listed = service.list()
    for graph in listed["graphs"]:
        order = " order=maximum" * graph["maximum"]
        print(f"{graph['graph']} version={graph['version']}{order}")
    for points in listed["points_served"]:
        print(
            f"{points['graph']} version={points['version']} points={points['points']} "
            f"clusters={points['clusters']}"
        )


def _metrics(service: "Service", arguments: argparse.Namespace) -> None:
    print(service.metrics(), end="")


def _shutdown(service: "Service", arguments: argparse.Namespace) -> None:
    service.shutdown()


def _info(served: "RemoteVersions", arguments: argparse.Namespace) -> None:
    facts: dict[str, Any] = dict(served.info())
    rule = facts.pop("rule", {})
    facts = {**facts, **rule, **facts}  # min_samples, if it has its default, as it is
    for name, value in facts.items():
        shown = to_json(value) if isinstance(value, dict | list) else value
        print(f"{name:<16} {shown}")


def _snapshot(served: "RemoteVersions", arguments: argparse.Namespace) -> None:
    print(json.dumps(served.snapshot()))


def _solve(graph: "Graph", arguments: argparse.Namespace) -> None:
    from ..io.formats.table_columns import ask_direction
    from .tables import read_array, read_columns, write_table

    weights = arguments.weights
    chosen = arguments.maximum or arguments.minimum
    if weights is not None and weights.endswith(".npy"):
        weights = read_array(Path(weights))
    elif weights is not None and not (chosen or graph.maximum):
        ask_direction(graph.name, weights)
    without = None
    if arguments.without:
        src, dst = read_columns(arguments.without, ("src", "dst"), graph.names)
        without = src, dst
    vertices = arguments.vertices and read_array(arguments.vertices)
    forest = graph.solve(
        weights,
        maximum=arguments.maximum if chosen else None,
        below=arguments.below,
        above=arguments.above,
        without_edges=without,
        vertices=vertices,
        version=arguments.for_version,
    )
    if arguments.output is not None:
        write_table(forest.table, arguments.output)
    print(
        f"RESULT n={forest.num_vertices} m={forest.details['num_edges']} "
        f"edges={len(forest)} trees={forest.num_trees} weight={forest.total_weight} "
        f"digest={forest.numbers.digest}" + " order=maximum" * forest.maximum
    )


def _edges(graph: "Graph", arguments: argparse.Namespace) -> None:
    from ..host.errors import ConfigError
    from ..service.protocol import version_of
    from .tables import write_table

    if arguments.output is None:
        raise ConfigError("edges: give a file with -o")
    table = graph.edges()
    write_table(table, arguments.output)
    print(f"version={version_of(table)}")


def _update(graph: "Graph", arguments: argparse.Namespace) -> None:
    from ..host.errors import ConfigError
    from .tables import read_columns

    version = arguments.for_version
    changes: dict[str, Any] = {}
    for name in ("insert", "delete", "set_weights"):
        file = getattr(arguments, name)
        wanted = ("src", "dst") if name == "delete" else ("src", "dst", "weight")
        if file is not None:
            changes[name] = read_columns(file, wanted, graph.names)
    if arguments.changes is not None:
        if changes:
            raise ConfigError(
                "update: give the table of changes, or --insert, --delete and "
                "--set-weights, but not both"
            )
        changes = _changes_of(arguments.changes, graph)
        graph = graph.numbers
    print(f"version={graph.update(version=version, **changes)}")


def _wait(served: "RemoteVersions", arguments: argparse.Namespace) -> None:
    print(f"version={served.wait(arguments.after, arguments.seconds)}")


def _changes(graph: "Graph", arguments: argparse.Namespace) -> None:
    from .tables import write_table

    changes = graph.changes(arguments.since)
    if arguments.tree_changes is not None:
        write_table(changes.trees, arguments.tree_changes)
    _write_or_print(changes.edges, arguments)
    if arguments.output is not None:
        print(f"version={changes.version}")


def _changes_of(path: Path, graph: "Graph") -> "dict[str, tuple[np.ndarray, ...]]":
    """Return the net changes of a table by kind, as `Graph.update` takes them.

    A service makes deletions first, then weights and insertions; lines of a table are
    made one after the other. Each edge therefore has one change.
    """
    import numpy as np

    from ..changes.batch import net_changes
    from ..changes.edges import ends_of
    from ..changes.table import read_changes
    from ..graph.order import keys_to_weights
    from ..host.errors import InputError

    info = graph.info()
    weight_type = np.dtype(info["weight_type"])
    batch = read_changes(path, weight_type, graph.names)
    net = net_changes(batch, info["num_vertices"], weight_type)
    undone = np.flatnonzero(~net.before & ~net.after)
    if len(undone):
        first = undone[net.change[undone].argmin()]
        raise InputError(
            f"{batch.where(int(net.change[first]))}: inserts an edge that a later line "
            "deletes. Leave both out."
        )
    columns = (*ends_of(net.pair), keys_to_weights(net.key, weight_type))
    kinds = {
        "delete": (net.before & ~net.after, columns[:2]),
        "set_weights": (net.before & net.after, columns),
        "insert": (~net.before & net.after, columns),
    }
    return {
        kind: tuple(column[chosen] for column in given)
        for kind, (chosen, given) in kinds.items()
        if chosen.any()
    }


def _pairs_of(
    graph: "Graph", arguments: argparse.Namespace
) -> "tuple[np.ndarray, np.ndarray]":
    """Return the two columns of the pairs of vertices that a query is given."""
    import numpy as np

    from ..host.errors import ConfigError
    from ..io.names import NameKind, escaped, is_cell_of, two_readings
    from .tables import read_columns

    given = arguments.pair
    if (arguments.pairs is None) == (len(given) == 0) or len(given) % 2:
        raise ConfigError("give pairs of vertices, such as 0 5, or --pairs FILE")
    if arguments.pairs is not None:
        u, v = read_columns(arguments.pairs, ("u", "v"), graph.names)
        return u, v
    if graph.names is None or graph.names.kind.is_integer:
        for word in given:
            if not is_cell_of(NameKind.INT64, word):
                raise ConfigError(
                    f"the vertices of {arguments.graph} are integers, and "
                    f'"{escaped(word)}" is not one{two_readings(word)}'
                )
        given = [int(word) for word in given]
    pairs = np.array(given, np.int64 if isinstance(given[0], int) else object)
    return pairs[::2], pairs[1::2]


def _write_or_print(columns: Any, arguments: argparse.Namespace) -> None:
    """Write columns of a table to the output; without one, print them as CSV."""
    from ..host.errors import optional
    from .tables import print_table, write_table

    table = optional("pyarrow", "serve", "Tables need").table(columns)
    if arguments.output is not None:
        write_table(table, arguments.output)
        return
    print_table(table)


def _connected(graph: "Graph", arguments: argparse.Namespace) -> None:
    u, v = _pairs_of(graph, arguments)
    connected = graph.connected(u, v)
    _write_or_print({"u": u, "v": v, "connected": connected}, arguments)


def _bottlenecks(query: str, graph: "Graph", arguments: argparse.Namespace) -> None:
    u, v = _pairs_of(graph, arguments)
    edges = graph.path_max(u, v) if query == "path_max" else graph.path_min(u, v)
    columns = {name: edges[name] for name in ("src", "dst", "weight")}
    _write_or_print({"u": u, "v": v, **columns}, arguments)


def _path(graph: "Graph", arguments: argparse.Namespace) -> None:
    import numpy as np

    u, v = _pairs_of(graph, arguments)
    paths = graph.path(u, v)
    assert not isinstance(paths, list)  # of a single pair
    paths = paths.combine_chunks()
    lengths = np.diff(paths.offsets.to_numpy())
    edges = paths.flatten()
    columns = {"u": np.repeat(u, lengths), "v": np.repeat(v, lengths)}
    columns |= {name: edges.field(name) for name in ("src", "dst", "weight")}
    _write_or_print(columns, arguments)


def _components(graph: "Graph", arguments: argparse.Namespace) -> None:
    label = graph.components(arguments.below, above=arguments.above)
    _write_or_print({"vertex": graph.nodes, "component": label}, arguments)


def _clusters(graph: "Graph", arguments: argparse.Namespace) -> None:
    rules = ("count", "threshold", "min_weight", "min_size")
    given = {rule: getattr(arguments, rule) for rule in rules}
    rule = {name: value for name, value in given.items() if value is not None}
    label = graph.clusters(**rule)
    _write_or_print({"vertex": graph.nodes, "label": label}, arguments)


def _store(graph: "Graph", arguments: argparse.Namespace) -> None:
    from .tables import read_array

    weights = read_array(arguments.weights)
    graph.store(arguments.column, weights, version=arguments.for_version)
