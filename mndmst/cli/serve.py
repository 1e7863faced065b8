"""The command `serve`."""

import argparse
import os
from pathlib import Path
from typing import Any

from ..run.config import CHOICES
from .options import add_overwrite, add_quiet


def add_serve(commands: Any) -> None:
    """Add the command to the parser."""
    serve = commands.add_parser(
        "serve",
        help="keep graphs in memory and answer requests (under mpirun or alone)",
        description="Read sharded graphs once, and answer requests for their forests, "
        "by Arrow Flight, until a client or a signal ends it.",
    )
    serve.add_argument(
        "graphs",
        nargs="+",
        metavar="[NAME=]GRAPH",
        help="sharded graph, and its name for clients; by default the directory's",
    )
    where = serve.add_mutually_exclusive_group()
    where.add_argument(
        "--listen",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="address to listen at; port 0 takes a free one",
    )
    where.add_argument("--socket", type=Path, help="listen at a socket of this name")
    serve.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="file of the token that clients must show; made if it is missing",
    )
    serve.add_argument(
        "--address-file", type=Path, metavar="FILE", help="JSON file for the address"
    )
    add_overwrite(serve, "replace a file that is not one of an address")
    serve.add_argument("--tls-cert", type=Path, metavar="PEM", help="certificate")
    serve.add_argument("--tls-key", type=Path, metavar="PEM", help="its key")
    serve.add_argument(
        "--insecure",
        action="store_true",
        help="listen on a network without a token of yours, or without TLS",
    )
    serve.add_argument(
        "--journal",
        type=Path,
        metavar="DIR",
        help="keep changes there; a service that starts with it has them",
    )
    serve.add_argument(
        "--journal-until",
        action="append",
        metavar="[NAME=]VERSION",
        help="continue a journal after this version; its file before is kept",
    )
    serve.add_argument(
        "--attached",
        action="store_true",
        help="end once standard input does: with the program that writes to it",
    )
    serve.add_argument("--config", type=Path, help="TOML file with any options")
    serve.add_argument(
        "--backend", choices=CHOICES["backend"], help="devices of a rank"
    )
    serve.add_argument("--threads", type=int, help="threads of a rank's CPU worker")
    serve.add_argument("--memory", help="what a rank may hold, such as 8GiB")
    serve.add_argument("--merge", choices=CHOICES["merge"], help="how ranks merge")
    serve.add_argument(
        "--timeout",
        type=int,
        metavar="SECONDS",
        help="end if a host is out of reach, or all ranks wait for each other, for as "
        "long, 120; 0 waits for ever",
    )
    add_quiet(serve)
    serve.set_defaults(process=_serve, holds_signals=True)


def _serve(arguments: argparse.Namespace) -> int:
    # Arrow's other allocators keep freed memory; it reads this as it is imported
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

    from ..comm.mpi_library import forgo_memory_events
    from ..io.file_suffixes import ADDRESS
    from ..service.serve import Setting, serve
    from .ranks import begin

    forgo_memory_events()
    outputs = [(arguments.address_file, ADDRESS)]
    comm, config, progress = begin(arguments, outputs)
    with comm.raise_on_all():
        graphs = _named(arguments.graphs)
        until = _until(arguments, graphs)
    access, token_file = _access(comm, arguments)
    setting = Setting(
        graphs,
        access,
        token_file,
        arguments.address_file,
        arguments.quiet,
        arguments.journal,
        arguments.attached,
        until,
        arguments.overwrite,
    )
    serve(comm, setting, config, progress)
    return 0


def _named(words: list[str]) -> dict[str, Path]:
    """Return the graphs by their names: those given, or those of their files."""
    from ..host.errors import ConfigError
    from ..service.protocol import NAME

    graphs: dict[str, Path] = {}
    for word in words:
        name, equals, path = word.partition("=")
        place = Path(path if equals else word)
        name = name if equals else place.resolve().name
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{word}: {name!r} is no name for a graph; write NAME=GRAPH, the name "
                "of letters, digits, dots, dashes and underscores"
            )
        if name in graphs:
            raise ConfigError(
                f"{word}: another graph is called {name}; write NAME=GRAPH"
            )
        graphs[name] = place
    return graphs


def _until(arguments: argparse.Namespace, graphs: dict[str, Path]) -> dict[str, int]:
    """Return the last versions of journals to continue from, by graph."""
    from ..host.errors import ConfigError

    until: dict[str, int] = {}
    for word in arguments.journal_until or []:
        name, equals, number = word.rpartition("=")
        name = name if equals or len(graphs) > 1 else next(iter(graphs))
        if name not in graphs or not number.isdecimal() or len(number) > 18:
            raise ConfigError(
                f"--journal-until {word}: write [NAME=]VERSION, with one of the graphs "
                f"{', '.join(graphs)} and a number; the name may be left out if there "
                "is one graph"
            )
        until[name] = int(number)
    if until and arguments.journal is None:
        raise ConfigError("--journal-until goes with --journal; give both")
    return until


def _access(comm: Any, arguments: argparse.Namespace) -> tuple[Any, Path | None]:
    """Return where to listen and what clients must show. Collective."""
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
                raise ConfigError("--tls-cert and --tls-key need each other; give both")
            keys = (b"", b"")
            if arguments.tls_cert is not None:
                keys = read_keys(arguments.tls_cert, arguments.tls_key)
            host, port = read_listen(arguments.listen)
            path = arguments.socket and check_name(arguments.socket)
            access = Access(host, port, path, "", *keys)
            check_open(access, arguments.token_file is not None, arguments.insecure)
            if access.local and not alone:
                raise ConfigError(
                    "ranks are on several hosts, and clients must reach all: --listen "
                    "on their network, such as 0.0.0.0:0"
                )
            token, token_file = find_token(arguments.token_file)
            access = Access(host, port, path, token, *keys)
    return comm.bcast(access), token_file
