"""The command `serve`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import has_points
from ..host.option_types import number
from .options import (
    SIZES,
    add_devices,
    add_file,
    add_flag,
    add_overwrite,
    add_talk,
    leave_out_pandas,
)
from .parser import Commands, Number, Parser, size
from .point_options import add_served_points

if TYPE_CHECKING:
    from ..comm.communicator import Comm
    from ..service.access import Access
    from ..service.http_server import HttpSetting
    from ..service.live_points.first_points import PointSource


def add_serve(commands: Commands) -> None:
    """Add the command to the parser."""
    serve = commands.add_parser(
        "serve",
        help="serve graphs and points from memory (under mpirun or alone)",
        description="Load sharded graphs once, and answer requests for their forests "
        "over Arrow Flight, until a client or a signal ends the service. With --points "
        "also points, whose clusters (HDBSCAN*) follow insertions and removals.",
    )
    serve.add_argument(
        "graphs",
        nargs="*",
        metavar="[NAME=]GRAPH",
        help="sharded graph, and its name for clients (default: that of the directory)",
    )
    if has_points():
        _add_points(serve)
    where = serve.add_mutually_exclusive_group()
    where.add_argument(
        "--listen",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="address to listen on; port 0 takes a free port",
    )
    add_file(where, "--socket", "Unix socket to listen on")
    serve.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="also serve HTTP there: /metrics, /healthz, /readyz and a page",
    )
    serve.add_argument(
        "--slow-request",
        type=number,
        default=10.0,
        metavar="SECONDS",
        help="mark requests of at least this time, and write them despite -q",
    )
    serve.add_argument(
        "--client-requests",
        type=Number(int, 1),
        default=0,
        metavar="N",
        help="requests of one client at once on a rank; a client is a host (default: "
        "no limit)",
    )
    serve.add_argument(
        "--client-bytes",
        type=size,
        default=0,
        metavar="SIZE",
        help="bytes of unused uploads of one client on a rank (default: no limit); "
        f"{SIZES}",
    )
    add_file(
        serve,
        "--token-file",
        "file of the token that clients must present; created if missing",
    )
    add_file(serve, "--address-file", "write the address to this JSON file")
    add_overwrite(serve, "replace a file that is not an address file")
    add_file(serve, "--tls-cert", "TLS certificate", metavar="PEM")
    add_file(serve, "--tls-key", "key of the certificate", metavar="PEM")
    add_flag(serve, "--insecure", "allow a network address without --token-file or TLS")
    add_file(
        serve,
        "--journal",
        "write changes to a journal in this directory, and replay it at the start",
        metavar="DIR",
    )
    serve.add_argument(
        "--journal-until",
        action="append",
        metavar="[NAME=]VERSION",
        help="replay the journal up to this version only; the old file is kept",
    )
    add_flag(
        serve,
        "--attached",
        "end when standard input closes, with the program that started the service",
    )
    add_devices(serve)
    serve.add_argument(
        "--timeout",
        type=int,
        metavar="SECONDS",
        help="end if a host is unreachable, or all ranks wait for each other, this "
        "long (default: 120; 0 for never)",
    )
    add_talk(serve, "requests for lists and facts, and details of the start")
    serve.set_defaults(process=_serve, holds_signals=True)


def _add_points(serve: Parser) -> None:
    """Add points to serve, and the rule of their clusters."""
    serve.add_argument(
        "--points",
        action="append",
        metavar="[NAME=]FILE",
        help="points to serve, as the command hdbscan reads them, and their name for "
        "clients (default: that of the file without its suffix)",
    )
    add_served_points(serve)


def _points_of(
    arguments: argparse.Namespace, graphs: dict[str, Path]
) -> "dict[str, PointSource]":
    """Return the points to serve by name."""
    from ..host.errors import ConfigError

    given = getattr(arguments, "points", None) or []
    if not given:
        if not (graphs or has_points()):
            raise ConfigError("nothing to serve: give a GRAPH")
        return {}
    from ..points.clusters.density_clusters import density_rule
    from ..service.live_points.first_points import PointSource, check_metric

    check_metric(arguments.metric, "--metric")
    rule = density_rule(arguments)
    columns, key, metric = arguments.columns, arguments.key, arguments.metric
    return {
        name: PointSource(path, rule, columns, key, metric)
        for name, path in _named(given, "points", graphs).items()
    }


def _serve(arguments: argparse.Namespace) -> int:
    leave_out_pandas()

    from ..comm.mpi_library import forgo_memory_events
    from ..host.progress import notice
    from ..io.output_kinds import ADDRESS
    from ..service.arrow_memory import UNBOUNDED, bound_arrow
    from .ranks import begin

    forgo_memory_events()
    outputs = [(arguments.address_file, ADDRESS)]
    comm, config, progress = begin(arguments, outputs)
    with comm.raise_on_all():
        if not bound_arrow(config.memory) and comm.rank == 0:
            notice(UNBOUNDED)

    from ..service.limits import ClientLimits
    from ..service.metrics import RequestLog
    from ..service.serve import Setting, serve

    with comm.raise_on_all():
        graphs = _named(arguments.graphs, "graphs", {})
        points = _points_of(arguments, graphs)
        # Rank 0 alone needs it, and sees the folder of journals
        until = _until(arguments, [*graphs, *points]) if comm.rank == 0 else {}
    access, token_file = _access(comm, arguments)
    setting = Setting(
        graphs,
        access,
        token_file,
        arguments.address_file,
        RequestLog(
            arguments.quiet,
            arguments.verbose,
            arguments.log_json,
            arguments.slow_request,
        ),
        _http(comm, arguments),
        arguments.journal,
        arguments.attached,
        until,
        arguments.overwrite,
        ClientLimits(arguments.client_requests, arguments.client_bytes),
        points,
    )
    serve(comm, setting, config, progress)
    return 0


def _named(words: list[str], kind: str, others: dict[str, Path]) -> dict[str, Path]:
    """Return graphs or points by name: the given name, or that of the path.

    The suffix of a file is no part of its name. `others` have their names already.
    """
    from ..host.errors import ConfigError
    from ..service.protocol import NAME

    usage = "NAME=GRAPH" if kind == "graphs" else "NAME=FILE"
    named: dict[str, Path] = {}
    for word in words:
        name, equals, given = word.partition("=")
        path = Path(given if equals else word)
        if not equals:
            name = path.resolve().name
            name = name if kind == "graphs" else name.partition(".")[0]
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{word}: {name!r} is not a valid name of {kind}; write {usage} "
                "with a name of letters, digits, dots, dashes and underscores"
            )
        if name in named or name in others:
            raise ConfigError(f"{word}: two {kind} are named {name}; write {usage}")
        named[name] = path
    return named


def _until(arguments: argparse.Namespace, graphs: list[str]) -> dict[str, int]:
    """Return the last versions of journals to continue from, by graph or points."""
    from ..host.errors import ConfigError

    until: dict[str, int] = {}
    if arguments.journal_until and arguments.journal is not None:
        from ..service.journal import loaded_journals

        graphs = [*graphs, *loaded_journals(arguments.journal)]
    for word in arguments.journal_until or []:
        name, equals, number = word.rpartition("=")
        name = name if equals or len(graphs) != 1 else graphs[0]
        if name not in graphs or not number.isdecimal() or len(number) > 18:
            raise ConfigError(
                f"--journal-until {word}: write [NAME=]VERSION, with one of the graphs "
                f"{', '.join(graphs)} and a number; the name may be left out if there "
                "is one graph"
            )
        until[name] = int(number)
    if until and arguments.journal is None:
        raise ConfigError("--journal-until needs --journal; give both")
    return until


def _http(comm: "Comm", arguments: argparse.Namespace) -> "HttpSetting | None":
    """Return the setting of the HTTP server; None without one. Collective."""
    if arguments.http is None:
        return None
    from ..host.errors import optional
    from ..service.access import Access, check_open, read_listen
    from ..service.http_server import HttpSetting

    setting = None
    with comm.raise_on_all():
        host, port = read_listen(arguments.http, "--http")
        setting = HttpSetting(host, port, arguments.tls_cert, arguments.tls_key)
        if comm.rank == 0:
            for module in ("uvicorn", "starlette"):
                optional(module, "http", "--http needs")
            access = Access(host, port, certificate=b"-" * bool(arguments.tls_cert))
            given = arguments.token_file is not None
            check_open(access, given, arguments.insecure, "--http")
    return setting


def _access(
    comm: "Comm", arguments: argparse.Namespace
) -> "tuple[Access, Path | None]":
    """Return the address and the credentials of the service. Collective."""
    from ..host.errors import ConfigError
    from ..service.access import (
        Access,
        check_name,
        check_open,
        find_token,
        read_keys,
        read_listen,
    )

    access, token_file = Access(), None
    alone = comm.is_one_host()
    with comm.raise_on_all():
        if comm.rank == 0:
            if (arguments.tls_cert is None) != (arguments.tls_key is None):
                raise ConfigError("--tls-cert and --tls-key belong together; give both")
            certificate, key = b"", b""
            if arguments.tls_cert is not None:
                certificate, key = read_keys(arguments.tls_cert, arguments.tls_key)
            host, port = read_listen(arguments.listen)
            path = arguments.socket and check_name(arguments.socket)
            access = Access(host, port, path, "", certificate, key)
            check_open(access, arguments.token_file is not None, arguments.insecure)
            if access.local and not alone:
                raise ConfigError(
                    "ranks are on several hosts, and clients must reach all: --listen "
                    "on their network, such as 0.0.0.0:0"
                )
            token, token_file = find_token(arguments.token_file)
            access = Access(host, port, path, token, certificate, key)
    return comm.bcast(access), token_file
