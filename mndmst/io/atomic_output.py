"""Files that appear under their names whole, several of them together, or not at all.

A file is made beside its target under a new random name, is flushed to disk, and is
then renamed. So no existing file is written to: no other program's file, and nothing
that a symbolic link points to. A command that fails removes the files it has made
itself, and no others. The next command that writes to a folder removes the files of
killed ones: their names have a checksum, and no process has them locked. `output_kinds`
says which existing file is replaced.
`check_outputs` refuses unsuitable outputs of a command before any work.
"""

import errno
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ..host.errors import OutputError
from .file_access import flush_to_disk, writing
from .output_kinds import (
    CREATOR,
    INDEX_NAME,
    Kind,
    check_ending,
    check_ordinary,
    check_replaceable,
)
from .owned_files import LockFile, sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..comm.communicator import Comm

DRAWN = 12  # letters of a temporary name
# None for an output that the user did not request.
Output = tuple[Path | None, Kind]

# The field of each format with the name of the program.
_PROGRAM_FIELDS = {"png": "Software", "svg": "Creator", "pdf": "Creator"}


class AtomicOutput:
    """The output files of one command: they get their names together, once on disk.

    A context manager gives them their names, the first one last, unless its block
    fails. The ranks of `comm` write the files together: rank 0 makes and names them,
    all methods are collective, and an error is raised on every rank. `overwrite`
    replaces any ordinary file, not only an earlier result of the same kind.
    """

    def __init__(self, comm: "Comm | None" = None, overwrite: bool = False) -> None:
        self.comm = comm
        self.overwrite = overwrite
        self._begun: list[tuple[LockFile, Path, Kind | None]] = []
        self._swept: set[Path] = set()

    @property
    def ranks(self) -> "Comm":
        """The ranks that write the files together."""
        assert self.comm is not None, "the files are of one process"
        return self.comm

    def begin(self, target: Path, kind: Kind | None = None) -> Path:
        """Make a file that becomes `target`, and return its present name."""
        # Without a kind the name is of mndmst alone: any ordinary file is replaced
        made = None
        with self._on_all(), writing(target):
            if self.comm is None or self.comm.rank == 0:
                self._check(target, kind)
                if target.parent not in self._swept:
                    sweep(left_over(target.parent))
                    self._swept.add(target.parent)
                file = LockFile.make(
                    lambda: _temporary(target, secrets.token_hex(DRAWN // 2))
                )
                self._begun.append((file, target, kind))
                made = file.path
        if self.comm is not None:
            made = self.comm.bcast(made)
        assert made is not None
        return made

    @contextmanager
    def file(self, target: Path, kind: Kind | None = None) -> Iterator[Path]:
        """Give a temporary name to write to; the file is on disk after the block."""
        with writing(target):
            temporary = self.begin(target, kind)
            yield temporary
            flush_to_disk(temporary)

    def publish(self) -> None:
        """Put all files on disk, and give them their names."""
        # The first one last: where it exists, the others do, too
        with self._on_all():
            for file, target, kind in self._begun:
                with writing(target):
                    self._check(target, kind)
                    flush_to_disk(file.path)
            for file, target, _ in reversed(self._begun):
                with writing(target):
                    file.removable.publish(target)
                    flush_to_disk(target.parent)

    def discard(self) -> None:
        """Remove the files that have no name yet."""
        for file, _, _ in self._begun:
            file.removable.remove()
            file.close()
        self._begun.clear()

    def _check(self, target: Path, kind: Kind | None) -> None:
        if kind is None:
            check_ordinary(target)
        else:
            check_replaceable(target, kind, self.overwrite)

    def _on_all(self) -> AbstractContextManager[None]:
        return nullcontext() if self.comm is None else self.comm.raise_on_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.publish()
        finally:
            self.discard()


def _temporary(target: Path, drawn: str) -> Path:
    """Return a name beside a target, with drawn letters and their checksum.

    The checksum has the host, too: a process may not see the locks of other hosts.
    """
    total = zlib.crc32(f"mndmst {os.uname().nodename} {drawn}".encode())
    return target.with_name(f"{target.name}.tmp-{drawn}{total:08x}")


def left_over(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder that have temporary names of this host."""
    with suppress(OSError):  # a folder may be writable alone
        for path in folder.iterdir():
            name, _, letters = path.name.rpartition(".tmp-")
            if name and path == _temporary(folder / name, letters[:DRAWN]):
                yield path


@contextmanager
def whole_file(
    target: Path, kind: Kind | None = None, overwrite: bool = False
) -> Iterator[Path]:
    """Give a temporary name to write to; rename it to `target` if no error occurs."""
    with AtomicOutput(None, overwrite) as output, output.file(target, kind) as name:
        yield name


def write_picture_file(
    figure: "Figure", files: AtomicOutput, path: Path, kind: Kind, **how: object
) -> None:
    """Write a figure as the suffix (.png, .svg, .pdf) says; `how` is for `savefig`."""
    suffix = path.suffix[1:]
    mark = {_PROGRAM_FIELDS[suffix]: CREATOR}
    with files.file(path, kind) as temporary:
        figure.savefig(temporary, format=suffix, metadata=mark, **how)  # type: ignore[arg-type]


def check_outputs(
    inputs: Iterable[str | Path | None],
    outputs: Iterable[Output],
    checkpoint: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Check that outputs can be written and replace no protected file.

    Protected are inputs, graphs, other outputs (compared without links and dots), and
    files that `output_kinds` protects. The directory of checkpoints must hold none of
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
            resolved = path.resolve()
            beside_parts = (resolved.parent / INDEX_NAME).exists()
            is_input = resolved in read or any(_same_file(path, name) for name in given)
        if is_input:
            raise OutputError(
                f"{path}: is read by this command, and would be replaced. Give the "
                "output another name."
            )
        if resolved in written.values():
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
        written[path], kinds[path] = resolved, kind
    if checkpoint is not None:
        _check_checkpoint(checkpoint, [*given, *written])
    for path, resolved in written.items():
        with writing(path):
            check_replaceable(path, kinds[path], overwrite)
            resolved.parent.stat()
            if not os.access(resolved.parent, os.W_OK | os.X_OK):
                fixed = os.statvfs(resolved.parent).f_flag & os.ST_RDONLY
                number = errno.EROFS if fixed else errno.EACCES
                raise OSError(number, os.strerror(number), str(path))


def _same_file(path: Path, other: Path) -> bool:
    """Return whether two names are of one file, as on disks that ignore case."""
    with suppress(OSError):
        return path.samefile(other)
    return False


def _check_checkpoint(checkpoint: Path, given: list[Path]) -> None:
    """Refuse inputs and outputs in the directory of checkpoints."""
    with writing(checkpoint):
        resolved = checkpoint.resolve()
        beside_parts = (resolved / INDEX_NAME).exists()
    if beside_parts:
        raise OutputError(
            f"{checkpoint}: is the directory of a graph. Give --checkpoint a directory "
            "for this run alone."
        )
    for path in given:
        if path.resolve().is_relative_to(resolved):
            raise OutputError(
                f"{path}: lies in {checkpoint}, where the checkpoints are kept. Give "
                "--checkpoint a directory for this run alone."
            )


def check_on_all(
    comm: "Comm",
    inputs: Iterable[str | Path | None],
    outputs: Iterable[Output],
    checkpoint: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Run `check_outputs` on rank 0 and `check_writable` on all ranks. Collective."""
    outputs = list(outputs)
    with comm.raise_on_all():
        if comm.rank == 0:
            check_outputs(inputs, outputs, checkpoint, overwrite)
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
