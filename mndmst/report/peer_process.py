"""A process that solves the edges or points of a file with one package, several times.

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
from .peers import ANSWERS, PEERS, Answer, Peer, answers_without, ours

INPUT, REPLY = "input.npz", "reply"


def save(edges: Edges, maximum: bool, folder: Path) -> None:
    """Write edges for the process, and whether their maximum forest is wanted."""
    np.savez(
        folder / INPUT,
        src=edges.src, dst=edges.dst, weight=edges.weight,
        num_vertices=edges.num_vertices, maximum=maximum,
    )  # fmt: skip


def save_points(task: str, points: np.ndarray, folder: Path) -> None:
    """Write points for the process, and its task, a key of `POINT_TASKS`."""
    np.savez(folder / INPUT, points=points, task=task)


def _load(folder: Path, name: str, threads: int) -> tuple[Peer, Edges | np.ndarray]:
    """Return the named program, with our threads or 0 for a peer, and its input."""
    with np.load(folder / INPUT) as file:
        if "points" in file:
            from .point_peers import POINT_TASKS

            task = POINT_TASKS[str(file["task"])]
            others = (peer for peer in task.peers if peer.name == name)
            peer = task.our_peer(name, threads) if threads else next(others)
            return peer, file["points"]
        src, dst, weight = (file[name] for name in ("src", "dst", "weight"))
        edges = Edges(int(file["num_vertices"]), src, dst, weight, directed=False)
        maximum = bool(file["maximum"])
    if threads:
        return ours(name, threads, maximum), edges
    peer = next(peer for peer in PEERS if peer.name == name)
    return (negated(peer) if maximum else peer), edges


def negated(peer: Peer) -> Peer:
    """Return a peer that computes maximum forests, by the negated weights."""

    def convert(edges: Edges) -> Any:
        weight = -edges.weight.astype(np.float64)  # as peers have them in any case
        return peer.convert(replace(edges, weight=weight))

    def answer(graph: Any, forest: Any) -> Answer:
        edges, weight = peer.answer(graph, forest)
        return Answer(edges, -weight)

    return peer._replace(convert=convert, answer=answer)


def measure(
    peer: Peer, given: Edges | np.ndarray, turns: int
) -> Iterator[dict[str, Any]]:
    """Yield the seconds of the conversion, then of each turn."""
    import_module(peer.module)
    begin = time.perf_counter()
    converted = peer.convert(given)
    yield {"build": time.perf_counter() - begin}
    for turn in range(turns):
        seconds, result = peer.timed(converted)
        entry: dict[str, Any] = {"seconds": seconds}
        if turn == 0:
            entry["answers"] = (
                answers_without(result)
                if peer.package == "mndmst" and isinstance(given, Edges)
                else {peer.omits: peer.answer(converted, result)}
            )
            kind = type(next(iter(entry["answers"].values())))
            entry["kind"] = next(name for name in ANSWERS if ANSWERS[name] is kind)
        del result
        yield entry


def main() -> None:
    """Solve the input, and write what happens."""
    parent, folder, name, threads, turns = sys.argv[1:]
    end_with(int(parent))  # a turn may take hours
    with (Path(folder) / REPLY).open("w", buffering=1) as reply:
        try:
            peer, given = _load(Path(folder), name, int(threads))
            for entry in measure(peer, given, int(turns)):
                print(json.dumps(entry), file=reply)
        except MemoryError:
            print(json.dumps({"lacks_memory": True}), file=reply)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            print(json.dumps({"failure": text}), file=reply)


if __name__ == "__main__":
    main()
