"""Changes in a table, right and wrong."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from mndmst.changes.batch import DELETE, INSERT, SET
from mndmst.changes.table import read_changes
from mndmst.host.errors import InputError
from mndmst.io.names import NameKind, Names


def write(folder: Path, text: str) -> Path:
    path = folder / "changes.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table(tmp_path: Path, end: str) -> None:
    lines = ["op,src,dst,weight", "insert,1,2,7", "", "delete, 3 ,4,", "set,6,5,-9", ""]
    batch = read_changes(write(tmp_path, end.join(lines)), np.dtype(np.int64))
    assert batch.op.tolist() == [INSERT, DELETE, SET]
    assert batch.src.tolist() == [1, 3, 6]
    assert batch.dst.tolist() == [2, 4, 5]
    assert batch.weight.tolist() == [7, 0, -9]
    assert batch.where(1) == f"{tmp_path / 'changes.csv'}: line 4"


def test_columns_in_any_order_and_packed(tmp_path: Path) -> None:
    path = tmp_path / "changes.csv.gz"
    path.write_bytes(gzip.compress(b"dst,op,weight,src\n1,set,0.1,2\n"))
    batch = read_changes(path, np.dtype(np.float32))
    assert (batch.src[0], batch.dst[0], batch.weight[0]) == (2, 1, 0.1)
    batch = read_changes(write(tmp_path, "op,src,dst\ndelete,1,2"), np.dtype("f8"))
    assert len(batch.op) == 1
    assert len(read_changes(write(tmp_path, "op,src,dst\n"), np.dtype("f8")).op) == 0


def test_large_integers_are_exact(tmp_path: Path) -> None:
    text = f"op,src,dst,weight\nset,0,1,{2**64 - 1}\nset,0,2,{2**53 + 1}"
    batch = read_changes(write(tmp_path, text), np.dtype(np.uint64))
    assert batch.weight.tolist() == [2**64 - 1, 2**53 + 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'line 1 is not "op,src,dst,weight"'),
        ("op,src,weight\n", "line 1 is not"),
        ("op,src,dst,dst\n", "line 1 is not"),
        ("op,src,dst,colour\n", "line 1 is not"),
        ("op,src,dst,weight\nset,1,2", 'line 2 has 3 words in place of "op,src,dst,w'),
        ('op,src,dst,weight\nset,1,"2,3\n', "is not CSV"),
        ("op,src,dst,weight\nadd,1,2,3\n", 'line 2 has "add" for op, not insert'),
        ("op,src,dst,weight\nset,-1,2,3\n", 'line 2 has "-1" for src, not a vertex'),
        ("op,src,dst,weight\nset,1,2.0,3\n", 'line 2 has "2.0" for dst, not a vertex'),
        ("op,src,dst\ndelete,01,2\n", "either 1 with leading zeros or a text"),
        ("op,src,dst\ndelete,1,007\n", "either 7 with leading zeros or a text"),
        ("op,src,dst,weight\nset,1,9999999999999999999,3\n", "for dst, not a vertex"),
        ("op,src,dst,weight\nset,1,2,\n", 'line 2 has "" for a weight, not a whole'),
        ("op,src,dst,weight\nset,1,2,0.5\n", 'has "0.5" for a weight, not a whole'),
        ("op,src,dst,weight\nset,1,2,1_0\n", "for a weight, not a whole number"),
        ("op,src,dst,weight\nset,1,2,2147483648\n", "line 2 weighs 2147483648, no int"),
        ("op,src,dst\ninsert,1,2\n", 'line 2 has "" for a weight'),
    ],
)
def test_what_is_no_table(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        read_changes(write(tmp_path, text), np.dtype(np.int32))
    assert str(raised.value).startswith(str(tmp_path / "changes.csv"))


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "changes.csv"
    path.write_bytes(b"op,src,dst,weight\n\xff\xfe\n")
    with pytest.raises(InputError, match="is not text"):
        read_changes(path, np.dtype(np.int32))
    with pytest.raises(InputError, match="no such file"):
        read_changes(tmp_path / "none.csv", np.dtype(np.int32))


class Towns:
    """The names of three vertices."""

    kind = NameKind.TEXT

    def find(self, names: Names) -> np.ndarray:
        return np.array([TOWNS.get(name, -1) for name in names.texts()], np.int64)


TOWNS = {"Ulm": 0, "Aalen": 1, "Bad Boll, West": 2}


def test_changes_may_name_vertices(tmp_path: Path) -> None:
    lines = 'op,src,dst,weight\ninsert,Ulm,"Bad Boll, West",7\n\ndelete,Aalen,Ulm,\n'
    path = write(tmp_path, lines)
    batch = read_changes(path, np.dtype(np.int32), Towns())
    assert batch.op.tolist() == [INSERT, DELETE]
    assert (batch.src.tolist(), batch.dst.tolist()) == ([0, 1], [2, 0])
    assert batch.weight.tolist() == [7, 0]
    none = read_changes(write(tmp_path, lines[:18]), np.dtype("i4"), Towns())
    assert len(none.op) == len(none.src) == 0


@pytest.mark.parametrize(
    ("ends", "name"), [("Ulm,Bonn", "Bonn"), ("Bonn,Ulm", "Bonn"), ("ulm,Ulm", "ulm")]
)
def test_unknown_names_are_refused(tmp_path: Path, ends: str, name: str) -> None:
    text = f"op,src,dst\ndelete,Aalen,Ulm\ndelete,{ends}\n"
    with pytest.raises(InputError, match=f'line 3: no vertex .* named "{name}"'):
        read_changes(write(tmp_path, text), np.dtype("i4"), Towns())


def test_lines_are_counted_with_blank_ones_and_line_breaks(tmp_path: Path) -> None:
    towns = Towns()
    text = '\nop,src,dst,weight\n\ninsert,Ulm,"Bad Boll, West",7\n\n\nset,{},Ulm,{}\n'
    path = write(tmp_path, text.format("Aalen", 3))
    batch = read_changes(path, np.dtype("i4"), towns)
    assert [batch.where(change) for change in (0, 1)] == [
        f"{path}: line 4",
        f"{path}: line 7",
    ]
    for words, message in (
        (("Bonn", 3), "line 7: no vertex"),
        (("Aalen", 1 << 31), "line 7 weighs"),
        (("Aalen", "x"), "line 7 has"),
        (('"Bonn\nRhein"', 3), "line 7: no vertex"),
    ):
        path = write(tmp_path, text.format(*words))
        with pytest.raises(InputError, match=message):
            read_changes(path, np.dtype("i4"), towns)
    path = write(tmp_path, 'op,src,dst\ndelete,"Bonn\nRhein",Ulm\ndelete,Ulm\n')
    with pytest.raises(InputError, match="line 4 has 2 words"):
        read_changes(path, np.dtype("i4"), towns)
