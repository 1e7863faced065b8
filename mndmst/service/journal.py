"""The journal of a graph or of points: every acknowledged batch of changes, on disk.

A folder for each::

    lease             names the service that holds the folder; see `take_lease`
    graph             the uuid of what it began with; `loaded` follows if a client has
                      sent it, and then version 0 is a snapshot, too
    journal-V         the batches after version V, one record each; see `records`
    journal-V.kept-X  a journal that `--journal-until` has replaced
    snapshot-V-TOKEN  version V: shards of a graph, or a file of points; while it is
                      written the name ends in .tmp, and a lock lies beside shards; see
                      `graph_lock`

A batch is on disk before it is acknowledged. A snapshot gets its name when it is
complete, and begins a new journal. A service that starts removes older journals and
snapshots, which get temporary names before, and the temporary files of a killed
service. It removes only files with names of journals, and temporary ones of its own.
"""

import errno
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Generic, NamedTuple, TypeVar

from ..host.errors import ConfigError, InputError, MndmstError, OutputError
from ..host.progress import notice
from ..io.atomic_output import left_over, whole_file
from ..io.file_access import (
    flush_to_disk,
    read_small,
    reading,
    write_at,
    writing,
)
from ..io.owned_files import BusyError, LockFile, sweep
from ..io.partitioner.graph_lock import TEXT as LOCK_TEXT
from ..io.shards.graph_directory import new_token
from .protocol import NAME
from .records import (
    RecordReader,
    foreign,
    header,
    reader,
    record,
)

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
LEASE_NAME = "lease"
MOST_HOLDER_BYTES = 1000


def take_lease(folder: Path) -> LockFile:
    """Lock a folder for this service, until the lock is closed or the process ends.

    The service takes it before it reads anything in the folder. The file `lease` names
    the holder, and stays. Raises OutputError if another service holds it, the folder
    cannot be written, or its file system has no locks.
    """
    path = folder / LEASE_NAME
    try:
        lease = LockFile.take(path)
    except BusyError as error:
        holder = error.content[:MOST_HOLDER_BYTES].decode(errors="replace").strip()
        if not holder or not holder.isprintable():
            holder = "it has not said its process"
        raise OutputError(
            f"{folder}: another service has this journal: {holder}. End that one, or "
            "give another --journal."
        ) from error
    try:
        if lease.refusal is not None:
            raise OutputError(
                f"{path}: cannot be locked ({lease.refusal.strerror}), so two services "
                "could write one journal. Give a --journal on a file system with locks."
            ) from lease.refusal
        since = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        text = f"process {os.getpid()} on {socket.gethostname()}, since {since}\n"
        with writing(path):
            os.ftruncate(lease.handle, 0)
            write_at(lease.handle, text.encode(), 0)
    except BaseException:
        lease.close()
        raise
    return lease


_NAME = re.compile(r"(journal|snapshot)-(\d+)(-[0-9a-f]{16}(\.tmp)?)?")
_SNAPSHOT_LOCK = re.compile(r"snapshot-\d+-[0-9a-f]{16}\.tmp\.mndmst-lock")
UNFINISHED = ".tmp"
ORIGIN, LOADED = "graph", "loaded"


def loaded_journals(folder: Path) -> dict[str, str]:
    """Return by name the origins of the journals of what clients have sent."""
    found = {}
    with reading(folder, "Give another --journal"):
        for each in sorted(folder.iterdir()) if folder.exists() else ():
            origin = each / ORIGIN
            if NAME.fullmatch(each.name) and origin.exists():
                text = read_small(origin).decode(errors="replace").strip()
                if text.endswith(f" {LOADED}"):
                    found[each.name] = text
    return found


Changes = TypeVar("Changes")  # A batch


@dataclass(frozen=True)
class JournalKind(Generic[Changes]):
    """The content of the journals of graphs, or of those of points."""

    # The owner of a journal that belongs to another one, and the remedy, for errors
    foreign: str
    pack: Callable[[Changes], bytes]
    # Gets the place, for errors; raises ValueError if the bytes are not a batch
    unpack: Callable[[bytes, str], Changes]
    remove_snapshot: Callable[[Path], None]


class JournalStart(NamedTuple):
    """The start: shards or points, and their version."""

    path: Path
    version: int


class Journal(Generic[Changes]):
    """The journal of one graph in a folder of its own, which is made; on rank 0.

    Or of points, as the `kind` says. It continues from the version `until`, if given;
    later batches stay in another file. Raises OutputError if another service has the
    folder, or it cannot be written.
    """

    def __init__(
        self, folder: Path, kind: JournalKind[Changes], until: int | None = None
    ) -> None:
        self.folder, self._kind, self._until = folder, kind, until
        self.base = 0  # The version after which it goes on
        self._file: BinaryIO | None = None
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lease = take_lease(folder)

    def begin(self, original: Path, uuid: str) -> JournalStart:
        """Return the shards or points that the journal continues.

        They are the newest snapshot's, or else `original`, which was given and has a
        uuid. Raises InputError if the journal belongs to another.
        """
        origin = self.folder / ORIGIN
        if not origin.exists():
            if not self._versions("journal"):
                self._make(self.folder / "journal-0", uuid)
            with whole_file(origin) as file:
                file.write_text(uuid + "\n")
        elif read_small(origin).decode(errors="replace").strip() != uuid:
            raise foreign(self.folder, self._kind.foreign)
        self._sweep()
        complete = {
            version: path
            for version, path in self._versions("snapshot")
            if path.suffix != UNFINISHED
        }
        if not complete:
            return JournalStart(original, 0)
        newest = max(complete)
        return JournalStart(complete[newest], newest)

    def begin_with(self, uuid: str, write: Callable[[Path], None]) -> None:
        """Begin with version 0, which a client has sent and `write` writes, and open.

        The origin is written last: until then a service that starts ignores the folder.
        Raises ConfigError if there is another journal; OutputError if it cannot be
        written.
        """
        origin, kinds = self.folder / ORIGIN, ("journal", "snapshot")
        later = (version for kind in kinds for version, _ in self._versions(kind))
        if origin.exists() or any(later):
            raise ConfigError(
                f"{self.folder}: is the journal of others, which this service does "
                "not serve. Give another name, or remove the folder."
            )
        self._remove_before(1)  # a beginning that was cut off
        path = self.snapshot_path(0)
        write(path)
        with writing(path):
            path.rename(path.with_suffix(""))
        self._make(self.folder / "journal-0", uuid)
        list(self.open(0, uuid))
        with whole_file(origin) as file:
            file.write_text(f"{uuid} {LOADED}\n")

    def open(self, version: int, uuid: str) -> Iterator[Changes]:
        """Open the journal after a version of some shards, and yield the batches in it.

        It removes older files, and cuts an unfinished record behind the last batch.
        Raises InputError if it belongs to another graph, or is damaged; OutputError if
        it cannot be written.
        """
        path = self.folder / f"journal-{version}"
        journals = [number for number, _ in self._versions("journal")]
        if (last := max(journals, default=0)) > version:
            raise InputError(
                f"{self.folder}: has the journal after version {last}, but the "
                f"snapshot of version {last} is missing, or a link. Restore it from a "
                f"copy, or continue after version {version}: move journal-{last} away."
            )
        if not path.exists():
            # A snapshot that was cut off has an older journal beside it
            if not journals and self._until != version:
                raise InputError(
                    f"{path}: is missing, with all batches after version {version}. "
                    "Restore it from a copy, or continue without them: serve "
                    f"--journal-until {self.folder.name}={version}"
                )
            self._make(path, uuid)
        if path.is_symlink() or not path.is_file():
            raise InputError(
                f"{path}: is a link, or not a regular file. Put the journal there."
            )
        if self._until is not None:
            self._keep_until(path, uuid, version, self._until)
            self._until = None
        with writing(path):
            file = path.open("r+b")
        try:
            records = self._reader(path, file, uuid, version)
        except BaseException:
            file.close()
            raise
        self._file, self.base = file, version
        self._remove_before(version)
        return self._batches(records)

    def _make(self, path: Path, uuid: str) -> None:
        """Make a journal without records."""
        with whole_file(path) as new:
            new.write_bytes(header(uuid))

    def _reader(
        self, path: Path, file: BinaryIO, uuid: str, version: int
    ) -> RecordReader:
        try:
            return reader(path, file, uuid, version, self._kind.foreign)
        except MndmstError:
            raise
        except ValueError as error:
            last = _last_version(RecordReader(path, file, version))
            raise InputError(
                f"{path}: is damaged: {error}. Restore the file from a copy, or "
                f"continue after version {last}, up to which its records are whole: "
                f"serve --journal-until {self.folder.name}={last} keeps this file "
                "under another name."
            ) from error

    def _keep_until(self, path: Path, uuid: str, version: int, until: int) -> None:
        """Replace a journal by its batches up to a version; keep it under a name."""
        records = None
        with path.open("rb") as file:
            if until < version:
                raise InputError(
                    f"{self.folder}: --journal-until {until} is before the snapshot of "
                    f"version {version}. Give {version} or more."
                )
            if until > version:
                try:
                    records = reader(path, file, uuid, version, self._kind.foreign)
                except MndmstError:
                    raise
                except ValueError:  # each record has checksums of its own
                    records = RecordReader(path, file, version)
            copy = path.with_name(f"{path.name}.kept-{secrets.token_hex(6)}")
            with writing(copy):
                os.link(path, copy)
            try:
                self._rewrite(records, path, uuid, until)
            except BaseException:
                with suppress(OSError):
                    if path.samefile(copy):  # it has not been replaced
                        copy.unlink()
                raise
        notice(
            f"{path}: continues after version {until}; the file before is {copy.name}"
        )

    def _rewrite(
        self,
        records: RecordReader | None,
        path: Path,
        uuid: str,
        until: int,
    ) -> None:
        """Write the records up to a version as a whole new file.

        Raises InputError if there are fewer, or one of them is damaged.
        """
        with whole_file(path) as new, new.open("wb") as file:
            file.write(header(uuid))
            while records is not None and records.version != until:
                body = records.next()
                if body is None:
                    break
                file.write(record(body.version, body.packed))
            if records is not None and records.version < until:
                raise InputError(
                    f"{path}: has no version {until}; the last one is "
                    f"{records.version}. Give --journal-until that one."
                )

    def _sweep(self) -> None:
        """Remove files that a service which was killed was about to name."""
        with writing(self.folder):
            locks = [
                path
                for path in self.folder.iterdir()
                if _SNAPSHOT_LOCK.fullmatch(path.name)
                and path.is_file()
                and LOCK_TEXT.startswith(path.read_bytes())
            ]
            sweep([*left_over(self.folder), *locks])

    def _remove_before(self, version: int) -> None:
        """Remove files from before a version, and unfinished snapshots."""
        with writing(self.folder):
            flush_to_disk(self.folder)
            for number, path in self._versions("journal"):
                if number < version:
                    path.unlink()
            for number, path in self._versions("snapshot"):
                if path.suffix != UNFINISHED and number < version:
                    path = path.rename(f"{path}{UNFINISHED}")
                if path.suffix == UNFINISHED:
                    self._kind.remove_snapshot(path)

    def _batches(self, records: RecordReader) -> Iterator[Changes]:
        while (body := records.next()) is not None:
            try:
                batch = self._kind.unpack(body.packed, body.where)
            except MndmstError:
                raise
            except ValueError as error:
                raise InputError(
                    f"{body.where} is damaged: its checksum is right, but its body is "
                    f"not a batch ({error}). {self.recovery_advice(body.version)}"
                ) from error
            yield batch
        size = records.size
        if records.offset < size:
            with writing(records.path):
                records.file.truncate(records.offset)
                os.fsync(records.file.fileno())
            notice(
                f"{records.path}: cut the last {size - records.offset:,} bytes, from "
                f"byte {records.offset:,} on, behind version {records.version}: the "
                "unfinished write of a batch that was not acknowledged"
            )
        records.file.seek(records.offset)

    def recovery_advice(self, version: int) -> str:
        """Return the remedy for a version whose record cannot be used."""
        return (
            "Restore the file from a copy, or continue without it: serve "
            f"--journal-until {self.folder.name}={version - 1} keeps this file under "
            "another name."
        )

    def packed(self, batch: Changes) -> bytes:
        """Return a batch as `append` takes it; OutputError if the disk is too full.

        The file does not keep the room: in zeros, a power cut could leave a record
        without its middle, which is damage.
        """
        body = self._kind.pack(batch)
        file = self._file
        assert file is not None
        size = os.fstat(file.fileno()).st_size
        with writing(Path(file.name)):
            try:
                os.posix_fallocate(file.fileno(), size, len(record(0, b"")) + len(body))
            except OSError as error:
                if error.errno in FULL:  # other file systems cannot tell
                    raise
            finally:
                os.ftruncate(file.fileno(), size)
        return body

    def append(self, version: int, packed: bytes) -> None:
        """Write a batch to disk.

        Raises OutputError if that fails; the file may then have the batch or a part.
        """
        file = self._file
        assert file is not None
        with writing(Path(file.name)):
            file.write(record(version, packed))
            file.flush()
            os.fsync(file.fileno())

    def snapshot_path(self, version: int) -> Path:
        """Return the name for a snapshot of a version, which `restart` takes."""
        return self.folder / f"snapshot-{version}-{new_token()}{UNFINISHED}"

    def restart(self, version: int, uuid: str, snapshot: Path) -> str:
        """Begin a new journal after a snapshot; remove the files that it replaces.

        The snapshot has a uuid and lies at `snapshot`; its name is returned. Raises
        OutputError if the journal cannot be written.
        """
        before, self._file = self._file, None
        with writing(snapshot):
            named = snapshot.rename(snapshot.with_suffix(""))
        list(self.open(version, uuid))
        if before is not None:
            before.close()
        return named.name

    @property
    def nbytes(self) -> int:
        """Bytes of all files in the folder; for any thread."""
        total = 0
        for folder, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):
                    total += (Path(folder) / name).stat().st_size
        return total

    def close(self) -> None:
        """Close the file and release the lease."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lease.close()

    def _versions(self, kind: str) -> list[tuple[int, Path]]:
        names = [(_NAME.fullmatch(path.name), path) for path in self.folder.iterdir()]
        return [
            (int(name[2]), path)
            for name, path in names
            if name is not None and name[1] == kind and not path.is_symlink()
        ]


def _last_version(records: RecordReader) -> int:
    """Return the last version up to which all records are whole."""
    with suppress(InputError):
        while records.next() is not None:
            pass
    return records.version
