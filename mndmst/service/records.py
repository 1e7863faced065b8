"""The file of a journal: a header, and a record for each batch of changes.

The header is a line with the uuid of the shards that the file continues, and a CRC-32.
A record is::

    marker     4 bytes
    length     of the body, 8 bytes
    version    that the batch makes, 8 bytes
    body sum   CRC-32 of the body
    head sum   CRC-32 of the 24 bytes before it
    body       the batch as an Arrow stream
    end        4 bytes, none of them zero

A record is on disk before the next one begins, so a failure leaves at most one
unfinished record, at the end of the file. Two kinds of tails are unfinished writes: the
beginning of a record; and one whose end is zeros, from a sector's boundary on or all of
it, which a power cut leaves where the file system has noted the new length of the file
before the data. Neither has the end mark of its record. A service cuts such a tail and
says so. Everything else is damage, and the service refuses it, because the damaged
record and all after it may have been acknowledged.
"""

import io
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from ..changes.batch import OPERATIONS, Batch
from ..host import __version__
from ..host.errors import InputError, optional

arrow = optional("pyarrow", "serve", "The service needs")

FORMAT, VERSION = b"mndmst-journal", 2
MAGIC = b"%s %d " % (FORMAT, VERSION)
UUID_BYTES = 36
HEADER_BYTES = len(MAGIC) + UUID_BYTES + len(" 01234567\n")
MARKER, END = b"\xf5Jrn", b"\xfaEnd"
_HEAD = struct.Struct("<4sQQII")
_SUM = struct.Struct("<I")
# The smallest unit that a disk writes as a whole
SECTOR = 512
COLUMNS = ("op", "src", "dst", "weight")


def header(uuid: str) -> bytes:
    """Return the first line of a journal that continues shards with a uuid."""
    line = MAGIC + uuid.encode().ljust(UUID_BYTES)
    return line + f" {zlib.crc32(line):08x}\n".encode()


def record(version: int, body: bytes) -> bytes:
    """Return the record of a batch that has been packed."""
    facts = _HEAD.pack(MARKER, len(body), version, zlib.crc32(body), 0)[: -_SUM.size]
    return facts + _SUM.pack(zlib.crc32(facts)) + body + END


def pack(batch: Batch) -> bytes:
    """Return a batch as an Arrow stream."""
    table = arrow.table({name: np.asarray(getattr(batch, name)) for name in COLUMNS})
    sink = io.BytesIO()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def unpack(body: bytes, where: str) -> Batch:
    """Return the batch in a record's body; raise ValueError if it is not one."""
    try:
        table = arrow.ipc.open_stream(body).read_all()
        table.validate(full=True)  # of as many values as it says
        if tuple(table.column_names) != COLUMNS:
            raise ValueError(f"has the columns {', '.join(table.column_names)}")
        op, src, dst, weight = (table[name].to_numpy() for name in COLUMNS)
    except (arrow.ArrowException, OSError, MemoryError, OverflowError) as error:
        raise ValueError(str(error).splitlines()[0]) from error
    kinds = op.dtype.kind, src.dtype.kind, dst.dtype.kind, weight.dtype.kind
    if any(kind not in "iu" for kind in kinds[:3]) or kinds[3] not in "iuf":
        raise ValueError("has columns of other types")
    if not np.isin(op, list(OPERATIONS.values())).all():
        raise ValueError("has an unknown operation")
    return Batch(op, src, dst, weight, source=where)


class Body(NamedTuple):
    """A whole record: its version, the packed batch, and its position, for errors."""

    version: int
    packed: bytes
    where: str


@dataclass
class RecordReader:
    """Reads the records of a file one after the other."""

    path: Path
    file: BinaryIO  # Open behind the header
    # Of the last record that was read; at first the version that the file continues
    version: int
    offset: int = HEADER_BYTES  # Where the next record begins
    count: int = 0  # How many records have been read

    def next(self) -> Body | None:
        """Return the next record; None behind the last one that is whole.

        Raises InputError if there is damage; see the module.
        """
        remaining = self.size - self.offset
        if remaining <= 0:
            return None
        self.file.seek(self.offset)
        head = self.file.read(_HEAD.size)
        facts = _facts(head)
        if facts is None:
            self._check_unfinished("its head does not match its checksum")
            return None
        length, version, total = facts
        end = _HEAD.size + length + len(END)
        if end > remaining:
            self._check_unfinished("its end is missing")
            return None
        body, mark = self.file.read(length), self.file.read(len(END))
        if zlib.crc32(body) != total or mark != END:
            self._check_unfinished("it does not match its checksum")
            return None
        return self._whole(version, body, end)

    def damage(self, why: str) -> InputError:
        """Return the error for the record behind the last one."""
        name, last = self.path.parent.name, self.version
        return InputError(
            f"{self.path}: record {self.count + 1} (byte {self.offset:,}, version "
            f"{last + 1}) is damaged: {why}. The batches up to version {last} are "
            "whole. Restore the file from a copy, or continue from there: serve "
            f"--journal-until {name}={last} keeps this file under another name."
        )

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self.file.fileno()).st_size

    def _whole(self, version: int, body: bytes, nbytes: int) -> Body:
        """Note a record whose checksums are right."""
        if version != self.version + 1:
            raise self.damage(f"it has version {version}")
        where = f"{self.path}: record {self.count + 1} (byte {self.offset:,}, version"
        self.version, self.offset = version, self.offset + nbytes
        self.count += 1
        return Body(version, body, f"{where} {version})")

    def _check_unfinished(self, why: str) -> None:
        """Raise an InputError for a tail that cannot be an unfinished write."""
        self.file.seek(self.offset)
        if not _is_unfinished(self.file.read(), self.offset, self.version + 1):
            raise self.damage(why)


def reader(
    path: Path, file: BinaryIO, uuid: str, version: int, other: str
) -> RecordReader:
    """Return the reader of a file that continues a version with a uuid.

    Raises InputError if the file continues an `other`, see `foreign`, or has another
    version of the format; ValueError, which says how, if its header is damaged.
    """
    file.seek(0)
    check_version(path, file.readline(2 * HEADER_BYTES))
    file.seek(0)
    line = file.read(HEADER_BYTES)
    end = len(MAGIC) + UUID_BYTES
    total = f" {zlib.crc32(line[:end]):08x}\n".encode()
    if not line.startswith(MAGIC) or line[end:] != total:
        raise ValueError("the header (byte 0) does not match its checksum")
    if line != header(uuid):
        raise foreign(path, other)
    return RecordReader(path, file, version)


def check_version(path: Path, line: bytes) -> None:
    """Refuse the whole header of another version of the format."""
    facts, _, total = line.rpartition(b" ")
    words = facts.split(b" ")
    whole = total == b"%08x\n" % zlib.crc32(facts) and words[0] == FORMAT
    if whole and words[1:2] != [b"%d" % VERSION]:
        stored = words[1].decode(errors="replace") if words[1:] else "none"
        raise InputError(
            f"{path}: has version {stored!r} of its format, and mndmst {__version__} "
            f"reads version {VERSION}. Start the mndmst that wrote it."
        )


def foreign(path: Path, other: str) -> InputError:
    """Return the error for the journal of another; see `JournalKind.foreign`."""
    return InputError(f"{path}: is the journal of {other}")


def _facts(head: bytes) -> tuple[int, int, int] | None:
    """Return length, version and body sum of a head; None if it is damaged."""
    if len(head) < _HEAD.size:
        return None
    marker, length, version, body_sum, total = _HEAD.unpack(head)
    if marker != MARKER or zlib.crc32(head[: -_SUM.size]) != total:
        return None
    return length, version, body_sum


def _is_unfinished(tail: bytes, offset: int, version: int) -> bool:
    """Return whether a file can end with a tail because a write was not finished.

    The tail begins at the byte `offset` of the file, where the record of a version
    begins, and is not a whole record.
    """
    written = tail.rstrip(b"\0")
    if not written:
        return True
    if written.endswith(END):  # which is written last
        return False
    boundary = -(-(offset + len(written)) // SECTOR) * SECTOR - offset
    part = tail[:boundary]
    if _has_head(part[1:]):
        return False
    if len(part) < _HEAD.size:
        return MARKER.startswith(part[: len(MARKER)])
    facts = _facts(part[: _HEAD.size])
    if facts is None or facts[1] != version:
        return False
    length, _, body_sum = facts
    end = _HEAD.size + length
    if len(part) >= end and zlib.crc32(part[_HEAD.size : end]) != body_sum:
        return False
    return len(tail) <= end + len(END) and END.startswith(part[end:])


def _has_head(data: bytes) -> bool:
    """Return whether some bytes contain a whole head."""
    position = data.find(MARKER)
    while position >= 0:
        if _facts(data[position : position + _HEAD.size]) is not None:
            return True
        position = data.find(MARKER, position + 1)
    return False
