"""Tables that `mndmst client` reads."""

from pathlib import Path

import pytest

from mndmst.cli.tables import read_columns, read_point_ids
from mndmst.host.errors import InputError
from mndmst.io.names import NameKind

pytest.importorskip("pyarrow")


class Named:
    """The names of a graph, of which a table reads the kind."""

    def __init__(self, kind: NameKind) -> None:
        self.kind = kind


KINDS = {
    "numbers": None,
    "int64": Named(NameKind.INT64),
    "uint64": Named(NameKind.UINT64),
    "text": Named(NameKind.TEXT),
}


@pytest.mark.parametrize("kind", ["numbers", "int64", "uint64"])
def test_ends_are_whole_numbers(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("u,v,weight\n1, 2,0.5\n30,4,01\n")
    u, v, weight = read_columns(path, ("u", "v", "weight"), KINDS[kind])
    assert (u.tolist(), v.tolist(), weight.tolist()) == ([1, 30], [2, 4], [0.5, 1])
    path.write_text("u,v\n")
    u, v = read_columns(path, ("u", "v"), KINDS[kind])
    assert (len(u), len(v)) == (0, 0)


@pytest.mark.parametrize("kind", ["numbers", "int64", "uint64"])
@pytest.mark.parametrize("word", ["01", "-01", "007"])
def test_a_padded_number_is_refused_with_both_readings(
    tmp_path: Path, kind: str, word: str
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(f"u,v\n1,2\n3,{word}\n")
    said = rf'row 1 .* "{word}" in column v.* either {int(word)} with .* or a text'
    with pytest.raises(InputError, match=said):
        read_columns(path, ("u", "v"), KINDS[kind])


def test_a_padded_number_is_a_name_that_is_text(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("u,v\n01,1\n")
    u, v = read_columns(tmp_path / "pairs.csv", ("u", "v"), KINDS["text"])
    assert (u.tolist(), v.tolist()) == (["01"], ["1"])


@pytest.mark.parametrize("word", ["+1", "1_0", "1e3", "5.0", "x", ""])
def test_other_words_are_refused(tmp_path: Path, word: str) -> None:
    (tmp_path / "pairs.csv").write_text(f"u,v\n1,2\n3,{word}\n")
    with pytest.raises(InputError, match=r"row 1 .* a vertex is a whole number\."):
        read_columns(tmp_path / "pairs.csv", ("u", "v"), None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("u,v\n1,99999999999999999999\n", "column v: "),
        ("u,w\n1,2\n", "has no column 'v', but u, w"),
        ("u,v,v\n1,2,3\n", "has 2 columns 'v', but u, v, v"),
        ("u,v\n1\n", "is not a table"),
    ],
)
def test_a_refusal_names_the_file_and_the_column(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=f"pairs.csv: {said}"):
        read_columns(path, ("u", "v"), None)


def test_ids_of_points_are_a_column(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("key,x\n7,0.5\n")
    assert read_point_ids(path, "key").tolist() == [7]
    with pytest.raises(InputError, match=r"points\.csv: has columns key, x, and"):
        read_point_ids(path, "id")


@pytest.mark.parametrize("name", ["gone.txt", "gone.csv", "gone.tsv"])
def test_ids_are_read_as_hdbscan_reads_them(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("id\n7\n3\n")
    assert read_point_ids(tmp_path / name).tolist() == [7, 3]


@pytest.mark.parametrize("word", ["a7", "07", "7.5", "-1", str(1 << 63)])
def test_an_id_that_is_not_an_integer_from_0_on_is_refused(
    tmp_path: Path, word: str
) -> None:
    (tmp_path / "gone.csv").write_text(f"id\n3\n{word}\n")
    with pytest.raises(InputError, match=rf"gone.csv: '{word}' is not an id of points"):
        read_point_ids(tmp_path / "gone.csv")


def test_a_file_without_ids_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gone.csv").write_text("id\n")
    with pytest.raises(InputError, match=r"gone.csv: holds no ids\. Give one a row"):
        read_point_ids(tmp_path / "gone.csv")
