"""Files that appear under their names whole, several of them together, or not at all.

A file is made beside its target under a new random name, is put on disk, and is then
renamed. So no existing file is written to: no other program's file, and nothing that a
symbolic link points to. A command that fails removes the files it has made itself, and
no others.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

from ..host.errors import OutputError
from .layout import flush_to_disk, writing


class OwnFile(NamedTuple):
    """A file that this process has made, and may therefore remove."""

    path: Path
    device: int
    inode: int

    @classmethod
    def make(cls, path: Path) -> "OwnFile":
        """Make an empty file; OSError if anything has that name, even a link."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o666)
        try:
            made = os.fstat(handle)
        finally:
            os.close(handle)
        return cls(path, made.st_dev, made.st_ino)

    def publish(self, target: Path) -> None:
        """Give the file its final name.

        Raises
        ------
        OutputError
            If something else has its present name.
        OSError
            If it cannot be renamed.
        """
        if not self._there():
            raise OutputError(
                f"{target}: its temporary file {self.path.name} has been removed or "
                "replaced meanwhile. Write it again."
            )
        self.path.replace(target)

    def remove(self) -> None:
        """Remove the file, if it is still there and may be removed."""
        with suppress(OSError):
            if self._there():
                self.path.unlink()

    def _there(self) -> bool:
        with suppress(FileNotFoundError):
            found = self.path.lstat()
            return (found.st_dev, found.st_ino) == (self.device, self.inode)
        return False


class WholeFiles:
    """Files that get their names together, when all of them are on disk.

    Used as a context manager, which gives them their names unless the block fails.
    The first one is named last: where it exists, the others do, too.
    """

    def __init__(self) -> None:
        self._begun: list[tuple[OwnFile, Path]] = []

    def begin(self, target: Path) -> Path:
        """Make a file that becomes `target`, and return its present name.

        Raises
        ------
        OutputError
            If what has the name is no ordinary file; see `check_target`.
        OSError
            If it cannot be made.
        """
        check_target(target)
        name = f"{target.name}.tmp-{secrets.token_hex(6)}"
        own = OwnFile.make(target.with_name(name))
        self._begun.append((own, target))
        return own.path

    @contextmanager
    def file(self, target: Path) -> Iterator[Path]:
        """Give a temporary name to write to; the file is on disk after the block.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        with writing(target):
            temporary = self.begin(target)
            yield temporary
            flush_to_disk(temporary)

    def publish(self) -> None:
        """Put all files on disk and give them their names, the first one last.

        Raises
        ------
        OutputError
            If that fails; the first file has no name then.
        """
        for own, target in self._begun:
            with writing(target):
                check_target(target)
                flush_to_disk(own.path)
        for own, target in reversed(self._begun):
            with writing(target):
                own.publish(target)
                flush_to_disk(target.parent)

    def discard(self) -> None:
        """Remove the files that have no name yet."""
        for own, _ in self._begun:
            own.remove()
        self._begun.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.publish()
        finally:
            self.discard()


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """Give a temporary name to write to; rename it to `target` when that went well.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    with WholeFiles() as files, files.file(target) as temporary:
        yield temporary


def check_target(target: Path) -> None:
    """Refuse a name that is taken by anything but an ordinary file.

    Raises
    ------
    OutputError
        If it is.
    OSError
        If that cannot be found out.
    """
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise OutputError(
            f"{target}: is a symbolic link, and files are not written through links. "
            "Give the name of the file it points to, or remove the link."
        )
    if stat.S_ISDIR(mode):
        raise OutputError(f"{target}: is a directory; give a file in it.")
    if not stat.S_ISREG(mode):
        raise OutputError(f"{target}: is a device or a pipe; give a file.")
