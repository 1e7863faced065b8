"""Rooted trees in Python, and by the command: names, tables and Newick trees."""

from pathlib import Path

import pytest

import mndmst
from mndmst.__main__ import main

EDGES = "source,target,weight\nb,a,2\nc,b,1\na,d,3\ny,x,7\n"
TABLE = """\
vertex,parent,root,depth,distance,size,order
a,b,c,2,3,2,2
b,c,c,1,1,3,1
c,c,c,0,0,4,0
d,a,c,3,6,1,3
x,y,y,1,7,1,5
y,y,y,0,0,2,4
"""
NEWICK = "(((d:3)a:2)b:1)c;\n(x:7)y;\n"


@pytest.fixture
def named() -> mndmst.NamedForest:
    return mndmst.minimum_spanning_forest(
        ["b", "c", "a", "y"], ["a", "b", "d", "x"], [2, 1, 3, 7]
    )


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    """Return the file of the same forest."""
    (tmp_path / "g.csv").write_text(EDGES)
    mndmst.partition(tmp_path / "g.csv", tmp_path / "g")
    mndmst.solve(tmp_path / "g", output=tmp_path / "f.h5")
    return tmp_path / "f.h5"


def test_names_go_in_and_come_back(named: mndmst.NamedForest) -> None:
    rooted = named.rooted(["c", "y"])
    assert rooted.parent.tolist() == ["b", "c", "c", "a", "y", "y"]
    assert rooted.root.tolist() == ["c", "c", "c", "c", "y", "y"]
    assert rooted.roots.tolist() == ["c", "y"]
    assert rooted.vertices.tolist() == ["c", "b", "a", "d", "y", "x"]
    assert rooted.trees.parent.tolist() == [1, 2, 2, 0, 5, 5]
    assert named.weight[rooted.edge[rooted.edge >= 0]].sum() == 13
    with pytest.raises(mndmst.InputError, match="no vertex"):
        named.rooted("z")
    with pytest.raises(mndmst.ConfigError, match="vertices b and d are in the same"):
        named.rooted(["b", "d"])


def test_numbers_without_names() -> None:
    forest = mndmst.minimum_spanning_forest([0, 1], [1, 2], [5, 6])
    rooted = forest.rooted(1)
    assert rooted.parent.tolist() == [1, 1, 1]
    assert str(rooted) == "RootedForest(1 tree, deepest vertex 1 edge down)"
    with pytest.raises(mndmst.InputError, match="no vertex 3"):
        forest.rooted(3)


def test_python_and_the_command_write_the_same(
    tmp_path: Path, named: mndmst.NamedForest, forest: Path
) -> None:
    rooted = named.rooted(["c", "y"])
    for suffix, text in ((".csv", TABLE), (".nwk", NEWICK)):
        rooted.write(tmp_path / f"python{suffix}")
        assert (tmp_path / f"python{suffix}").read_text() == text
        target = tmp_path / f"command{suffix}"
        words = ["root", forest, "--root", "c", "--root", "y", "-q", "-o", target]
        assert main(list(map(str, words))) == 0
        assert target.read_text() == text
    with pytest.raises(mndmst.OutputError, match="exists"):
        rooted.write(tmp_path / "python.csv")


def test_a_table_of_pandas_has_the_columns_of_the_file(
    named: mndmst.NamedForest,
) -> None:
    pytest.importorskip("pandas")
    table = named.rooted(["c", "y"]).to_pandas()
    assert table.to_csv(index=False) == TABLE


def test_ids_that_begin_at_one(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "g.gr").write_text("p sp 3 2\na 1 2 5\na 2 3 4\n")
    mndmst.partition(tmp_path / "g.gr", tmp_path / "g", symmetrize=True)
    mndmst.solve(tmp_path / "g", output=tmp_path / "f.h5")
    command = ["root", str(tmp_path / "f.h5"), "-q"]
    assert main([*command, "--root", "3", "-o", str(tmp_path / "r.nwk")]) == 0
    assert (tmp_path / "r.nwk").read_text() == "((1:5)2:4)3;\n"
    assert main([*command, "--root", "0"]) == 1
    assert 'is named "0"' in capsys.readouterr().err
    numbers = [*command, "--numbers", "--root", "0", "-o", str(tmp_path / "n.nwk")]
    assert main(numbers) == 0
    assert (tmp_path / "n.nwk").read_text() == "((2:4)1:5)0;\n"
    read = mndmst.Forest.read(tmp_path / "f.h5").rooted(3)
    assert read.parent.tolist() == [2, 3, 3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--root e", 'no vertex of {} is named "e"'),
        ("--root c --root d", "vertices c and d are in the same tree"),
        ("--root 0", 'is named "0"'),
        ("--root 00 --numbers", "either 0 with leading zeros or a text"),
        ("-o r.h5", "r.h5: give a name in .csv, .tsv, .nwk"),
    ],
)
def test_a_root_that_does_not_exist_is_refused_in_one_line(
    forest: Path, capsys: pytest.CaptureFixture, words: str, said: str
) -> None:
    assert main(["root", str(forest), "-q", *words.split()]) == 1
    error = capsys.readouterr().err
    assert said.format(forest) in error and error.count("\n") == 1
