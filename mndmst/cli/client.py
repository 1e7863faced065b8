"""The command `client`: requests to a service from a shell."""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .cluster import number
from .options import add_overwrite
from .parser import whole


def add_client(commands: Any) -> None:
    """Add the command to the parser."""
    client = commands.add_parser(
        "client",
        help="send requests to a service of mndmst serve",
        description="Send a request to a service. URL is the address that `mndmst "
        "serve` "
        "prints, or its --address-file, which also names the token.",
    )
    client.add_argument("url", metavar="URL", help="grpc+tcp://HOST:PORT, or a file")
    client.add_argument(
        "--token-file", type=Path, metavar="FILE", help="file of the service's token"
    )
    client.add_argument(
        "--tls-root",
        type=Path,
        metavar="PEM",
        help="trusted certificate of the service",
    )
    actions = client.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, meaning in (
        ("list", "print the graphs and their versions"),
        ("metrics", "print counters and latencies"),
        ("shutdown", "end the service"),
    ):
        action = actions.add_parser(
            name, help=meaning, description=f"{meaning.capitalize()}."
        )
        action.set_defaults(ask=globals()[f"_{name}"])
    for name, meaning in (
        ("info", "print the properties of a graph"),
        ("snapshot", "write the graph as shards"),
        ("solve", "compute a forest"),
        ("update", "apply a batch of changes: all of them or none"),
        ("store", "store weights as a column"),
        ("edges", "write the edges in the order of weight files"),
    ):
        action = actions.add_parser(
            name, help=meaning, description=f"{meaning.capitalize()}."
        )
        action.add_argument("graph", help="its name")
        action.set_defaults(ask=globals()[f"_{name}"])
        globals().get(f"_add_{name}", lambda _: None)(action)
    client.set_defaults(process=_client)


def _add_solve(solve: argparse.ArgumentParser) -> None:
    solve.add_argument(
        "--weights", help="weights: a column, an expression of columns, or an .npy file"
    )
    _add_version(solve, "the file of weights")
    solve.add_argument("--maximum", action="store_true", help="maximum spanning forest")
    solve.add_argument(
        "--below", type=number, metavar="X", help="use only edges lighter than X"
    )
    solve.add_argument(
        "--without",
        type=Path,
        metavar="FILE",
        help="table (src, dst) of edges to leave out",
    )
    solve.add_argument(
        "--vertices",
        type=Path,
        metavar="FILE.npy",
        help="use only edges between these vertices",
    )
    _add_output(solve)


def _add_version(action: argparse.ArgumentParser, what: str) -> None:
    action.add_argument(
        "--for-version",
        type=whole(0, (1 << 63) - 1),
        metavar="N",
        help=f"version that {what} belongs to, as edges prints it; the service refuses "
        "another",
    )


def _add_output(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help=".csv, .arrow or .parquet"
    )
    add_overwrite(action, "replace an existing file")


_add_edges = _add_output


def _add_update(update: argparse.ArgumentParser) -> None:
    for name, columns in (
        ("insert", "src, dst, weight"),
        ("delete", "src, dst"),
        ("set-weights", "src, dst, weight"),
    ):
        update.add_argument(
            f"--{name}", type=Path, metavar="FILE", help=f"table ({columns})"
        )
    _add_version(update, "the batch")


def _add_store(store: argparse.ArgumentParser) -> None:
    store.add_argument("column", help="its name")
    store.add_argument("weights", type=Path, help=".npy file, in the order of edges")
    _add_version(store, "the file")


def _client(arguments: argparse.Namespace) -> int:
    from ..host.errors import InputError, MndmstError
    from ..io.regular_files import read_small
    from ..service.client import connect

    url, token_file = arguments.url, arguments.token_file
    if "://" not in url:
        try:
            found = json.loads(read_small(Path(url)))
            url, token_file = found["url"], token_file or found["token_file"]
        except MndmstError:
            raise
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise InputError(
                f"{url}: is not an address file of a service ({error})"
            ) from error
    with connect(url, token_file=token_file, tls_root=arguments.tls_root) as service:
        arguments.ask(service, arguments)
    return 0


def _list(service: Any, arguments: argparse.Namespace) -> None:
    for graph in service.list()["graphs"]:
        print(f"{graph['graph']} version={graph['version']}")


def _metrics(service: Any, arguments: argparse.Namespace) -> None:
    print(service.metrics(), end="")


def _shutdown(service: Any, arguments: argparse.Namespace) -> None:
    service.shutdown()


def _info(service: Any, arguments: argparse.Namespace) -> None:
    for name, value in service[arguments.graph].info().items():
        print(f"{name:<13} {value}")


def _snapshot(service: Any, arguments: argparse.Namespace) -> None:
    print(json.dumps(service[arguments.graph].snapshot()))


def _solve(service: Any, arguments: argparse.Namespace) -> None:
    from ..service.tables import read_array, read_columns, write_table

    inputs = arguments.without, arguments.vertices
    _check_table(inputs, arguments.output, arguments.overwrite)
    weights = arguments.weights
    if weights is not None and weights.endswith(".npy"):
        weights = read_array(Path(weights))
    without = arguments.without and read_columns(arguments.without, ("src", "dst"))
    vertices = arguments.vertices and read_array(arguments.vertices)
    forest = service[arguments.graph].solve(
        weights,
        maximum=arguments.maximum,
        below=arguments.below,
        without_edges=without,
        vertices=vertices,
        version=arguments.for_version,
    )
    if arguments.output is not None:
        write_table(forest.table, arguments.output)
    print(
        f"RESULT n={forest.num_vertices} m={forest.details['num_edges']} "
        f"edges={len(forest)} trees={forest.num_trees} weight={forest.total_weight} "
        f"digest={forest.digest}"
    )


def _check_table(
    inputs: Iterable[Path | None], output: Path | None, overwrite: bool
) -> None:
    """Check, before any request, that the output table can be written."""
    from ..io.file_suffixes import TABLE
    from ..io.output_checks import check_outputs

    check_outputs(inputs, [(output, TABLE)], overwrite=overwrite)


def _edges(service: Any, arguments: argparse.Namespace) -> None:
    from ..host.errors import ConfigError
    from ..service.connection import version_of
    from ..service.tables import write_table

    if arguments.output is None:
        raise ConfigError("edges: give a file with -o")
    _check_table([], arguments.output, arguments.overwrite)
    table = service[arguments.graph].edges()
    write_table(table, arguments.output)
    print(f"version={version_of(table)}")


def _update(service: Any, arguments: argparse.Namespace) -> None:
    from ..service.tables import read_columns

    changes = {}
    for name in ("insert", "delete", "set_weights"):
        file = getattr(arguments, name)
        wanted = ("src", "dst") if name == "delete" else ("src", "dst", "weight")
        if file is not None:
            changes[name] = read_columns(file, wanted)
    graph, version = service[arguments.graph], arguments.for_version
    print(f"version={graph.update(version=version, **changes)}")


def _store(service: Any, arguments: argparse.Namespace) -> None:
    from ..service.tables import read_array

    weights = read_array(arguments.weights)
    graph, version = service[arguments.graph], arguments.for_version
    graph.store(arguments.column, weights, version=version)
