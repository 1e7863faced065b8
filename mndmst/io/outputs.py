"""Outputs of a command: checked before any work, named at the end."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..host.errors import OutputError
from .endings import Kind, check_ending
from .layout import INDEX_NAME, writing
from .whole_file import WholeFiles, check_target

if TYPE_CHECKING:
    from ..comm.communicator import Comm

# None for an output that was not asked for, or whose ending is checked elsewhere.
Output = tuple[Path | None, Kind | None]


def check_outputs(
    inputs: Iterable[str | Path | None],
    outputs: Iterable[Output],
    kept: Path | None = None,
) -> None:
    """Make sure that outputs can be made, and replace nothing but files like them.

    No output may replace an input, a graph's file or another output, or have a name
    that says another format.

    Parameters
    ----------
    inputs : iterable of path or None
        None for one that was not asked for.
    outputs : iterable of Output
    kept : Path, optional
        The directory of checkpoints, which has neither inputs nor outputs in it.

    Raises
    ------
    OutputError
        If one would replace them, or has no directory that can be written to. Names are
        compared without links and dots in them.
    ConfigError
        If a name says another format.
    """
    given = [Path(path) for path in inputs if path is not None]
    read = {path.resolve() for path in given}
    written: dict[Path, Path] = {}
    for path, kind in outputs:
        if path is None:
            continue
        with writing(path):
            place = path.resolve()
            beside_parts = (place.parent / INDEX_NAME).exists()
        if place in read:
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
            check_target(path)
        if kind is not None:
            check_ending(path, kind)
        given.append(path)
        written[path] = place
    if kept is not None:
        _check_kept(kept, given)
    for path, place in written.items():
        with writing(path):
            place.parent.stat()
            if not os.access(place.parent, os.W_OK | os.X_OK):
                fixed = os.statvfs(place.parent).f_flag & os.ST_RDONLY
                number = errno.EROFS if fixed else errno.EACCES
                raise OSError(number, os.strerror(number), str(path))


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
) -> None:
    """Do what `check_outputs` does, and what `check_writable` does. Collective.

    Raises
    ------
    OutputError, ConfigError
        On every rank, if an output cannot be made, would replace something else, or
        has a name that says another format.
    """
    outputs = list(outputs)
    with comm.raise_on_all():
        if comm.rank == 0:
            check_outputs(inputs, outputs, kept)
    for path, _ in outputs:
        if path is not None:
            check_writable(comm, path)


def check_writable(comm: "Comm", path: str | Path) -> None:
    """Make sure, before any work is done, that every rank can write at `path`.

    Raises
    ------
    OutputError
        On every rank, if `path` is no ordinary file, or its directory is missing,
        cannot be written, or is not one that all ranks share.
    """
    path = Path(path)
    outputs = Outputs(comm)
    try:
        probe = outputs.begin(path)
        with comm.raise_on_all(), writing(path):
            if not probe.exists():
                raise OutputError(
                    f"{path}: rank {comm.rank} does not see what rank 0 writes there. "
                    "Give a directory that all machines share."
                )
            probe.open("r+b").close()
    finally:
        outputs.discard()


class Outputs(WholeFiles):
    """Files that ranks write, and that get their names together. Collective.

    Rank 0 makes and names the files.
    """

    def __init__(self, comm: "Comm") -> None:
        super().__init__()
        self.comm = comm

    def begin(self, target: Path) -> Path:
        """Make a file that becomes `target`, and return its present name to all ranks.

        Raises
        ------
        OutputError
            On every rank, if it cannot be made.
        """
        name = None
        with self.comm.raise_on_all(), writing(target):
            if self.comm.rank == 0:
                name = super().begin(target)
        made: Path = self.comm.bcast(name)
        return made

    def publish(self) -> None:
        """Do what `WholeFiles.publish` does; an error is raised on every rank."""
        with self.comm.raise_on_all():
            super().publish()
