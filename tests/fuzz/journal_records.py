"""Journals of changes: whole files; and records with right checksums of any content."""

import zlib
from pathlib import Path

import numpy as np

from mndmst.changes.batch import Batch
from mndmst.host.errors import MndmstError
from mndmst.service.records import MAGIC, header, pack, reader, record, unpack

from .inputs import check_refusal

UUID = "0a1b2c3d-0000-4000-8000-000000000001"
FILE, SEALED = 0, 1


def one_input(data: bytes) -> None:
    """Read batches up to the end, an unfinished write or damage."""
    content = data[1:]
    if data and data[0] % 2 == SEALED:
        content = header(UUID) + record(1, content)
    path = Path("folder/journal-0")
    file = Path("scratch/journal-0")
    file.write_bytes(content)
    with file.open("rb") as opened:
        try:
            records = reader(path, opened, UUID, 0, "graph")
        except ValueError as error:  # of a header, or of another graph
            assert "\n" not in str(error)
            return
        try:
            while (body := records.next()) is not None:
                try:
                    batch = unpack(body.packed, body.where)
                except ValueError as error:
                    assert "\n" not in str(error)
                    continue
                columns = batch.op, batch.src, batch.dst, batch.weight
                assert len({len(column) for column in columns}) == 1
                zlib.crc32(b"".join(np.ascontiguousarray(c) for c in columns))
        except MndmstError as error:
            check_refusal(error, path.name)


def seeds() -> list[bytes]:
    """Return a journal of two batches, one that was cut, and a batch."""
    batches = [
        Batch(np.array([1, 2, 3], np.uint8), *(np.array([1, 2, 3], kind) for kind in k))
        for k in (("i8", "i8", "f8"), ("u4", "u4", "i4"))
    ]
    assert MAGIC
    whole = header(UUID) + b"".join(
        record(1 + i, pack(batch)) for i, batch in enumerate(batches)
    )
    cut = whole[:-40] + bytes(40)
    sealed = [bytes([SEALED]) + pack(batch) for batch in batches]
    return [bytes([FILE]) + whole, bytes([FILE]) + cut, *sealed]
