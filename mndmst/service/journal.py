"""The journal of a graph: every acknowledged batch of changes, on disk.

A folder for each graph::

    graph             the uuid of the graph that it began with
    journal-V         the batches after version V, one record each
    snapshot-V-TOKEN  shards of version V; while they are written the name ends in .tmp

A record is its length, version and CRC-32, and then the batch as an Arrow stream. It is
on disk before the batch is acknowledged. A record that is cut short at the end belongs
to a batch that nobody was told of, and is removed. A snapshot gets its name when it is
complete, and begins a new journal. Whoever opens that removes what it replaces, which
gets a temporary name before, and what a snapshot that was cut off has left.
"""

import fcntl
import io
import os
import re
import shutil
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..changes.batch import Batch
from ..host.errors import InputError, OutputError
from ..host.extras import optional
from ..io.atomic_output import whole_file
from ..io.destination import new_token
from ..io.layout import flush_to_disk, writing
from ..io.opening import read_small
from ..io.shards import open_graph

arrow = optional("pyarrow", "serve", "The journal needs")

_HEAD = struct.Struct("<QQI")
_NAME = re.compile(r"(journal|snapshot)-(\d+)(-[0-9a-f]{16}(\.tmp)?)?")
UNFINISHED = ".tmp"
MAGIC = b"mndmst-journal 1 "
UUID_BYTES = 36


class Found(NamedTuple):
    """Where a graph begins: its shards, and the version they have."""

    path: Path
    version: int


class Journal:
    """The journal of one graph; on rank 0.

    Parameters
    ----------
    folder : Path
        Of this graph alone; made if it is not there.

    Attributes
    ----------
    base : int
        The version after which it goes on.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.base = 0
        self._file: BinaryIO | None = None
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def begin(self, original: Path) -> Found:
        """Return the shards that the journal continues: the newest snapshot's, if any.

        Parameters
        ----------
        original : Path
            The graph that was given.

        Raises
        ------
        InputError
            If the journal belongs to another graph.
        """
        origin, uuid = self.folder / "graph", open_graph(original, check=False).uuid
        if not origin.exists():
            with whole_file(origin) as file:
                file.write_text(uuid + "\n")
        elif read_small(origin).decode(errors="replace").strip() != uuid:
            raise _foreign(self.folder)
        complete = {
            version: path
            for version, path in self._versions("snapshot")
            if path.suffix != UNFINISHED
        }
        if not complete:
            return Found(original, 0)
        newest = max(complete)
        return Found(complete[newest], newest)

    def open(self, version: int, uuid: str) -> Iterator[Batch]:
        """Open the journal after a version, and yield the batches in it.

        What is older, and what is not finished, is removed.

        Parameters
        ----------
        uuid : str
            Of the shards that it continues.

        Raises
        ------
        InputError
            If it belongs to another graph, or is damaged.
        OutputError
            If it cannot be written, or another service has it.
        """
        path = self.folder / f"journal-{version}"
        header = MAGIC + uuid.encode().ljust(UUID_BYTES) + b"\n"
        if not path.exists():
            with whole_file(path) as new:
                new.write_bytes(header)
        with writing(path):
            file = path.open("r+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise OutputError(
                    f"{path}: another service has this journal. End that one, or give "
                    "another --journal."
                ) from error
        self._file, self.base = file, version
        if file.read(len(header)) != header:
            raise _foreign(path)
        self._remove_before(version)
        return self._batches(path, version)

    def _remove_before(self, version: int) -> None:
        """Remove what was before a version, and snapshots that are not finished."""
        with writing(self.folder):
            flush_to_disk(self.folder)
            for number, path in self._versions("journal"):
                if number < version:
                    path.unlink()
            for number, path in self._versions("snapshot"):
                if path.suffix != UNFINISHED and number < version:
                    path = path.rename(f"{path}{UNFINISHED}")
                if path.suffix == UNFINISHED:
                    shutil.rmtree(path)

    def _batches(self, path: Path, version: int) -> Iterator[Batch]:
        file = self._file
        assert file is not None
        size = os.fstat(file.fileno()).st_size
        while (place := file.tell()) < size:
            head = file.read(_HEAD.size)
            length, number, total = _HEAD.unpack(head.ljust(_HEAD.size, b"\0"))
            if length > size - place - _HEAD.size or len(head) < _HEAD.size:
                break  # the batch was not acknowledged
            body = file.read(length)
            if zlib.crc32(head[: _HEAD.size - 4] + body) != total:
                if file.tell() == size:
                    break  # so was this one
                raise InputError(
                    f"{path}: the record of version {number} is damaged. Copy the file "
                    "again from where it is whole."
                )
            version += 1
            if number != version:
                raise InputError(f"{path}: has version {number} after {version - 1}.")
            yield _unpacked(body)
        with writing(path):
            file.seek(place)
            file.truncate()
            os.fsync(file.fileno())

    def append(self, version: int, batch: Batch) -> None:
        """Put a batch on disk.

        Raises
        ------
        OutputError
            If that fails; the batch may be there then, or a part of it.
        """
        file = self._file
        assert file is not None
        body = _packed(batch)
        head = _HEAD.pack(len(body), version, 0)[:-4]
        with writing(Path(file.name)):
            file.write(head + struct.pack("<I", zlib.crc32(head + body)) + body)
            file.flush()
            os.fsync(file.fileno())

    def snapshot_folder(self, version: int) -> Path:
        """Return where to write the shards of a version, before `restart`."""
        return self.folder / f"snapshot-{version}-{new_token()}{UNFINISHED}"

    def restart(self, version: int, uuid: str, snapshot: Path) -> str:
        """Begin a new journal after a snapshot; remove what it replaces.

        Parameters
        ----------
        uuid : str
            Of the snapshot.
        snapshot : Path
            Where it has been written.

        Returns
        -------
        str
            The name of the snapshot.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        before, self._file = self._file, None
        with writing(snapshot):
            named = snapshot.rename(snapshot.with_suffix(""))
        list(self.open(version, uuid))
        if before is not None:
            before.close()
        return named.name

    def close(self) -> None:
        """Let the journal go."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _versions(self, kind: str) -> list[tuple[int, Path]]:
        found = [(_NAME.fullmatch(path.name), path) for path in self.folder.iterdir()]
        return [
            (int(name[2]), path)
            for name, path in found
            if name is not None and name[1] == kind and not path.is_symlink()
        ]


def _foreign(path: Path) -> InputError:
    return InputError(
        f"{path}: is the journal of another graph. Give another --journal, or the "
        "graph that it belongs to."
    )


def _packed(batch: Batch) -> bytes:
    columns = {n: np.asarray(getattr(batch, n)) for n in ("op", "src", "dst", "weight")}
    table = arrow.table(columns)
    sink = io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _unpacked(body: bytes) -> Batch:
    table: Any = arrow.ipc.open_stream(body).read_all()
    op, src, dst, weight = (table[n].to_numpy() for n in table.column_names)
    return Batch(op, src, dst, weight, source="the journal")
