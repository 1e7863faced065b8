"""The same table from every format: read as people mean it, or refused in one line."""

import gzip
import importlib
import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
import zstandard
from oracle import kruskal
from processes import ROOT

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats import open_edges, read_edges
from mndmst.io.formats.table_dialect import MARKS
from mndmst.io.results.text_tables import quoted

# The edges 0-1 8, 0-2 1.5, 1-2 2.5: the forest weighs 4.
ENDS, WEIGHTS = ([0, 0, 1], [1, 2, 2]), [8.0, 1.5, 2.5]
Table = dict[str, list]


def as_text(separator: str) -> Callable[[Table, Path], None]:
    def write(table: Table, path: Path) -> None:
        rows = zip(*table.values(), strict=True)
        lines = [separator.join(map(str, row)) for row in (tuple(table), *rows)]
        path.write_text("\n".join(lines) + "\n")

    return write


def as_parquet(table: Table, path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def as_arrow(table: Table, path: Path) -> None:
    with pyarrow.ipc.new_file(str(path), pyarrow.table(table).schema) as file:
        file.write_table(pyarrow.table(table))


def as_records(table: Table, path: Path) -> None:
    rows = zip(*table.values(), strict=True)
    path.write_text(json.dumps([dict(zip(table, row, strict=True)) for row in rows]))


def as_links(table: Table, path: Path) -> None:
    as_records(table, path)
    graph = {"nodes": [{"id": i} for i in range(3)]}
    path.write_text(json.dumps(graph | {"links": json.loads(path.read_text())}))


FORMATS: dict[str, tuple[str, Callable[[Table, Path], None]]] = {
    "comma": ("csv", as_text(",")),
    "semicolon": ("csv", as_text(";")),
    "tab": ("tsv", as_text("\t")),
    "parquet": ("parquet", as_parquet),
    "arrow": ("arrow", as_arrow),
    "records": ("json", as_records),
    "links": ("json", as_links),
}


def table_of(header: str) -> Table:
    """Return the table whose columns are S, T and W for ends and weight, or others.

    A word is a name, or a name and a role: "from:S".
    """
    table: Table = {}
    for word in header.split(","):
        name, _, role = word.partition(":")
        roles = {"S": ENDS[0], "T": ENDS[1], "W": WEIGHTS, "": [2, 0, 1]}
        table[name] = roles[role]
    return table


def forest_weight(path: Path, columns: str | None = None) -> tuple[int, float]:
    """Return how many vertices the graph has, and the weight of its forest."""
    edges = read_edges(path, columns=columns)
    answer = kruskal(edges.num_vertices, edges.src, edges.dst, edges.weight)
    return edges.num_vertices, answer.total


@pytest.fixture(params=FORMATS)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Table], Path]:
    suffix, writer = FORMATS[request.param]

    def made(table: Table) -> Path:
        path = tmp_path / f"table.{suffix}"
        writer(table, path)
        return path

    return made


@pytest.mark.parametrize(
    "header",
    [
        "source:S,target:T,cost:W",
        "source:S,target:T,distance:W",
        "source:S,target:T,dist:W",
        "source:S,target:T,length:W",
        "source:S,target:T,similarity:W",
        "source:S,target:T,travel_time:W",
        "id,source:S,target:T,cost:W,reverse_cost",
        "u:S,v:T,key,length:W",
        "weight:W,source:S,target:T",
        "Source:S,Target:T,Id,Weight:W",
        "cost:W,from:S,to:T",
        "edge,node1:S,node2:T,w:W",
        "gid,length_m:W,target:T,source:S,reverse_cost",
        "osmid,V:T,U:S,Length:W,key,lanes",
        "index,To:T,From:S,Distance:W",
        "Label,TARGET:T,SOURCE:S,Id,Weight:W",
        "time:W,dst:T,src:S",
    ],
)
def test_one_answer_from_every_format(
    write: Callable[[Table], Path], header: str
) -> None:
    assert forest_weight(write(table_of(header))) == (3, 4.0)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("a:S,b:T,c:W", "source=a,target=b,weight=c"),
        ("0:S,1:T,2:W", "source=0,target=1,weight=2"),
        ("source:S,target:T,length,travel_time:W", "weight=travel_time"),
        ("x:S,y:T,weight:W", "source=x,target=y"),
        ("u:S,v:T,closeness:W", "weight=closeness"),
        ("id:S,key:T,index:W", "source=id,target=key,weight=index"),
    ],
)
def test_the_option_decides_in_every_format(
    write: Callable[[Table], Path], header: str, columns: str
) -> None:
    path = write(table_of(header))
    with pytest.raises(InputError, match="--columns"):
        read_edges(path)
    assert forest_weight(path, columns) == (3, 4.0)
    with pytest.raises(ConfigError, match="has no such column; it has"):
        read_edges(path, columns="weight=nothing")


def test_the_option_outdoes_known_names(write: Callable[[Table], Path]) -> None:
    path = write(table_of("source,target,x:S,y:T,weight,z:W"))
    assert forest_weight(path) == (3, 0)  # loops
    assert forest_weight(path, "source=x,target=y,weight=z") == (3, 4.0)
    assert forest_weight(path, "source=x,target=y,weight=") == (3, 2)


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("source:S,target:T,length,travel_time:W", "each of length, travel_time may"),
        ("u:S,v:T,cost,distance:W", "each of cost, distance may be the weight"),
        ("source:S,target:T,x:W", "and x holds numbers"),
        ("source:S,target:T,lanes,width:W", "and lanes, width hold numbers"),
        ("first:S,second:T,weight:W", "known names of the ends"),
        ("source:S,target:T,u:S,v:T,weight:W", "the ends may be source and target or"),
    ],
)
def test_headers_that_are_not_understood(
    write: Callable[[Table], Path], header: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem) as found:
        read_edges(write(table_of(header)))
    assert "--columns" in str(found.value)
    assert "\n" not in str(found.value)


def test_closed_directions_of_pgrouting_are_no_light_edges(
    write: Callable[[Table], Path],
) -> None:
    table = table_of("id,source:S,target:T,cost:W,reverse_cost")
    path = write(table | {"cost": [8.0, -1.0, 2.5]})
    with pytest.raises(InputError, match=r"cost has the value -1\.0, and a negative"):
        read_edges(path)
    assert forest_weight(path, "weight=cost") == (3, 1.5)
    assert forest_weight(path, "weight=reverse_cost") == (3, 1)


def test_weight_1_without_numbers_is_said(write: Callable[[Table], Path]) -> None:
    path = write({"source": ENDS[0], "target": ENDS[1], "name": ["a", "b", "c"]})
    assert read_edges(path).weight.tolist() == [1, 1, 1]
    note = "source: source, target: target, weight: 1 for every edge; left out: name"
    assert open_edges(path).notes == (note,)


@pytest.mark.parametrize("columns", ["weight=length", {"weight": "length"}])
def test_what_is_read_is_said(write: Callable[[Table], Path], columns: object) -> None:
    path = write(table_of("u:S,v:T,key,length:W"))
    note = "source: u, target: v, weight: length; left out: key"
    assert open_edges(path).notes == open_edges(path, columns=columns).notes == (note,)


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("0;1;0,5\n1;2;1\n", [(0, 1, 0.5), (1, 2, 1.0)]),
        ("0\t1\t0,5\n1\t2\t-1,25e2\n", [(0, 1, 0.5), (1, 2, -125.0)]),
        ("u;v;w\r\n0;1;1\r\n1;2;,5\r\n", [(0, 1, 1.0), (1, 2, 0.5)]),
        ('w;"u";"v"\n"0,5";0;1\n"3";"1";"2"\n', [(0, 1, 0.5), (1, 2, 3.0)]),
        ("0;1;0,12345678901234567890123\n", [(0, 1, 0.12345678901234567890123)]),
        ("0;1;0.5\n1;2;1\n", [(0, 1, 0.5), (1, 2, 1.0)]),
    ],
)
def test_decimal_commas_between_semicolons_or_tabs(
    tmp_path: Path, text: str, edges: list
) -> None:
    assert triples_of(tmp_path, text) == edges


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0 1 0,5\n1 2 1\n", "decimal commas between blanks"),
        ('0,1,"0,5"\n1,2,1\n', "decimal commas between commas"),
        ("0,1,0,5\n1,2,1,5\n", "4 columns without names"),
        ("u,v,w\n0,1,0,5\n1,2,1,5\n", "names 3 columns, and the lines below have 4"),
        ("u,v,w\n0,1,0\n1,2,1,5\n", "line 3 has 4 columns, not 3"),
        ("u;v;w\n0;1;0,5\n1;2;0.5\n", "decimal commas and decimal points"),
        ("u;v;w\n0;1;0,5\n1;2;1.000,5\n", "decimal commas and decimal points"),
        ("u;v;w\n0;1;0,5\n1;2;1,000,5\n", 'line 3 has "1,000,5" in column w'),
    ],
)
def test_other_decimal_commas_are_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        triples_of(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "0,3,4\n3,0,5\n4,5,0\n",
        "0 3 4\n3 0 5\n4 5 0\n",
        "0;3,5;4\n3,5;0;5\n4;5;0\n",
        "0,3,4,1\n3,0,5,2\n4,5,0,3\n1,2,3,0\n",
        "0\t1\t1\n1\t0\t2\n1\t2\t0\n",
        "a,b,c\n0,1,2\n1,0,\n2,,0\n",
    ],
)
def test_a_distance_matrix_is_not_a_list_of_edges(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="square symmetric matrix with zeros on its"):
        triples_of(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (",x,y,z\nx,0,1,1\ny,0,0,2\nz,0,0,0\n", "source=x,target=y,weight=z"),
        (",0,1,2\n0,0,1,1\n1,0,0,2\n2,5,0,0\n", "source=0,target=1,weight=2"),
        ("a,b,c,d\n0,1,0,1\n0,0,1,0\n1,1,0,0\n0,0,1,0\n", "source=a,target=b,weight=c"),
    ],
)
def test_a_matrix_with_names_is_not_a_list_of_edges(
    tmp_path: Path, text: str, columns: str
) -> None:
    with pytest.raises(
        InputError, match=r"a matrix.*looks like|looks like a matrix"
    ) as found:
        triples_of(tmp_path, text)
    assert "--metric precomputed" in str(found.value)
    assert triples_of(tmp_path, text, columns)


@pytest.mark.parametrize("index", ["", "name", "id"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_typed_matrix_is_not_a_list_of_edges(
    tmp_path: Path, suffix: str, index: str
) -> None:
    table = {name: [0.0, 1.0, 2.5] for name in ("x", "y", "z")}
    if index:
        table = {index: ["x", "y", "z"] if index == "name" else [1, 2, 3]} | table
    path = tmp_path / f"t.{suffix}"
    FORMATS[suffix][1](table, path)
    with pytest.raises(InputError, match="looks like a matrix") as found:
        read_edges(path)
    assert f"mndmst solve {path} --metric precomputed" in str(found.value)
    with pytest.raises(InputError, match="no two columns") as found:
        read_edges(path, columns="weight=x")
    assert "--metric" not in str(found.value)


@pytest.mark.parametrize(
    "text",
    ["1,2,3,4\n5,6,7,8\n", "1 2 3 4 5\n6 7 8 9 0\n", "1,2,3,4\n" * 300],
)
def test_lines_of_many_numbers_need_positions(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"columns without names.*--columns source=1"):
        triples_of(tmp_path, text)
    found = triples_of(tmp_path, text, "source=2,target=3,weight=1")
    assert found[0] == (2, 3, 1)


@pytest.mark.parametrize(
    "text",
    [
        '"","from","to","weight"\n"1",0,1,2.5\n"2",1,2,3\n',  # R: write.csv
        '"from" "to" "weight"\n"1" 0 1 2.5\n"2" 1 2 3\n',  # R: write.table
        '"from","to","weight"\n"1","0","1",2.5\n"2","1","2",3\n',  # names quoted
        "from\tto\tname\tweight\n0\t1\t\t2.5\n1\t2\ta b\t3\n",
        'from,to,name,weight\n0,1,"a, ""b""",2.5\n 1 , 2 ,c d, 3 \n',
        "\ufefffrom;to;weight\r\n0;1;2.5\r\n\r\n# c;d\r\n1;2;3\r\n",
        "% c\n# d\n\nfrom to weight key\n0 1 2.5 x\n1   2\t3 y",
        "from,to,weight\n0,1,2.5\n\n1,2,3",
        ",0,1,from,to,weight\n0,9,9,0,1,2.5\n1,9,9,1,2,3\n",
        "# graph\n#weight,from,to\n2.5,0,1\n3,1,2\n",
        "#name\tfrom\tto\tscore\n\t0\t1\t2.5\nx\t1\t2\t3\n",
        'c,from,to,weight\n"#00f",0,1,2.5\n# a, b\nred,1,2,3\n',
        'key,from,to,weight\n"a;b",0,1,2.5\n"a\tb",1,2,3\n',
    ],
)
def test_dialects_of_programs(tmp_path: Path, text: str) -> None:
    assert triples_of(tmp_path, text) == [(0, 1, 2.5), (1, 2, 3.0)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("u,v,w\n0,1,NA\n", 'line 2 has "NA" in column w, and a weight is a number'),
        ("u,v,w\n0,1,2\n1,2,nan\n", 'line 3 has "nan" in column w'),
        ("u,v,w\n0,1,2\n1,2,\n", "line 3 has nothing in column w"),
        ("u,v,w\n0,1,2\n,2,3\n", "line 3 has nothing in column u"),
        ("# c\nw,u,v\n1,0,1\n2,1,2.0\n", 'line 4 has "2.0" in column v, and a vertex'),
        ("u,v,w\n0,1,2\n1,2\n", "line 3 has 2 columns, not 3"),
        ("u,v,w\n0,1,2\n1,2,3,4\n", "line 3 has 4 columns, not 3"),
        ("c,u,v\nred,0,1\n#00f,1,2\n", "line 3 begins with # like a comment, but has"),
        ('key u v\n1 0 1\n"1"0 1\n', "line 3 has a quoted field that goes on behind"),
        ('key u v w\n1 0 1 2\n"1" 0 1"2"\n', "line 3 has 3 columns, not 4"),
        ("u,v\n0,1\n0,,1\n", "line 3 has 3 columns, not 2"),
        ('u,v,n,w\n0,1,"a\nb",2\n', "line 2 has a quote that the line does not close"),
        ("u,v,w\n0,1,12345678901234567890\n", "a whole number of over 64 bits"),
        ("u,v,w\n0,1,0.5\n0,1,9007199254740993\n", "line 3 .* float64"),
        ("u,v,w,k\n0,1,0.5,1\n0,1,9007199254740993,1\n", "line 3 .* float64"),
        ("u,v,w,k\n0,1,2e308,1\n", "beyond the largest float64"),
        ("u,v,n,w\n0,1,x,yes\n", "column w is the weight, but does not hold numbers"),
        ("0,1,2\n0,1,2.5\n1,2,3.5\n", "may be the names that pandas gives"),
    ],
)
def test_mistakes_name_line_and_column(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=rf"table\.csv: .*{problem}"):
        triples_of(tmp_path, text)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(
    ("column", "values", "problem"),
    [
        ("w", [1.0, float("nan"), 2.0], r"column w has NaN in row 1 \(from 0\)"),
        ("w", [1.0, 2.0, None], r"column w has no value in row 2 \(from 0\)"),
        ("u", [0, None, 1], r"column u has no value in row 1 \(from 0\)"),
        ("u", [0.0, 1.0, 2.0], "column u has type double, and a vertex is a whole"),
        ("v", [True, False, True], "column v has type bool, and a vertex is a whole"),
        ("w", [True, False, True], "column w is the weight, but does not hold numbers"),
        ("w", ["1", "2", "3"], "column w is the weight, but does not hold numbers"),
        ("w", [date(2020, 1, 1)] * 3, "column w is the weight, but does"),
    ],
)
def test_mistakes_in_typed_tables(
    tmp_path: Path, suffix: str, column: str, values: list, problem: str
) -> None:
    path = tmp_path / f"table.{suffix}"
    table = table_of("u:S,v:T,w:W") | {column: values}
    dict(FORMATS.values())[suffix](table, path)
    with pytest.raises(InputError, match=rf"table\.{suffix}: {problem}"):
        read_edges(path)


def test_decimals_are_refused(tmp_path: Path) -> None:
    prices = list(map(Decimal, ("8.00", "1.50", "2.50")))
    as_parquet(table_of("u:S,v:T,w:W") | {"w": prices}, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"column w has type decimal128.*32- or"):
        read_edges(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_tables(
    write: Callable[[Table], Path], suffix: str, tmp_path: Path
) -> None:
    path = write(table_of("id,cost:W,from:S,to:T"))
    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}
    packed = path.with_name(path.name + suffix)
    packed.write_bytes(pack[suffix](path.read_bytes()))
    assert forest_weight(packed) == (3, 4.0)


def test_weights_of_adjacency_data(tmp_path: Path) -> None:
    """Its ends are not columns."""
    path = tmp_path / "g.json"
    rows = [
        [{"id": 1, "length": 8.0, "d": 1}, {"id": 2, "length": 1.5, "d": 1}],
        [{"id": 2, "length": 1, "d": 3}],
    ]
    nodes = [{"id": i} for i in range(3)]
    path.write_text(json.dumps({"nodes": nodes, "adjacency": [*rows, []]}))
    assert forest_weight(path) == (3, 2.5)
    assert forest_weight(path, "weight=d") == (3, 2)
    assert forest_weight(path, "weight=") == (3, 2)
    with pytest.raises(ConfigError, match="has no such column; it has id, length, d"):
        read_edges(path, columns="weight=x")
    with pytest.raises(ConfigError, match="names the ends of edges itself"):
        read_edges(path, columns="source=id")


@pytest.mark.parametrize("first", ["name,", "", '"the ""name""",'])
def test_ranges_of_a_table_hold_every_row_once(tmp_path: Path, first: str) -> None:
    """Processes read ranges of bytes, which end anywhere in a line."""
    path = tmp_path / "table.csv"
    cell = '"a, ""b""",' if first else ""
    rows = [(i, i + 1, i / 4) for i in range(9)]
    lines = [f"{cell}{u},{v},{w}" for u, v, w in rows]
    path.write_text("\n".join([f"{first}u,v,w", *lines]) + "\n")
    file = open_edges(path)
    for cut in range(file.length + 1):
        found = []
        for begin, end in ((0, cut), (cut, file.length)):
            for piece in file.pieces(begin, end):
                columns = (
                    piece.src.tolist(),
                    piece.dst.tolist(),
                    piece.weight.tolist(),
                )
                found += zip(*columns, strict=True)
        assert found == rows


def test_columns_are_named_of_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "g.gr").write_text("p sp 2 1\na 1 2 3\n")
    with pytest.raises(ConfigError, match=r"g\.gr is not a table"):
        read_edges(tmp_path / "g.gr", columns="weight=")


@pytest.mark.parametrize("kind", ["comma", "semicolon", "tab", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("src", "dst"),
    [
        (["Zürich", "Bern", "a b"], ["Bern", "x" * 100, "Zürich"]),
        (["0012", "12", "0x7"], ["3.0", "-1", "é"]),
        ([0, 5, 1 << 60], [1 << 62, 2, 3]),
    ],
)
def test_named_ends_come_in_pieces(
    tmp_path: Path, kind: str, src: list, dst: list
) -> None:
    """The seam for a reader that numbers names."""
    suffix, writer = FORMATS[kind]
    path = tmp_path / f"table.{suffix}"
    writer({"id": [1, 2, 3], "to": dst, "from": src, "w": WEIGHTS}, path)
    file = open_edges(path)
    table = getattr(file, "table", file)  # what names are made of, if there are any
    ((*ends, weight),) = table.named_pieces(0, table.length)
    found = [some.astype(object).astype(str).tolist() for some in ends]
    assert found == [list(map(str, src)), list(map(str, dst))]
    assert weight.tolist() == WEIGHTS


def test_named_ends_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('w,u,v\n2,"a, b","say ""x"""\n3, c d ,"a, b"\n')
    file = open_edges(path)
    table = getattr(file, "table", file)  # what names are made of, if there are any
    ((src, dst, weight),) = table.named_pieces(0, table.length)
    assert src.tolist() == ["a, b", "c d"]
    assert dst.tolist() == ['say "x"', "a, b"]
    assert weight.tolist() == [2, 3]


REFUSED = "begins with [#%] like a comment, but has [234] columns like a row"


@pytest.mark.parametrize(
    "text",
    [
        "source,target,weight\n#python,#data,3\n#data,zeta,4\n%x,zeta,1\na,b,1\n",
        "source\ttarget\tweight\na\tb\t1\n#python\t#data\t3\n",
        "\ufeffsource;target;weight\r\n%python;data;3\r\na;b;1\r\n",
        "source target weight\na b 1\n#python #data 3\n",
        "#python,#data,3\n#data,zeta,4\na,b,1\n",  # without a header
        "#python,#data,3\n#data,zeta,4\n",  # rows like comments alone
        "#python #data 3\n%data zeta 4\n",  # and between blanks
        "#python\t3\n",
        "source,target,weight\n#python,#data,3\n",
        "source,target\na,b\n#python,#data\n",
        "a b\nb c\n#python #data\n",
        "0,1,2\n#python,#data,4\n1,2,3\n",  # a name below numbers
        "source,target,weight\n" + "0,1,2\n" * 300 + "#python,#data,4\n",
        "name,source,target,weight\nx,0,1,2\n#y,1,2,3\n",
        "source,target,weight\n\na,b,\n#python,b,NA\n",
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "txt"])
def test_a_comment_like_a_row_is_refused(
    tmp_path: Path, suffix: str, text: str
) -> None:
    path = tmp_path / f"table.{suffix}"
    data = text.encode()
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    with pytest.raises(InputError, match=REFUSED):
        read_edges(path)


@pytest.mark.parametrize(
    "text",
    [
        "# SNAP\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n",
        "#FromNodeId\tToNodeId\n0\t1\n#FromNodeId\tToNodeId\n1\t2\n",
        "0,1\n#0,2\n1,2\n",  # an edge that is commented out
        "0 1\n# 0 2\n#0 2\n% a b\n1 2\n",
        "source,target\n0,1\n# 1, 2, 3\n#source,target\n1,2\n",
        '"source","target"\n"0","1"\n\n#\n1,2 # the last\n',
    ],
)
def test_other_comments_are_passed_over(tmp_path: Path, text: str) -> None:
    assert triples_of(tmp_path, text) == [(0, 1, 1), (1, 2, 1)]


def test_quotes_make_rows_of_names_with_marks(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text('source,target,weight\n"#python","#data",3\n"%x",#data,1\n')
    names = read_edges(path).names
    assert names is not None and names.values() == ["#data", "#python", "%x"]


@pytest.mark.parametrize("mark", MARKS)
def test_a_written_name_is_quoted_where_it_begins_as_a_comment(
    tmp_path: Path, mark: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"source,target\n{quoted(path, f'{mark}a')},{mark}b\n")
    names = read_edges(path).names
    assert names is not None and names.values() == [f"{mark}a", f"{mark}b"]


HEADERS = [
    "#node1\tnode2\tscore",
    "#node1\tnode2\tstring1\tstring2\tcoexpression\tscore",
    "# node1\tnode2\ta\tb\tc\td\te\tf\tg\th\ti\tj\tscore",
    "% node1\tnode2\tscore\tremark",
    '#"node1"\t"node2"\t"score"',
    "# node1 node2 score",
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("columns", [None, "source=node1,target=node2,weight=score"])
@pytest.mark.parametrize("above", ["", "# STRING\n\n", "# 3 vertices\n"])
@pytest.mark.parametrize("behind", ["", "#\n", "\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_comment_above_names_the_columns(
    tmp_path: Path, header: str, columns: str, above: str, behind: str, end: str
) -> None:
    names = header.replace('"', "").replace(" ", "\t").lstrip("#%\t").split("\t")
    cells = dict(zip(names, "ghijklmnopqrs", strict=False))
    rows = [
        cells | {"node1": u, "node2": v, "score": w}
        for u, v, w in (("0", "1", "2.5"), ("1", "2", "3"))
    ]
    lines = "".join("\t".join(row.values()) + "\n" for row in rows)
    text = (above + header + "\n" + behind + lines).replace("\n", end)
    assert triples_of(tmp_path, text, columns) == [(0, 1, 2.5), (1, 2, 3.0)]


def test_a_user_may_name_a_column_with_its_mark(tmp_path: Path) -> None:
    text = "#left\tright\ta\tscore\n0\t1\t7\t2.5\n"
    columns = "source=#left,target=right,weight=score"
    assert triples_of(tmp_path, text, columns) == [(0, 1, 2.5)]


@pytest.mark.parametrize(
    "text",
    [
        "A B\nB C\nC D\nA D\n",
        "A,B\nB,C\nC,D\nA,D\n",
        '"A"\t"B"\r\n"B"\t"C"\r\nC\tD\r\n\r\nA\tD',
        "# c\nA;B\nB;C\nC;D\nA;D\n",
        "gene1 gene2\ngene2 gene3\ngene3 gene4\ngene1 gene4\n",
        "node1,node2\nnode2,node3\nnode3,node4\nnode1,node4\n",
        "ana bob\nbob cem\ncem dan\nana dan\n",
    ],
)
def test_a_first_line_whose_names_recur_is_an_edge(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.txt"
    path.write_text(text)
    file = open_edges(path)
    edges = file.read()
    assert (edges.num_vertices, len(edges.src)) == (4, 4)
    assert re.search(r"line \d is an edge: \w+ recurs below", file.notes[0])


@pytest.mark.parametrize(
    ("text", "names", "edges"),
    [
        ("u v\nv w\nw x\nu x\n", "source=u,target=v", 4),
        ("source,target\nsource,a\na,target\n", "source=source,target=target", 3),
        ("gene1 gene2\ngene7 gene9\n", "source=gene1,target=gene2", 2),
        ("A B\nC D\n", "source=A,target=B", 2),
        ("A B\n", "source=A,target=B", 1),
        ("ana,bob\ncem,dan\n", "source=ana,target=bob", 2),
    ],
)
def test_a_first_line_with_two_readings_is_refused_with_both_remedies(
    tmp_path: Path, text: str, names: str, edges: int
) -> None:
    path = tmp_path / "table.txt"
    path.write_text(text)
    with pytest.raises(InputError, match="may be an edge or the names") as found:
        read_edges(path)
    for option, count in ((names, edges - 1), ("source=1,target=2", edges)):
        assert f"--columns {option}" in str(found.value)
        assert len(read_edges(path, columns=option).src) == count


@pytest.mark.parametrize(
    "text",
    [
        "u v\n0 1\n1 2\n",
        "node1,node2\nBonn,Rome\nRome,Oslo\n",
        "A,B,weight\nB,C,3\nC,D,4\n",  # a text above numbers
        "source,target,kind\nsource,a,x\na,b,x\n",
    ],
)
def test_a_header_above_texts_is_no_edge(tmp_path: Path, text: str) -> None:
    (tmp_path / "table.csv").write_text(text)
    assert len(read_edges(tmp_path / "table.csv").src) == 2


def triples_of(
    folder: Path, text: str, columns: str | None = None
) -> list[tuple[int, int, float]]:
    """Return the edges of a text, as they are listed."""
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    edges = read_edges(path, columns=columns)
    found = (edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist())
    return list(zip(*found, strict=True))


@pytest.mark.parametrize("kind", ["tables", "marks", "clouds", "files"])
def test_random_files_of_the_campaign(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from tests.campaign.case import Case
    from tests.campaign.results import Results

    check = importlib.import_module(f"tests.campaign.{kind}").check
    results = Results(1)
    for number in range(150):
        results.judge(Case(results.seed, kind, number), check)
    assert results.failures == []
