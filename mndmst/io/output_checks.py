"""Checks of a command's outputs before any work."""

import errno
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import OutputError
from .atomic_output import AtomicOutput
from .file_access import writing
from .output_kinds import Kind, check_ending, check_ordinary, check_replaceable
from .shards.graph_directory import INDEX_NAME

if TYPE_CHECKING:
    from ..comm.communicator import Comm

# None for an output that was not asked for.
Output = tuple[Path | None, Kind]


def check_outputs(
    inputs: Iterable[str | Path | None],
    outputs: Iterable[Output],
    kept: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Check that outputs can be written and replace no protected file.

    Protected are inputs, graphs, other outputs (compared without links and dots), and
    what `output_kinds` keeps. The directory `kept` of checkpoints must hold none of
    them.
    """
    given = [Path(path) for path in inputs if path is not None]
    read = {path.resolve() for path in given}
    written: dict[Path, Path] = {}
    kinds: dict[Path, Kind] = {}
    for path, kind in outputs:
        if path is None:
            continue
        if path.name == "-":
            raise OutputError(
                f"{path}: results are whole files, so standard output is none of them. "
                "Give the name of a file."
            )
        with writing(path):
            place = path.resolve()
            beside_parts = (place.parent / INDEX_NAME).exists()
            is_input = place in read or any(_same_file(path, name) for name in given)
        if is_input:
            raise OutputError(
                f"{path}: is read by this command, and would be replaced. Give the "
                "output another name."
            )
        if place in written.values():
            raise OutputError(
                f"{path}: two outputs would be written there. Give each a name of its "
                "own."
            )
        if beside_parts:
            raise OutputError(
                f"{path}: lies in the directory of a graph, whose files it might "
                "replace. Give a path outside it."
            )
        with writing(path):
            check_ordinary(path)
        check_ending(path, kind)
        written[path], kinds[path] = place, kind
    if kept is not None:
        _check_kept(kept, [*given, *written])
    for path, place in written.items():
        with writing(path):
            check_replaceable(path, kinds[path], overwrite)
            place.parent.stat()
            if not os.access(place.parent, os.W_OK | os.X_OK):
                fixed = os.statvfs(place.parent).f_flag & os.ST_RDONLY
                number = errno.EROFS if fixed else errno.EACCES
                raise OSError(number, os.strerror(number), str(path))


def _same_file(path: Path, other: Path) -> bool:
    """Return whether two names are of one file, as on disks that ignore case."""
    with suppress(OSError):
        return path.samefile(other)
    return False


def _check_kept(kept: Path, given: list[Path]) -> None:
    """Refuse inputs and outputs in the directory of checkpoints."""
    with writing(kept):
        place = kept.resolve()
        beside_parts = (place / INDEX_NAME).exists()
    if beside_parts:
        raise OutputError(
            f"{kept}: is the directory of a graph. Give --checkpoint a directory for "
            "this run alone."
        )
    for path in given:
        if path.resolve().is_relative_to(place):
            raise OutputError(
                f"{path}: lies in {kept}, where the checkpoints are kept. Give "
                "--checkpoint a directory for this run alone."
            )


def check_on_all(
    comm: "Comm",
    inputs: Iterable[str | Path | None],
    outputs: Iterable[Output],
    kept: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Run `check_outputs` on rank 0 and `check_writable` on all ranks. Collective."""
    outputs = list(outputs)
    with comm.raise_on_all():
        if comm.rank == 0:
            check_outputs(inputs, outputs, kept, overwrite)
    for path, _ in outputs:
        if path is not None:
            check_writable(comm, path)


def check_writable(comm: "Comm", path: str | Path) -> None:
    """Make sure, before any work is done, that every rank can write at `path`."""
    path = Path(path)
    output = AtomicOutput(comm)
    try:
        probe = output.begin(path)
        with comm.raise_on_all(), writing(path):
            if not probe.exists():
                raise OutputError(
                    f"{path}: rank {comm.rank} does not see what rank 0 writes there. "
                    "Give a directory that all machines share."
                )
            probe.open("r+b").close()
    finally:
        output.discard()
