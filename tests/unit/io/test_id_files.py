"""Files of ids: a line each, or a table with a column of ids."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats.id_files import read_ids


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("gone.txt", "p1\n\n p2 \n", ["p1", "p2"]),
        ("gone.txt", "a b, c\n", ["a b, c"]),
        ("gone.txt", "7\n12\n", [7, 12]),
        ("gone.txt", "007\n12\n", ["007", "12"]),
        ("gone.csv", "7\n12", [7, 12]),
        ("gone.csv", "\ufeffid\n7\n", [7]),
        ("gone.csv", "day,ID\n1,p1\n2,p2\n", ["p1", "p2"]),
        ("gone.csv", 'id,text\n"a ""b"", c",x\n', ['a "b", c']),
        ("gone.tsv", "id\tday\np 1\t3\n", ["p 1"]),
    ],
)
def test_a_text_has_ids_in_its_lines_or_in_the_column(
    tmp_path: Path, name: str, text: str, ids: list
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = read_ids(path, "id")
    assert found.tolist() == ids
    assert found.dtype.kind == ("U" if isinstance(ids[0], str) else "i")


def test_an_arrow_table_has_ids_in_the_column_or_in_its_only_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "gone.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"x": [0.5], "Id": ["p"]}), path)
    assert read_ids(path, "id").tolist() == ["p"]
    path = tmp_path / "gone.arrow"
    pyarrow.feather.write_feather(pyarrow.table({"ping": np.array([4, 2])}), path)
    assert read_ids(path, "id").tolist() == [4, 2]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("gone.txt", "", "holds no ids. Give one a row, or leave the file out."),
        ("gone.csv", "id\n", "holds no ids. Give one a row, or leave the file out."),
        ("gone.csv", "a,b\n1,2\n", "has columns a, b, and the ids are in id"),
        ("gone.csv", "id,id\n1,2\n", "has columns id, id, and the ids are in id"),
        ("gone.csv", "id,x\np,1\nq\n", "the line 'q' has no id, or other columns"),
        ("gone.csv", "id,x\n ,1\n", "the line ',1' has no id"),
        ("gone.csv", f'id,x\n"{"a" * 200_000}', "is not a table of text"),
    ],
)
def test_a_table_without_ids_is_refused_in_a_line(
    tmp_path: Path, name: str, text: str, line: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_ids(path, "id")
    assert str(refused.value).startswith(f"{path}: {line}")
    assert "\n" not in str(refused.value)


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.json: give ids in a file whose name"):
        read_ids(tmp_path / "gone.json", "id")


def test_missing_ids_of_a_parquet_table_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "gone.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, None]}), path)
    with pytest.raises(InputError, match=r"gone\.parquet: column id "):
        read_ids(path, "id")
