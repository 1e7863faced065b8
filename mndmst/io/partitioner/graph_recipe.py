"""Recipes of graphs: a source or a generator, and facts that must hold.

A recipe is a TOML file; `partitions/README.md` lists its entries. One that says where
a graph comes from does not fetch it: it checks the file that it is given.
"""

import hashlib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ...host.errors import ConfigError, InputError
from ...host.memory import FREE_MEMORY, Budget
from ..edge_file import EdgeFile, RowPiece, WrappedEdgeFile
from ..file_access import read_toml
from ..formats import NAMES
from ..formats.packed_files import unpacked_pieces
from ..named_edge_file import NamedEdgeFile
from ..shards.sharded_graph import ShardedGraph
from .random_graphs import KINDS, open_random
from .weight_rules import open_weighed

# The entries of each table, with their types; those with a star must be there.
_TABLES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "source": {"collection*": str, "url*": str, "file*": str, "format": str,
               "weights*": str, "columns": str, "sha256": str},
    "generate": {"kind*": str, "seed": int, "weights": str,
                 **dict.fromkeys(chain(*KINDS.values()), (int, float))},
    "family": {"parameter*": str, "first*": int, "last*": int},
    "counts": {"vertices": int, "arcs": int, "edges": int},
    "answer": {"vertices": int, "edges": int, "forest_edges": int, "trees": int,
               "weight": (int, float), "digest": str},
    "printed": {"paper*": str, "table*": str, "vertices*": str, "edges*": str},
}  # fmt: skip
_TOP: dict[str, type | tuple[type, ...]] = {"parts": int, "uuid": str}


@dataclass(frozen=True)
class Recipe:
    """A parsed recipe."""

    path: Path
    parts: int  # shards to make by default
    uuid: str | None  # of the graph, if it is known
    # `collection`, `url`, `file`, `weights` (see `weights`), perhaps `format`,
    # `columns` (of a table) and `sha256` (of the file unpacked). Empty for a graph that
    # is made.
    source: dict[str, str]
    # Arguments of `open_random`. Empty for a graph that is fetched.
    generate: dict[str, object]
    # If the paper varies a parameter of `generate`: its name, the `first` and the
    # `last` value
    family: dict[str, object]
    # `vertices`, `arcs` (entries of the file) and `edges` (distinct, undirected, no
    # loops), as far as they are known beforehand
    counts: dict[str, int]
    # `paper`, `table`, `vertices` and `edges`, as the paper prints them
    printed: tuple[dict[str, str], ...]
    answer: dict[str, object]  # known facts about the graph and its forest

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.path.stem


def load_recipe(path: str | Path) -> Recipe:
    """Read a recipe."""
    path = Path(path)
    given = read_toml(path)
    listed = given.pop("printed", [])
    if not isinstance(listed, list):
        raise ConfigError(f"{path}: printed is not a list of tables.")
    stated = {name: given.pop(name, {}) for name in _TABLES if name != "printed"}
    given = _checked(path, "", given, _TOP)
    tables = {
        name: _checked(path, f"[{name}] ", table, _TABLES[name])
        for name, table in stated.items()
    }
    printed = [_checked(path, "[printed] ", row, _TABLES["printed"]) for row in listed]
    if bool(tables["source"]) == bool(tables["generate"]):
        raise ConfigError(f"{path}: give either [source] or [generate].")
    if tables["source"].get("format", NAMES[0]) not in NAMES:
        raise ConfigError(f"{path}: no format is called {tables['source']['format']}.")
    parts, uuid = given.get("parts", 1), given.get("uuid")
    assert isinstance(parts, int)
    if parts < 1:
        raise ConfigError(f"{path}: parts = {parts}: give 1 or more")
    return Recipe(path, parts, uuid, printed=tuple(printed), **tables)  # type: ignore[arg-type]


def open_recipe(
    recipe: Recipe, file: str | Path | None = None, budget: Budget = FREE_MEMORY
) -> EdgeFile:
    """Open the graph of a recipe: the file it describes, or the one it generates."""
    if recipe.generate:
        if file is not None:
            raise ConfigError(
                f"{recipe.path}: the graph is generated. Leave out --source."
            )
        try:
            made = open_random(budget=budget, **recipe.generate)  # type: ignore[arg-type]
        except ConfigError as error:
            raise ConfigError(f"{recipe.path}: {error}") from error
        made.name = f"{recipe.path}: {made.name}"
        return _CountedFile(recipe, made)
    source = recipe.source
    if file is None:
        raise ConfigError(
            f"{recipe.path}: the graph has to be fetched first. Download "
            f"{source['file']} ({source['collection']}) from {source['url']} and give "
            "it with --source FILE."
        )
    if "sha256" in source:
        _check_sum(Path(file), budget, source["sha256"])
    opened = open_weighed(
        Path(file), source["weights"], source.get("format"), source.get("columns"),
        budget,
    )  # fmt: skip
    if isinstance(opened, NamedEdgeFile):
        raise InputError(
            f"{file}: names its vertices, and the recipe {recipe.path} is for vertices "
            "that are numbers. Make the graph with partition, without a recipe."
        )
    return _CountedFile(recipe, opened)


def check_shards(recipe: Recipe, graph: ShardedGraph, compact: bool = False) -> None:
    """Raise InputError if a graph is not the one that its recipe promises."""
    expected = recipe.counts | recipe.answer
    if compact:
        expected.pop("vertices", None)
    counts = {"vertices": graph.num_vertices, "edges": graph.num_arcs // 2}
    for what, count in counts.items():
        if expected.get(what, count) != count:
            raise InputError(
                f"{recipe.path}: promises {expected[what]} {what}, but the graph made "
                f"has {count}. Check that the file is the one it names."
            )
    if not graph.reordered and recipe.uuid not in (None, graph.uuid):
        raise InputError(
            f"{recipe.path}: promises the graph {recipe.uuid}, but {graph.uuid} was "
            "made. Check that the file is the one it names."
        )


class _CountedFile(WrappedEdgeFile):
    """An edge file whose counts must equal its recipe's."""

    def __init__(self, recipe: Recipe, file: EdgeFile) -> None:
        super().__init__(file)
        self.recipe = recipe
        if file.num_vertices is not None:
            self._compare("vertices", file.num_vertices)

    def check_entries(self, count: int) -> None:
        """Raise InputError if the number of arcs differs from the recipe's."""
        super().check_entries(count)
        self._compare("arcs", count)

    def rows(self, first: int, end: int) -> RowPiece | None:
        """Return rows of the file; see `EdgeFile`."""
        return self.file.rows(first, end)

    def _compare(self, what: str, count: int) -> None:
        promised = self.recipe.counts.get(what, count)
        if promised != count:
            raise InputError(
                f"{self.name}: has {count} {what}; the {self.recipe.name} of "
                f"{self.recipe.path} has {promised}. Give the file that the recipe "
                "names."
            )


def _checked(
    path: Path, where: str, table: object, entries: dict[str, type | tuple[type, ...]]
) -> dict[str, object]:
    """Return a table; raise ConfigError for entries that are not as `entries` says.

    They may be unknown, missing or of another type.
    """
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {where}is not a table.")
    known = {entry.rstrip("*"): types for entry, types in entries.items()}
    for name, value in table.items():
        if known and name not in known:
            raise ConfigError(
                f"{path}: {where}{name} is not an entry of a recipe; known: "
                f"{', '.join(known)}."
            )
        if known and (not isinstance(value, known[name]) or isinstance(value, bool)):
            raise ConfigError(f"{path}: {where}{name} = {value!r} has another type.")
    for entry in entries:
        if table and entry.endswith("*") and entry[:-1] not in table:
            raise ConfigError(f"{path}: {where}lacks {entry[:-1]}.")
    return table


def _check_sum(file: Path, budget: Budget, promised: str) -> None:
    digest = hashlib.sha256()
    for piece in unpacked_pieces(file, budget):
        digest.update(piece)
    if digest.hexdigest() != promised:
        raise InputError(
            f"{file}: its contents have SHA-256 {digest.hexdigest()}, not {promised}. "
            "Download it again."
        )
