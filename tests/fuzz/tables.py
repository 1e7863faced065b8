"""Tables of edges, points, distances, alleles, ids and changes.

The first byte of an input names the reading.
"""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet

from mndmst.changes.table import read_changes
from mndmst.host.errors import MndmstError
from mndmst.io.formats import read_edges
from mndmst.io.formats.id_files import read_ids
from mndmst.points.point_files import read_point_table

from .inputs import DATA, check_refusal, scratch_file


def _distances(path: Path) -> None:
    read_point_table(path, metric="precomputed")


def _alleles(path: Path) -> None:
    read_point_table(path, metric="alleles")


def _ids(path: Path) -> None:
    assert len(read_ids(path, "name"))


def _changes(path: Path) -> None:
    batch = read_changes(path, np.dtype(np.int32))
    ends = np.asarray(batch.src), np.asarray(batch.dst)
    assert len(ends[0]) == len(ends[1]) == len(np.asarray(batch.op))


READINGS: tuple[tuple[str, Callable[[Path], object]], ...] = (
    ("csv", read_edges), ("tsv", read_edges), ("parquet", read_edges),
    ("arrow", read_edges), ("csv", read_point_table), ("txt", read_point_table),
    ("parquet", read_point_table), ("arrow", read_point_table),
    ("npy", read_point_table), ("npz", read_point_table), ("csv", _distances),
    ("txt", _distances), ("tsv", _alleles), ("csv", _ids), ("txt", _ids),
    ("parquet", _ids), ("arrow", _ids), ("csv", _changes),
)  # fmt: skip


def one_input(data: bytes) -> None:
    """Read a table, or refuse it."""
    suffix, reading = READINGS[data[0] % len(READINGS) if data else 0]
    path = scratch_file(f"input.{suffix}", data[1:])
    try:
        reading(path)
    except MndmstError as error:
        check_refusal(error, path.name)


def seeds() -> list[bytes]:
    """Return a small table of each kind."""
    points = np.arange(6.0).reshape(3, 2)
    table = pyarrow.table({"x": points[:, 0], "y": points[:, 1], "id": ["a", "b", "c"]})
    parquet, arrow, npy, npz = (io.BytesIO() for _ in range(4))
    pyarrow.parquet.write_table(table, parquet)
    pyarrow.feather.write_feather(table, arrow, compression="uncompressed")
    np.save(npy, points)
    np.savez(npz, points)
    ids = []
    for names in (["a", "b"], [7, 1]):
        sink = io.BytesIO()
        name_table = pyarrow.table({"name": names})
        if ids:
            pyarrow.feather.write_feather(name_table, sink, compression="uncompressed")
        else:
            pyarrow.parquet.write_table(name_table, sink)
        ids.append(sink.getvalue())
    files = (
        (DATA / "square.csv").read_bytes(),
        b"source\ttarget\tweight\n# a\n'x y'\tz\t1.5\nz\tw\t2\n",
        (DATA / "square.parquet").read_bytes(),
        (DATA / "square.arrow").read_bytes(),
        b'id,lon,lat\n"a",1,2\n"b",3.5,4\n',
        b"1 2\n3 4\n5 6\n",
        parquet.getvalue(), arrow.getvalue(), npy.getvalue(), npz.getvalue(),
        b",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n",
        b"3\na 0\nb 1 0\nc 2 3 0\n",
        b"FILE\tl1\tl2\ns1\t1\tINF-4\ns2\t1\t-\n",
        b'x,name\n1,"a b"\n2,c\n', b"name\n17\n4\n", ids[0], ids[1],
        b"op,src,dst,weight\ninsert,0,5,1\ndelete,2,3,\nset,1,0,-7\n",
    )  # fmt: skip
    return [bytes([i]) + content for i, content in enumerate(files)]
