"""Write the parts that are missing, and name the graph by its contents."""

import hashlib
import json
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np

from ...host.progress import Progress
from ..shard_writer import OriginalIds, ShardWriter, VertexIds
from .builders import Builders
from .plan import Plan
from .restart import write_json
from .sort import RowsOf, write_part
from .work import NAMING, part_note

UNNAMED = str(uuid.UUID(int=0))


def write_parts(
    builders: Builders,
    plan: Plan,
    writer: ShardWriter,
    rows_of: RowsOf,
    work: Path,
    progress: Progress,
) -> None:
    """Write all parts but those that a run with this token has written. Collective.

    Parameters
    ----------
    rows_of : callable
        As in `sort.write_part`.
    work : Path
        The directory for intermediate files.
    """
    parts = writer.num_parts
    with writer, builders.raise_on_all():
        for part in range(builders.rank, parts, builders.size):
            progress.stage(f"sorting: part {part} of {parts}")
            if _noted(work, part) is None or not writer.is_whole(part):
                sums = write_part(plan, writer, part, rows_of)
                write_json(part_note(work, part), sums)


def finish_graph(writer: ShardWriter, work: Path, record: str | None) -> None:
    """Give the files of a graph their names, which others have written, too.

    Parameters
    ----------
    record : str, optional
        As in `ShardWriter.finish`.
    """
    sums = [_noted(work, part) for part in range(writer.num_parts)]
    total = np.array(sums, np.uint64).sum(axis=0)
    named = name_by_content(
        writer.num_vertices, writer.weight_dtype, total, writer.original
    )
    write_json(work / NAMING, named)
    writer.finish(named, record)


def _noted(work: Path, part: int) -> list[int] | None:
    """Return what a part adds to the sums that identify a graph; None if not done."""
    with suppress(OSError, ValueError):
        sums: list[int] = json.loads(part_note(work, part).read_text())
        return sums
    return None


def name_by_content(
    num_vertices: int,
    weight_dtype: np.dtype,
    sums: np.ndarray,
    original: VertexIds | None,
) -> str:
    """Return a uuid that only the same rows and ids have, whatever the parts.

    Parameters
    ----------
    sums : ndarray of uint64
        Of `kernels.external.fingerprint`, over all rows.
    original : OriginalIds, Names or None
        The ids that vertices had at first, if they have others now, or their names.
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{num_vertices} {weight_dtype.str} ".encode())
    digest.update(sums.astype("<u8").tobytes())
    if isinstance(original, OriginalIds):
        if original.bound != num_vertices:
            digest.update(f"{original.bound} ".encode())
        digest.update(original.ids.data)
    elif original is not None:
        digest.update(original.kind.encode())
        for piece in original.pieces():
            for column in piece.columns().values():
                digest.update(column.data)
    return str(uuid.UUID(bytes=digest.digest(), version=5))
