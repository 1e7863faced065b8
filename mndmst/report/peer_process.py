"""A process that solves the edges of a file with one package, several times.

`contest` starts it with its own process id, a folder, the name of a peer, the number of
our threads (0 for another package) and the number of turns. The process writes lines of
JSON to a file of the folder as it goes, so that turns before a time limit count: the
seconds of the conversion, those of each turn, and the answer of the first; or an error.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..host.signals import end_with
from ..io.edge_file import Edges
from .peers import PEERS, Answer, Peer, answers_without, ours

EDGES, REPLY = "edges.npz", "reply"


def save(edges: Edges, maximum: bool, folder: Path) -> None:
    """Write edges for the process, and whether their maximum forest is wanted."""
    np.savez(
        folder / EDGES,
        src=edges.src, dst=edges.dst, weight=edges.weight,
        num_vertices=edges.num_vertices, maximum=maximum,
    )  # fmt: skip


def _load(folder: Path) -> tuple[Edges, bool]:
    with np.load(folder / EDGES) as file:
        src, dst, weight = (file[name] for name in ("src", "dst", "weight"))
        edges = Edges(int(file["num_vertices"]), src, dst, weight, directed=False)
        return edges, bool(file["maximum"])


def negated(peer: Peer) -> Peer:
    """Return a peer that computes maximum forests, by the negated weights."""

    def convert(edges: Edges) -> Any:
        weight = -edges.weight.astype(np.float64)  # as peers have them in any case
        return peer.convert(replace(edges, weight=weight))

    def answer(graph: Any, forest: Any) -> Answer:
        found = peer.answer(graph, forest)
        return found._replace(weight=-found.weight)

    return peer._replace(convert=convert, answer=answer)


def measure(peer: Peer, edges: Edges, turns: int) -> Iterator[dict[str, Any]]:
    """Yield the seconds of the conversion, then of each turn."""
    import_module(peer.module)
    begin = time.perf_counter()
    graph = peer.convert(edges)
    yield {"build": time.perf_counter() - begin}
    for turn in range(turns):
        seconds, forest = peer.timed(graph)
        entry: dict[str, Any] = {"seconds": seconds}
        if turn == 0:
            is_ours = peer.package == "mndmst"
            entry["answers"] = (
                answers_without(forest)
                if is_ours
                else {peer.omits: peer.answer(graph, forest)}
            )
        del forest
        yield entry


def main() -> None:
    """Solve the edges, and write what happens."""
    parent, folder, name, threads, turns = sys.argv[1:]
    end_with(int(parent))  # a turn may take hours
    with (Path(folder) / REPLY).open("w", buffering=1) as reply:
        try:
            edges, maximum = _load(Path(folder))
            if int(threads):
                peer = ours(name, int(threads), maximum)
            else:
                peer = next(peer for peer in PEERS if peer.name == name)
                peer = negated(peer) if maximum else peer
            for entry in measure(peer, edges, int(turns)):
                print(json.dumps(entry), file=reply)
        except MemoryError:
            print(json.dumps({"lacks_memory": True}), file=reply)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            print(json.dumps({"failure": text}), file=reply)


if __name__ == "__main__":
    main()
