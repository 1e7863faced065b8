"""Recipes: all of them load, and those whose data is here give the known answer."""

import csv
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from processes import ROOT
from square import DATA

from mndmst.host.errors import ConfigError, InputError
from mndmst.io.formats import NAMES
from mndmst.io.partitioner.graph_recipe import check_shards, load_recipe, open_recipe
from mndmst.io.partitioner.partition import build_shards
from mndmst.io.partitioner.vertex_numbering import symmetric_rows

RECIPES = sorted((ROOT / "partitions").glob("*.toml"))
FOLDER = Path(os.environ.get("MNDMST_TEST_DATA") or ROOT.parent / "shared/data")
SQUARE = """
[source]
collection = "the tests"
url = "https://example.org"
file = "square.gr"
weights = "file"
"""


def test_every_graph_of_the_papers_has_a_recipe() -> None:
    names = {path.stem for path in RECIPES}
    roads = [
        "NY",
        "BAY",
        "COL",
        "FLA",
        "NW",
        "NE",
        "CAL",
        "LKS",
        "E",
        "W",
        "CTR",
        "USA",
    ]
    assert {f"USA-road-d.{name}" for name in roads} | {"OSM-PT"} <= names
    webs = {"gsh-2015-tpd", "arabic-2005", "it-2004", "sk-2005", "uk-2007-05"}
    assert webs | {"road_usa"} <= names
    assert sum(name.startswith("ecl-") for name in names) == 17


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_load(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.name == path.stem
    if recipe.source:
        with pytest.raises(ConfigError, match=r"Download .* from https?://"):
            open_recipe(recipe)


def real_recipes() -> list[Path]:
    """Return the recipes of graphs that are in the data folder, with known weights."""
    files = {file.name for file in FOLDER.glob("*")}
    sources = {path: load_recipe(path).source.get("file") for path in RECIPES}
    return [path for path, file in sources.items() if file in files]


@pytest.mark.data
@pytest.mark.parametrize("path", real_recipes(), ids=[p.stem for p in real_recipes()])
def test_known_answers(path: Path) -> None:
    recipe = load_recipe(path)
    edges = open_recipe(recipe, FOLDER / recipe.source["file"]).read()
    indptr, indices, weights = symmetric_rows(edges)
    n = edges.num_vertices
    rows = scipy.sparse.csr_array((weights, indices.astype("i4"), indptr), (n, n))
    forest = scipy.sparse.csgraph.minimum_spanning_tree(rows)
    answer = recipe.answer
    assert (n, len(indices) // 2) == (answer["vertices"], answer["edges"])
    assert (forest.nnz, int(forest.sum())) == (answer["forest_edges"], answer["weight"])
    with (FOLDER / "INDEX.tsv").open(newline="") as file:
        known = {row["name"]: row for row in csv.DictReader(file, delimiter="\t")}
    assert int(known[recipe.name]["msf_weight"]) == answer["weight"]


def recipe_of(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "square.toml"
    path.write_text(text)
    return path


def test_a_file_is_checked_against_its_recipe(tmp_path: Path) -> None:
    good = SQUARE + "[counts]\nvertices = 5\nedges = 5\n"
    recipe = load_recipe(recipe_of(tmp_path, good))
    edges = open_recipe(recipe, DATA / "square.gr").read()
    check_shards(recipe, build_shards(edges, tmp_path / "graph", 2))
    for counts, message in {
        "vertices = 6": "has 5 vertices; the square of .* has 6",
        "arcs = 99": "arcs; the square of .* has 99",
    }.items():
        wrong = load_recipe(recipe_of(tmp_path, f"{SQUARE}[counts]\n{counts}\n"))
        with pytest.raises(InputError, match=message):
            open_recipe(wrong, DATA / "square.gr").read()
    wrong = load_recipe(recipe_of(tmp_path, SQUARE + "[counts]\nedges = 6\n"))
    with pytest.raises(InputError, match=r"promises 6 edges, but .* has 5"):
        check_shards(wrong, build_shards(edges, tmp_path / "again", 1))
    wrong = load_recipe(recipe_of(tmp_path, SQUARE + 'sha256 = "00"\n'))
    with pytest.raises(InputError, match=r"square\.gr: its contents have SHA-256"):
        open_recipe(wrong, DATA / "square.gr")


def test_a_recipe_names_the_columns_of_a_table(tmp_path: Path) -> None:
    table = tmp_path / "roads.csv"
    table.write_text("u,v,length,time\n0,1,8,3\n1,2,2,9\n")
    with pytest.raises(InputError, match="each of length, time may be the weight"):
        open_recipe(load_recipe(recipe_of(tmp_path, SQUARE)), table)
    named = load_recipe(recipe_of(tmp_path, SQUARE + 'columns = "weight=time"\n'))
    assert open_recipe(named, table).read().weight.tolist() == [3, 9]
    ruled = SQUARE.replace('"file"', '"constant:4"')
    made = load_recipe(recipe_of(tmp_path, ruled))
    assert open_recipe(made, table).read().weight.tolist() == [4, 4]
    both = load_recipe(recipe_of(tmp_path, ruled + 'columns = "weight=time"\n'))
    with pytest.raises(ConfigError, match="Give one of the two"):
        open_recipe(both, table)


def test_generated_recipes_take_no_file() -> None:
    recipe = load_recipe(ROOT / "partitions/demo.toml")
    with pytest.raises(ConfigError, match="Leave out --source"):
        open_recipe(recipe, DATA / "square.gr")
    edges = open_recipe(recipe).read()
    assert edges.num_vertices == recipe.answer["vertices"]
    assert np.unique(edges.src).size > 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [("x = ", "is not TOML"), ("", "give either"),
     ("colour = 3\n" + SQUARE, "colour is not an"), (SQUARE[:-18], "lacks weights"),
     ("parts = 1.5\n" + SQUARE, "parts = 1.5 has another type"),
     ("parts = -1\n" + SQUARE, "parts = -1: give 1 or more"),
     (SQUARE + 'format = "xyz"\n', "no format is called xyz"),
     ("printed = 3\n" + SQUARE, "printed is not a list of tables"),
     ("source = 3\n", "is not a table"), (SQUARE + '[generate]\nkind="gnm"', "either")],
)  # fmt: skip
def test_mistakes_in_recipes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"square\.toml.*{message}"):
        load_recipe(recipe_of(tmp_path, text))


def test_a_recipe_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file"):
        load_recipe(tmp_path / "none.toml")


def test_the_command_makes_what_a_recipe_says(tmp_path: Path, mndmst: Callable) -> None:
    recipe = recipe_of(tmp_path, "parts = 3\n" + SQUARE + "[counts]\nedges = 5\n")
    made = mndmst("partition", recipe, tmp_path / "g", "--source", DATA / "square.gr")
    assert made.returncode == 0, made.stderr
    assert "parts        3" in made.stdout
    refused = mndmst("partition", recipe, tmp_path / "h")
    assert refused.returncode == 1
    assert "square.gr (the tests) from https://example.org" in refused.stderr
    mixed = mndmst("partition", recipe, tmp_path / "h", "--weights", "hash")
    assert "has its own format, columns and weights" in mixed.stderr


def test_the_help_lists_every_format(mndmst: Callable) -> None:
    text = mndmst("partition", "--help").stdout.replace("-\n", "-")
    assert set(NAMES) <= {word.strip(";") for word in text.split()}
