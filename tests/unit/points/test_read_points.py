"""Points from every format: coordinates are read, ids and index columns are not."""

import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
import scipy.sparse
import zstandard

import mndmst
from mndmst import read_points
from mndmst.host.errors import ConfigError, InputError, MndmstError
from mndmst.io.formats import read_edges
from mndmst.points.point_files import PointTable, read_point_table

X, Y = [0.5, 1.5, 2.25], [3.5, -1.0, 4.0]
POINTS = np.stack([X, Y], axis=1)
IDS = [17, 4, 99]


def text_of(table: dict[str, list], separator: str = ",") -> str:
    rows = zip(*table.values(), strict=True)
    lines = [separator.join(map(str, row)) for row in (tuple(table), *rows)]
    return "\n".join(lines) + "\n"


def table_in(folder: Path, text: str, columns: str | None = None) -> PointTable:
    path = folder / "points.csv"
    path.write_text(text, encoding="utf-8")
    return read_point_table(path, columns=columns)


def as_parquet(table: dict[str, list], path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def as_arrow(table: dict[str, list], path: Path) -> None:
    with pyarrow.ipc.new_file(str(path), pyarrow.table(table).schema) as file:
        file.write_table(pyarrow.table(table))


FORMATS: dict[str, tuple[str, Callable[[dict[str, list], Path], object]]] = {
    "comma": ("csv", lambda table, path: path.write_text(text_of(table))),
    "semicolon": ("csv", lambda table, path: path.write_text(text_of(table, ";"))),
    "tab": ("tsv", lambda table, path: path.write_text(text_of(table, "\t"))),
    "parquet": ("parquet", as_parquet),
    "arrow": ("arrow", as_arrow),
    "feather": ("feather", as_arrow),
}


@pytest.fixture(params=FORMATS)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    suffix, writer = FORMATS[request.param]

    def made(table: dict[str, list]) -> Path:
        path = tmp_path / f"points.{suffix}"
        writer(table, path)
        return path

    return made


@pytest.mark.parametrize(
    "name",
    ["id", "index", "", "Unnamed: 0", "ID", "row_id", "point_id", "osmid", "fid",
     "__index_level_0__", "station_name", "key", "vertex", "node"],
)  # fmt: skip
@pytest.mark.parametrize("position", [0, 1, 2])
def test_index_columns_are_left_out_and_give_the_ids(
    write: Callable[..., Path], name: str, position: int
) -> None:
    columns = [("x", X), ("y", Y)]
    columns.insert(position, (name, IDS))
    found = read_point_table(write(dict(columns)))
    np.testing.assert_array_equal(found.points, POINTS)
    assert found.ids is not None
    assert found.ids.tolist() == IDS
    assert found.id_name == name
    assert found.notes[0].startswith("coordinates: x, y; left out: ")


def test_ids_that_are_text(write: Callable[..., Path]) -> None:
    check_names(write, ["Zürich", "a b", "007"])


def test_ids_with_leading_zeros_are_text(write: Callable[..., Path]) -> None:
    check_names(write, ["007", "7", "10"])


def check_names(write: Callable[..., Path], names: list[str]) -> None:
    found = read_point_table(write({"lat": X, "city_name": names, "lon": Y}))
    np.testing.assert_array_equal(found.points, POINTS)
    assert found.ids is not None
    assert found.ids.tolist() == names


def test_labels_are_no_coordinates(write: Callable[..., Path]) -> None:
    found = read_point_table(write({"x": X, "y": Y, "label": [0, 1, 1]}))
    np.testing.assert_array_equal(found.points, POINTS)
    assert found.ids is None or found.ids.tolist() == [0, 1, 1]
    assert found.notes == ("coordinates: x, y; left out: label",)
    table = {"vertex": IDS, "component": [0, 0, 2], "x": X, "y": Y, "label": IDS}
    found = read_point_table(write(table))  # the columns of results
    np.testing.assert_array_equal(found.points, POINTS)
    assert (
        found.ids is not None
        and found.ids.tolist() == IDS
        and found.id_name == "vertex"
    )


def test_columns_are_named(write: Callable[..., Path]) -> None:
    path = write({"id": IDS, "lat": Y, "lon": X, "height": [1, 2, 3]})
    np.testing.assert_array_equal(read_points(path, columns="lon,lat"), POINTS)
    np.testing.assert_array_equal(read_points(path, columns=["LON", "Lat"]), POINTS)
    assert read_points(path).shape == (3, 3)
    assert read_points(path, columns="id").tolist() == [[17], [4], [99]]
    with pytest.raises(ConfigError, match="has no such column; it has id, lat, lon"):
        read_points(path, columns="lon,latitude")
    with pytest.raises(ConfigError, match="--columns lon,lon: give the names"):
        read_points(path, columns="lon,lon")


@pytest.mark.parametrize(
    "values", [["a", "b", "c"], ["5 cm", "6 cm", "7 cm"], ["2020-01-01"] * 3,
               ["True", "False", "True"]],
)  # fmt: skip
def test_columns_of_text_dates_or_booleans_are_refused(
    write: Callable[..., Path], values: list
) -> None:
    path = write({"x": X, "remark": values, "y": Y})
    with pytest.raises(
        InputError, match=r"remark does not hold numbers.*--columns x,y"
    ):
        read_points(path)
    np.testing.assert_array_equal(read_points(path, columns="x,y"), POINTS)


@pytest.mark.parametrize(
    "text",
    [
        ",x,y\n0,0.5,3.5\n1,1.5,-1\n2,2.25,4\n",  # pandas: to_csv
        ",0,1\n0,0.5,3.5\n1,1.5,-1.0\n2,2.25,4.0\n",  # pandas, without names
        "0,1\n0.5,3.5\n1.5,-1.0\n2.25,4.0\n",  # pandas, index=False
        '"","x","y"\n"1",0.5,3.5\n"2",1.5,-1\n"3",2.25,4\n',  # R: write.csv
        '"x" "y"\n"1" 0.5 3.5\n"2" 1.5 -1\n"3" 2.25 4\n',  # R: write.table
        "x;y\n0,5;3,5\n1,5;-1\n2,25;4\n",
        "0,5;3,5\n1,5;-1\n2,25;4\n",
        "0,5\t3,5\r\n1,5\t-1\r\n2,25\t4\r\n",
        "\ufeffx, y\r\n0.5, 3.5\r\n1.5, -1\r\n\r\n2.25, 4",
        "# c\n0.5 3.5\n1.5   -1 # d\n2.25\t4\n",
        '# c\n\nname,x,y\n"a, b",0.5,3.5\n# d\nc,1.5,-1\n"",2.25,4\n',
        "5e-1,35E-1\n+1.5,-1\n2.25,4.\n",
        "x,y,class\n0.5,3.5,setosa\n1.5,-1,setosa\n2.25,4,versicolor\n",
    ],
)
def test_dialects_of_programs(tmp_path: Path, text: str) -> None:
    np.testing.assert_array_equal(table_in(tmp_path, text).points, POINTS)


@pytest.mark.parametrize("text", ["1\n2\n5\n", "0\n1\n2\n", "x\n1\n2\n"])
def test_one_dimension(tmp_path: Path, text: str) -> None:
    expected = [[float(word)] for word in text.replace("x\n", "").split()]
    assert table_in(tmp_path, text).points.tolist() == expected


@pytest.mark.parametrize(
    ("text", "columns", "points"),
    [
        ("0,1\n3,4\n5,6\n", "0,1", [[3, 4], [5, 6]]),
        ("0,1\n3,4\n5,6\n", "1,2", [[0, 1], [3, 4], [5, 6]]),
        ("0,1.5,2.5\n1,3.5,4.5\n2,0.5,0.5\n", "2,3",
         [[1.5, 2.5], [3.5, 4.5], [0.5, 0.5]]),
        ("1,1.5\n2,3.5\n3,0.5\n", "1,2", [[1, 1.5], [2, 3.5], [3, 0.5]]),
        ("0,1,2\n7,8,9\n", "0,2", [[7, 9]]),
    ],
)  # fmt: skip
def test_two_readings_are_refused_until_the_user_decides(
    tmp_path: Path, text: str, columns: str, points: list
) -> None:
    with pytest.raises(InputError, match=r"may be .*--columns .* or --columns"):
        table_in(tmp_path, text)
    assert table_in(tmp_path, text, columns).points.tolist() == points


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "x,y\n0.5,1\n2,NA\n",
            'line 3 has "NA" in column y, and a coordinate is a num',
        ),
        ("# c\nx,y\n0.5,1\n2,\n", "line 4 has nothing in column y"),
        ("id,x,y\n1,0.5,1\n\n2,a,1\n", 'line 4 has "a" in column x'),
        ("x,y\n0.5,1\n2,3,4\n", "line 3 has 3 columns, not 2"),
        ("id,x,y\n1,0.5,1\n2,3\n", "line 3 has 2 columns, not 3"),
        ("x,y,id\n1,2,7\n3,4\n5,6,8,9\n", "line 3 has 2 columns, not 3"),
        ("x,y\n0.5,nan\n", "has a coordinate that is not a finite number"),
        ("0 0,5\n1 0,5\n", "decimal commas between blanks"),
        ('0,"0,5"\n1,"0,5"\n', "decimal commas between commas"),
        ("0,5;1\n0.5;1\n", "decimal commas and decimal points"),
        ("x,y\n", "holds no points below the names"),
        ("# c\n", "holds no points"),
        ("0.5,1\nx,2\n", 'line 2 has "x" in column 1'),
        (
            "x,2\n0.5,1\n",
            "line 1 is neither a point nor names of columns: x is",
        ),
        ("a b\nc d\n", "column a does not hold numbers"),
        ("id,name\n1,a\n2,b\n", "has no column of coordinates, only id, name"),
        (
            "x,y\n1,9007199254740993\n",
            "9007199254740993 in column y, which float64 would round",
        ),
        ("x,y\r0,1\r1,2\r", "has carriage returns where lines end"),
        ("0 1\r1 2\r", "has carriage returns where lines end"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"points\.csv: .*{problem}"):
        table_in(tmp_path, text)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_value_that_is_missing_in_a_typed_table(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"points.{suffix}"
    dict(FORMATS.values())[suffix]({"x": X, "y": [1.0, None, 2.0]}, path)
    with pytest.raises(InputError, match=r"column y has no value in row 1 \(from 0\)"):
        read_points(path)


LISTS = {
    "list": pyarrow.list_(pyarrow.float32()),
    "large": pyarrow.large_list(pyarrow.float64()),
    "fixed": pyarrow.list_(pyarrow.float16(), 2),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", LISTS)
def test_a_column_of_lists_has_all_coordinates(
    tmp_path: Path, suffix: str, kind: str
) -> None:
    path = tmp_path / f"points.{suffix}"
    lists = pyarrow.array(POINTS.astype(np.float16).tolist(), LISTS[kind])
    table = {"id": IDS, "embedding": lists, "text": ["a", "b", "c"]}
    dict(FORMATS.values())[suffix](table, path)
    with pytest.raises(InputError, match=r"text does not.*: --columns embedding\.$"):
        read_points(path)
    named = read_point_table(path, columns="embedding")
    np.testing.assert_array_equal(named.points, POINTS)
    assert named.names == ()
    typed = read_point_table(path, columns="embedding", typed=True).points
    assert typed.dtype == LISTS[kind].value_type.to_pandas_dtype()
    np.testing.assert_array_equal(typed, POINTS)
    assert named.ids is not None
    assert named.ids.tolist() == IDS
    assert "coordinates: embedding (lists of 2 numbers)" in named.notes[0]
    del table["text"]
    dict(FORMATS.values())[suffix](table, path)
    np.testing.assert_array_equal(read_points(path), POINTS)
    dict(FORMATS.values())[suffix](table | {"x": X}, path)
    for columns in (None, "x,embedding"):
        with pytest.raises(
            InputError,
            match=r"embedding has lists.*--columns embedding or --columns x\.",
        ):
            read_points(path, columns=columns)


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        ([[1, 2], [3], [4, 5]], r"1 number in row 1 \(from 0\), and 2 in row 0"),
        ([[1, 2], None, [4, 5]], r"no value in row 1 \(from 0\)"),
        ([[1, 2], [3, 4], [5, None]], r"a list without a number in row 2 \(from 0\)"),
        (pyarrow.array([[], []], LISTS["list"]), "holds no points"),
        (
            [[1.0, 2.0], [np.nan, 0.0]],
            r"point 1 \(from 0\) has a coordinate that is not",
        ),
        ([[2**53 + 1, 2], [3, 4]], "which float64 would round"),
        ([[[1.0]], [[2.0]]], "does not hold numbers"),
    ],
)
def test_lists_that_are_no_points_are_named(
    tmp_path: Path, lists: list | pyarrow.Array, problem: str
) -> None:
    as_parquet({"embedding": lists}, tmp_path / "points.parquet")
    with pytest.raises(InputError, match=rf"points\.parquet: .*{problem}"):
        read_points(tmp_path / "points.parquet")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_missing_id_is_empty_and_the_others_stay(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"points.{suffix}"
    write = dict(FORMATS.values())[suffix]
    write({"id": [(1 << 53) + 1, None, 7], "x": X, "y": Y}, path)
    assert read_point_table(path).ids.tolist() == ["9007199254740993", "", "7"]
    write({"city_name": ["Köln", None, ""], "x": X, "y": Y}, path)
    assert read_point_table(path).ids.tolist() == ["Köln", "", ""]


@pytest.mark.parametrize("name", ["x", "id", "value"])
def test_a_name_of_a_damaged_table_that_is_no_text(tmp_path: Path, name: str) -> None:
    path = tmp_path / "points.arrow"
    as_arrow({"x": [1.0], "id": [2], "value": [0.5]}, path)
    content = path.read_bytes()
    length = len(name).to_bytes(4, "little")
    damaged = length + b"\x96" + name[1:].encode()
    path.write_bytes(content.replace(length + name.encode(), damaged))
    with pytest.raises(InputError, match=r"points\.arrow: not a table, or damaged"):
        read_point_table(path)


READERS = {
    "edges": read_edges,
    "points": read_point_table,
    "distances": partial(read_point_table, metric="precomputed"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("pack", "remedy"),
    [
        (gzip.compress, r"packed by gzip\. .* ends in \.gz"),
        (lzma.compress, r"packed by xz\. .* ends in \.xz"),
        (zstandard.ZstdCompressor().compress, r"packed by zstandard\. .*\.zst"),
        (lambda text: b"PK\x03\x04" + text, r"is a zip archive\. Save .* as \.csv"),
        (lambda text: b"\x93NUMPY\1\0" + text, r"is an array of NumPy\. .*\.npy"),
        (lambda text: b"\x89HDF\r\n\x1a\n" + text, "is an HDF5 file"),
        (lambda text: text.decode().encode("utf-16"), "Save it as UTF-8"),
        (lambda text: b"%%MatrixMarket matrix coordinate real general\n" + text,
         r"partition .*table\.csv OUT --format mtx"),
    ],
)  # fmt: skip
def test_other_files_named_as_a_text(
    tmp_path: Path, reader: str, pack: Callable[[bytes], bytes], remedy: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(pack(b"3 3 3\n1 2 0.5\n2 3 1.5\n1 3 2.5\n"))
    with pytest.raises(InputError, match=rf"table\.csv: .*{remedy}"):
        READERS[reader](path)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_tables(write: Callable[..., Path], suffix: str) -> None:
    path = write({"id": IDS, "x": X, "y": Y})
    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
    packed = path.with_name(path.name + suffix)
    packed.write_bytes(pack[suffix](path.read_bytes()))
    np.testing.assert_array_equal(read_points(packed), POINTS)


def test_arrays_of_npz_files(tmp_path: Path) -> None:
    path, single = tmp_path / "many.npz", tmp_path / "single.npz"
    np.savez(path, a=POINTS, b=POINTS.T)
    np.savez_compressed(single, POINTS)
    np.testing.assert_array_equal(read_points(single), POINTS)
    np.testing.assert_array_equal(read_points(path, key="a"), POINTS)
    np.testing.assert_array_equal(read_points(f"{path}:b"), POINTS.T)
    with pytest.raises(InputError, match=r"has 2 arrays: a, b\. Name one: many\.npz:a"):
        read_points(path)
    with pytest.raises(ConfigError, match="has no array c; it has a, b"):
        read_points(path, key="c")
    (tmp_path / "torn.npz").write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"torn\.npz: cannot be read as points"):
        read_points(tmp_path / "torn.npz", key="a")


@pytest.mark.parametrize("method", ["STORED", "DEFLATED", "BZIP2", "LZMA"])
def test_no_byte_of_an_archive_leads_to_a_traceback(
    method: str, tmp_path: Path
) -> None:
    """Such as another version of the archive, or a method without a decoder."""
    array, path = io.BytesIO(), tmp_path / "p.npz"
    np.save(array, POINTS)
    with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{method}")) as packed:
        packed.writestr("a.npy", array.getvalue())
    np.testing.assert_array_equal(read_points(path), POINTS)
    whole, refused = path.read_bytes(), 0
    for position in range(len(whole)):
        for value in {0, 255, whole[position] ^ 1} - {whole[position]}:
            path.write_bytes(whole[:position] + bytes([value]) + whole[position + 1 :])
            try:
                read_points(path)
            except MndmstError:
                refused += 1
    assert refused > len(whole)


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([[0, 3.5, 4], [3.5, 0, 5], [4, 5, 0]], "zeros on its diagonal.* distances"),
        ([[1, 0.5, 0.4], [0.5, 1, -0.3], [0.4, -0.3, 1]], "largest value.* similari"),
    ],
)
def test_a_matrix_is_told_of(tmp_path: Path, matrix: list, said: str) -> None:
    np.save(tmp_path / "d.npy", matrix)
    np.savetxt(tmp_path / "d.csv", matrix, delimiter=",")
    for name in ("d.npy", "d.csv"):
        *_, note = read_point_table(tmp_path / name).notes
        assert re.search(f"{name} is a square symmetric matrix with .*{said}", note)


@pytest.mark.parametrize("diagonal", [1, 2, 4.5])
def test_other_squares_are_points_without_a_note(
    tmp_path: Path, diagonal: float
) -> None:
    matrix = np.array([[0, 4.5, 5], [4.5, 0, 6], [5, 6, 0]])
    np.save(tmp_path / "e.npy", matrix + np.diag([diagonal] * 3))
    assert read_point_table(tmp_path / "e.npy").notes == ()
    for name, others in (("ones.npy", np.ones((3, 3))), ("eye.npy", np.eye(3))):
        np.save(tmp_path / name, others)
        assert read_point_table(tmp_path / name).notes == ()


def test_options_of_other_formats(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", POINTS)
    (tmp_path / "p.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ConfigError, match=r"--columns goes with tables.*p\.npy"):
        read_points(tmp_path / "p.npy", columns="x")
    for name in ("p.npy", "p.csv"):
        with pytest.raises(ConfigError, match=r"--key goes with \.npz files"):
            read_points(tmp_path / name, key="x")


@pytest.mark.parametrize("mark", ["#", "# ", "%", "#\t"])
@pytest.mark.parametrize("separator", [",", "\t", ";", " "])
@pytest.mark.parametrize("columns", [None, "y,x"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_comment_above_names_the_columns(
    tmp_path: Path, mark: str, separator: str, columns: str | None, end: str
) -> None:
    rows = [["id", "x", "y"], *zip(IDS, X, Y, strict=True)]
    lines = [separator.join(map(str, row)) for row in rows]
    found = table_in(
        tmp_path, end.join(["# c", "", mark + lines[0], *lines[1:]]), columns
    )
    expected = POINTS if columns is None else POINTS[:, ::-1]
    np.testing.assert_array_equal(found.points, expected)
    assert found.ids is not None and found.ids.tolist() == IDS
    assert found.id_name == "id"


@pytest.mark.parametrize(
    "text",
    [
        "name,x,y\n#python,1,2\nb,2,3\n",
        "name;x;y\r\nb;2;3\r\n%x;1;2\r\n",
        "#python,1,2\nb,2,3\n",
        "#python\t1\t2\n",
        "name x y\nb 2 3\n#c 1 2\n",
    ],
)
def test_a_comment_like_a_row_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="like a comment, but has 3 columns like"):
        table_in(tmp_path, text)


def test_a_mark_inside_a_name_stays(tmp_path: Path) -> None:
    found = table_in(tmp_path, "x,y,name\n1,2,C#\n3,4,#f00\n5,6,a # b\n")
    assert found.ids is not None and found.ids.tolist() == ["C#", "#f00", "a # b"]
    assert found.points.tolist() == [[1, 2], [3, 4], [5, 6]]


IDS_BY_NAME = (
    "hit_id", "halo_id", "HaloID", "galaxyId", "cell_id", "track_id", "device_id",
    "objid", "objID", "SPECOBJID", "source_id", "SOURCE_ID", "particle_id", "uid",
    "uuid", "id_star", "tweet id", "trip.id", "orderid", "event idx",
)  # fmt: skip


@pytest.mark.parametrize("name", IDS_BY_NAME)
def test_ids_by_name_are_left_out(write: Callable[..., Path], name: str) -> None:
    if " " in name:
        name = name.replace(" ", "_")
    found = read_point_table(write({"x": X, name: [3, 10**18, 7], "y": Y}))
    np.testing.assert_array_equal(found.points, POINTS)
    assert found.ids is not None and found.ids.tolist() == [3, 10**18, 7]
    assert found.notes == (
        f"coordinates: x, y; left out: {name}; ids of the rows: {name}",
    )


@pytest.mark.parametrize(
    "name",
    ["humid", "fluid", "grid", "acid", "mid", "centroid_x", "heat_index", "valid"],
)
def test_other_names_that_end_alike_are_coordinates(
    write: Callable[..., Path], name: str
) -> None:
    found = read_point_table(write({"x": X, name: [0.5, 1, 2]}))
    assert found.points.shape == (3, 2)
    assert found.notes == (f"coordinates: x, {name}",)


@pytest.mark.parametrize(
    ("ids", "how"),
    [
        ([1700 - 7 * i for i in range(20)], "never repeats"),
        ([5_853_498_713_190_525_697 + i * 10**13 for i in range(20)], "never repeats"),
        (list(range(20)), "counts the rows from 0"),
        (list(range(1, 5)), "counts the rows from 1"),
    ],
    ids=["any", "19 digits", "from 0", "from 1"],
)
def test_a_column_that_may_have_ids_is_refused_with_both_remedies(
    write: Callable[..., Path], ids: list[int], how: str
) -> None:
    x = [0.25 * (i % 7) for i in range(len(ids))]
    path = write({"designation": ids, "mag": x, "y": x})
    if ids[0] > 2**53 and path.suffix in (".parquet", ".arrow", ".feather"):
        how = "in column designation, which float64 would round.*If it is an id"
    with pytest.raises(InputError, match=how) as found:
        read_points(path)
    if "round" not in how:
        assert (
            "Give --columns mag,y to leave it out, or --columns designation,mag,y"
            in (str(found.value))
        )
    assert read_points(path, columns="mag,y").tolist() == [[v, v] for v in x]
    if ids[0] < 2**53:
        assert read_points(path, columns="designation,mag,y")[:, 0].tolist() == ids
    bare = path.with_name("bare.txt")
    bare.write_text("".join(f"{i} {v} {v}\n" for i, v in zip(ids, x, strict=True)))
    with pytest.raises(
        InputError, match=r"column 1 has whole numbers.*--columns 2,3 to"
    ):
        read_points(bare)


@pytest.mark.parametrize(
    "table",
    [
        {"x": list(range(12)), "y": [0.5] * 12},  # known for coordinates
        {"time": [7 * i for i in range(12)], "level": [0.5] * 12},
        {"a": [3 * i for i in range(12)], "foo": [7 * i for i in range(12)]},
        {"foo": [i % 5 for i in range(12)], "bar": [0.5] * 12},  # repeats
        {"foo": [3, 8, 20], "bar": [0.5] * 3},  # too few to tell
        {"foo": [7.0 * i for i in range(12)], "bar": [0.5] * 12},
        {"foo": [7 * i for i in range(12)]},  # a single one
    ],
)
def test_other_whole_numbers_are_coordinates_and_said(
    write: Callable[..., Path], table: dict[str, list]
) -> None:
    found = read_point_table(write(table))
    assert found.points.shape[1] == len(table)
    assert found.notes == (f"coordinates: {', '.join(table)}",)


def test_positions_are_said_where_columns_have_no_names(tmp_path: Path) -> None:
    assert table_in(tmp_path, "1.5 2\n3 4\n").notes == ("coordinates: columns 1, 2",)


def test_messages_of_wide_tables_are_short(tmp_path: Path) -> None:
    names = [f"a rather long name of a column {i}" for i in range(900)]
    rows = "".join(f"{i}," + ",".join("0.5" for _ in names) + "\n" for i in range(20))
    for head in ("remark", "foo"):
        text = ",".join([head, *names]) + "\n"
        text += rows if head == "foo" else re.sub("(?m)^", "x", rows.rstrip("\n"))
        with pytest.raises(InputError, match=r"with all 90[01] names") as found:
            table_in(tmp_path, text)
        assert len(str(found.value)) < 700


ANGLES = [[0.84, 0.10], [0.84, 0.14], [0.86, 0.12]]  # latitude, longitude


@pytest.mark.parametrize(
    ("names", "swapped"),
    [
        ("lon,lat", True), ("lat,lon", False), ("Longitude,Latitude", True),
        ("lng,lat", True), ("long_rad,lat_rad", True), ("ra,dec", True),
        ("lat,x", False), ("x,lat", True), ("lon,y", True), ("p,q", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("picked", [False, True])
def test_haversine_takes_the_latitude_first_by_name(
    write: Callable[..., Path], names: str, swapped: bool, picked: bool
) -> None:
    columns = np.array(ANGLES).T.tolist()[:: -1 if swapped else 1]
    path = write({"id": IDS, **dict(zip(names.split(","), columns, strict=True))})
    asked = names if picked else None
    found = read_point_table(path, columns=asked, metric="haversine")
    assert found.points.tolist() == ANGLES
    assert re.search("latitude and longitude.* in radians", found.notes[0])
    other = read_point_table(path, columns=asked)
    assert other.points.tolist() == np.array(columns).T.tolist()


@pytest.mark.parametrize(
    "name", ["lat_deg", "lat (deg)", "Latitude [°]", "lat_degrees"]
)
def test_haversine_refuses_degrees_by_name(
    write: Callable[..., Path], name: str
) -> None:
    path = write({name: [0.5, 1, 1.5], "lon": [0.5, 1, 1.5]})
    with pytest.raises(InputError, match=r"in degrees, and haversine.*numpy\.radians"):
        read_point_table(path, metric="haversine")
    assert read_points(path).shape == (3, 2)


def test_haversine_refuses_degrees_by_range_and_two_latitudes(tmp_path: Path) -> None:
    for text in ("lat,lon\n47,8\n48,9\n", "lat,lon\n0.5,103.8\n0.6,104\n"):
        found = table_in(tmp_path, text)
        with pytest.raises(InputError, match=r"np\.radians converts degrees"):
            mndmst.single_linkage(found.points, "haversine")
    (tmp_path / "t.csv").write_text("lat,latitude\n0.5,1\n1,1\n")
    with pytest.raises(InputError, match="are both a latitude"):
        read_point_table(tmp_path / "t.csv", metric="haversine")


def test_haversine_of_a_data_frame_with_the_longitude_first_is_refused() -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(ANGLES, columns=["lat", "lon"])  # noqa: N806
    expected = mndmst.single_linkage(np.array(ANGLES), "haversine")
    turned = X[["lon", "lat"]]
    for call in (
        lambda points: mndmst.single_linkage(points, "haversine"),
        lambda points: mndmst.HDBSCAN(2, metric="haversine").fit(points),
    ):
        call(X)
        with pytest.raises(
            InputError, match=r"latitude first: give .*\['lat', 'lon'\]"
        ):
            call(turned)
        with pytest.raises(InputError, match="in degrees"):
            call(X.rename(columns={"lat": "lat_deg"}))
    given = turned[["lat", "lon"]]  # as the message says
    np.testing.assert_array_equal(mndmst.single_linkage(given, "haversine"), expected)


LARGE = 1_700_000_000_000_000_007  # nanoseconds: no float64 is equal to it


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_float64_would_round_are_refused_everywhere(
    tmp_path: Path, sign: int
) -> None:
    times = sign * (LARGE + 4 * np.arange(6))
    exact = sign * (1_700_000_000_000_000_000 + 1024 * np.arange(6))
    inputs: dict[str, object] = {
        "array": times[:, None],
        "list": [[int(time)] for time in times],
        "objects": np.array([[int(time), 0.5] for time in times], object),
    }
    table = tmp_path / "times.csv"
    table.write_text("time,x\n" + "".join(f"{time},0.5\n" for time in times))
    inputs["csv"] = table
    columns = {"time": times, "x": np.arange(6) / 2}
    parquet = tmp_path / "times.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), parquet)
    inputs["parquet"] = parquet
    if find_spec("pandas"):
        inputs["table"] = import_module("pandas").DataFrame(columns)
    inputs["Arrow"] = pyarrow.table(columns)
    inputs["listed"] = [[int(time), 0.5] for time in times]
    inputs["sparse"] = scipy.sparse.csr_array(times[:, None])
    for name, given in inputs.items():
        with pytest.raises((ValueError, InputError), match="float64 would round"):
            if name in ("csv", "parquet"):
                read_points(given)
            else:
                mndmst.HDBSCAN(2).fit(given)
    with pytest.raises(InputError, match="float64 would round"):
        mndmst.single_linkage(times[:, None])
    assert mndmst.single_linkage(exact[:, None])[:, 2].tolist() == [1024.0] * 5
    table.write_text("time,x\n" + "".join(f"{time},0.5\n" for time in exact))
    assert read_points(table)[:, 0].tolist() == exact.tolist()


@pytest.mark.parametrize(
    ("header", "edges"),
    [
        ("src,dst,weight", True),
        ("source,target,cost", True),
        ("u,v,w", True),
        ("from,to", True),
        ("x,y,u,v", False),
        ("u,v,depth,heat", False),
    ],
)
def test_a_table_that_may_be_edges_is_refused_with_both_remedies(
    tmp_path: Path, header: str, edges: bool
) -> None:
    count = header.count(",") + 1
    text = f"{header}\n" + "".join(f"{i},2,3,4"[: 2 * count - 1] + "\n" for i in "123")
    if edges:
        with pytest.raises(InputError, match=f"partition.*--columns {header}"):
            table_in(tmp_path, text)
    else:
        assert table_in(tmp_path, text).points.shape == (3, count)
    assert table_in(tmp_path, text, header).points.shape == (3, count)


def test_edges_of_names_are_not_taken_for_points(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"from, to, weight are edges.*partition"):
        table_in(tmp_path, ",from,to,weight\n1,a,b,0.5\n2,b,c,1.5\n")
    with pytest.raises(InputError, match=r"--columns from,to,weight\.$"):
        table_in(tmp_path, ",from,to,weight\n1,2,3,0.5\n2,3,4,1.5\n")


@pytest.mark.parametrize("name", ["a", "b", "x1", "pc2"])
def test_a_first_id_like_a_coordinate_is_below_a_header_in_a_comment(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "p.csv").write_text(f"# id,x,y\n{name},1.5,2\nother,3,4.5\n")
    found = read_point_table(tmp_path / "p.csv")
    assert found.points.tolist() == [[1.5, 2], [3, 4.5]]
    assert found.ids is not None
    assert found.ids.tolist() == [name, "other"]


def test_a_missing_file_is_said_to_be_missing_alone(tmp_path: Path) -> None:
    """Not what a file of points looks like."""
    path = tmp_path / "gone.npy"
    with pytest.raises(InputError) as caught:
        read_points(path)
    assert str(caught.value) == f"{path}: no such file. Check the name."
