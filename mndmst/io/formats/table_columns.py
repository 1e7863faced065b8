"""The choice of the ends and the weight of an edge table: one rule for all formats.

The rule looks at the names of the columns and at the kinds of their values, never at
their order. CSV, TSV and other text, Parquet, Arrow and JSON use it alike:

1. `--columns source=A,target=B,weight=C` decides for the roles that it names.
2. The ends are the columns with a known pair of names, such as source and target.
3. The weight is the column of numbers with a known name, such as length. Ids, keys and
   index columns are never ends or weights.
4. All weights are 1 only if no further column holds numbers.

Two candidates for a role, or none, are an error that lists the columns: a wrong guess
would give a wrong forest in silence.

A text without names has the ends in columns 1 and 2 and the weight in column 3, and
no further column unless `--columns source=1,target=2,weight=3` says their positions.

The functions are pure: no file is read here. Readers describe their columns as
`Column`, and take the columns at the positions of `TableColumns`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from ...host.errors import ConfigError, InputError
from ...host.formatting import counted

# Kinds of values. VECTOR are lists of numbers; OTHER are booleans, dates and other
# nested values; EMPTY has no values.
NUMBER, TEXT, VECTOR, OTHER, EMPTY = "number", "text", "vector", "other", "empty"
ROLES = ("source", "target", "weight")
# Rows of a square table that is taken for a matrix, at least.
LEAST_MATRIX = 3
# Names in messages; a wide table has hundreds of columns.
_MOST_NAMES = 12

# Known names, without case, blanks, "_", "-", "." and ":". The common pairs of ends
# come first; the vague ones count only where no common one is there.
_COMMON_PAIRS = (
    ("source", "target"), ("src", "dst"), ("src", "dest"), ("src", "tgt"),
    ("src", "trg"), ("src", "target"), ("source", "destination"), ("source", "dest"),
    ("source", "sink"), ("origin", "destination"), ("origin", "dest"),
    ("orig", "dest"), ("from", "to"), ("u", "v"), ("tail", "head"), ("vi", "vj"),
    ("tf", "target"), ("regulator", "target"), ("ref", "query"),
    ("reference", "query"), ("query", "target"), ("query", "subject"),
)  # fmt: skip
_VAGUE_PAIRS = (
    ("start", "end"), ("begin", "end"), ("i", "j"), ("row", "col"), ("row", "column"),
    ("rows", "cols"), ("a", "b"),
)  # fmt: skip
# Nouns that vertices go by: from_node and to_node, node1 and node2, nodeid_a, ...
_NOUNS = (
    "id", "node", "nodeid", "nodes", "vertex", "vertexid", "vertices", "v", "n",
    "point", "person", "user", "member", "author", "entity", "object", "item",
    "protein", "gene", "city", "place", "station", "stop", "var", "index", "idx",
    "name", "label", "osm", "osmid", "bus", "cell",
)  # fmt: skip
_NUMBERED = (("1", "2"), ("a", "b"), ("0", "1"), ("u", "v"), ("i", "j"))

_LENGTHS = ("length", "len", "distance", "dist", "cost", "time", "traveltime",
            "duration")  # fmt: skip
_UNITS = ("", "m", "km", "mi", "ft", "miles", "meters", "metres", "s", "sec", "secs",
          "seconds", "min", "mins", "minutes", "h", "hours")  # fmt: skip
# Units that name a weight alone; "m", "h" and "min" are too vague.
_UNITS_ALONE = ("km", "kilometers", "kilometres", "miles", "meters", "metres",
                "seconds", "minutes", "hours")  # fmt: skip
# A larger value means nearer.
SIMILARITIES = frozenset(
    ("similarity", "sim", "cosinesimilarity", "correlation", "corr", "affinity",
     "strength", "proximity", "jaccard", "score", "combinedscore")
)  # fmt: skip
WEIGHTS = frozenset(
    ("weight", "weights", "w", "wt", "wgt", "edgeweight", "costs", "lengths",
     "distances", "shapelength", "shapeleng", "value", "val", "data",
     "dissimilarity", *_UNITS_ALONE, *SIMILARITIES)
) | {name + unit for name in _LENGTHS for unit in _UNITS}  # fmt: skip
# Never ends or weights, whatever they hold.
_IGNORED = frozenset(
    ("", "id", "ids", "key", "keys", "index", "idx", "edge", "edges", "edgeid",
     "edgekey", "edgeindex", "eid", "fid", "gid", "oid", "objectid", "ogcfid", "osmid",
     "wayid", "osmwayid", "linkid", "arcid", "rowid", "rownum", "rownames", "no", "nr",
     "label", "labels", "type", "name", "oneway", "reversed", "ref")
)  # fmt: skip
_IGNORED_PATTERN = re.compile(r"unnamed\d*|indexlevel\d+|level\d+|reversecost\w*")
_REVERSE = "reversecost"
_UNIT_IN_BRACKETS = re.compile(r"\(.*?\)|\[.*?\]")
# Neo4j's "weight:float"
_TYPE_BEHIND = re.compile(
    r"(?<=.):(int|long|short|byte|float|double|string|boolean|date\w*|time)(\[\])?$"
)


def _with_nouns() -> list[tuple[str, str]]:
    """Return pairs such as from_node and to_node, node_source and node_target, node1
    and node2, A_NODE and B_NODE.
    """
    pairs = [("a" + noun, "b" + noun) for noun in _NOUNS if len(noun) > 1]
    ends = (("start", "end"), ("begin", "end"), ("init", "term"))
    for first, second in (*_COMMON_PAIRS, *ends):
        if len(first) > 2:  # "u" and "v" have no nouns
            for noun in _NOUNS:
                pairs.append((first + noun, second + noun))
                pairs.append((noun + first, noun + second))
    return pairs + [(noun + a, noun + b) for a, b in _NUMBERED for noun in _NOUNS]


# Each kind of pairs counts only where none of the kinds before it is there.
_KINDS_OF_PAIRS = (_COMMON_PAIRS, tuple(dict.fromkeys(_with_nouns())), _VAGUE_PAIRS)


# The command's option for names of columns, as messages have it before a name.
OPTION = "--columns "


class Column(NamedTuple):
    """A column of a table."""

    name: str  # as the table has it; in a text without names its position, from 1
    kind: str  # `NUMBER`, `TEXT`, `VECTOR`, `OTHER` or `EMPTY`


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a user names, one for each role; None leaves it to the rule."""

    # Names, or positions from 1 in a text without names. An empty `weight` gives every
    # edge weight 1.
    source: str | None = None
    target: str | None = None
    weight: str | None = None
    # What precedes a name in messages: the command's option, or nothing, where names
    # are arguments of a function
    option: str = field(default=OPTION, compare=False)

    @classmethod
    def of(
        cls, given: "str | Mapping[str, object] | ColumnNames | None"
    ) -> "ColumnNames":
        """Return the names that `source=A,target=B,weight=C` or a mapping gives."""
        if given is None or isinstance(given, ColumnNames):
            return given or cls()
        form = "give source=A,target=B,weight=C, or some of these"
        if isinstance(given, str):
            words = re.split(r",(?=\s*\w+\s*=)", given)
            pairs = [word.partition("=") for word in words]
            if not all(sign for _, sign, _ in pairs):
                raise ConfigError(f"--columns {given}: {form}.")
            named = [(role.strip().lower(), name.strip()) for role, _, name in pairs]
        elif isinstance(given, Mapping):
            named = [
                (str(role), "" if name is None else str(name))
                for role, name in given.items()
            ]
        else:
            raise ConfigError(f"columns has type {type(given).__name__}: {form}.")
        roles = [role for role, _ in named]
        if not set(roles) <= set(ROLES) or len(set(roles)) < len(roles):
            raise ConfigError(f"--columns {given}: {form}.")
        empty = [role for role, name in named if not name and role != "weight"]
        if empty:
            raise ConfigError(f"--columns {given}: {empty[0]} names no column; {form}.")
        return cls(**dict(named))

    def roles(self) -> dict[str, str | None]:
        """Return the name for each role."""
        return {"source": self.source, "target": self.target, "weight": self.weight}

    def given(self) -> list[str]:
        """Return the names that the user gives."""
        return [name for name in self.roles().values() if name]

    def __bool__(self) -> bool:
        return self != ColumnNames()


@dataclass(frozen=True)
class TableColumns:
    """The columns with the ends and the weight of each edge."""

    names: tuple[str, ...]  # of all columns; positions from 1 in a text without names
    # Positions from 0
    source: int
    target: int
    weight: int | None  # None if every edge has weight 1
    headed: bool = True  # whether the table names its columns
    weight_picked: bool = False  # whether the user has named the weight

    def check_costs(self, table: object, weight: np.ndarray) -> None:
        """Refuse negative costs beside costs of the other direction."""
        if self.weight_picked or self.weight is None or not len(weight):
            return
        if weight.min() < 0 and any(map(is_reverse_cost, self.names)):
            name = self.names[self.weight]
            raise InputError(
                f"{table}: {name} has the value {weight.min()}, and a negative cost "
                "beside a reverse cost says that the edge is closed in this direction. "
                "Write the cost of an open direction there, or give --columns "
                f"weight={name} if the value is meant."
            )

    @property
    def wanted(self) -> list[int]:
        """Positions of the columns to read: source, target and perhaps weight."""
        ends = [self.source, self.target]
        return ends if self.weight is None else [*ends, self.weight]

    def name(self, role: str) -> str:
        """Return the name of the column of a role for messages: "column length"."""
        position = self.wanted[ROLES.index(role)]
        return f"column {self.names[position] or 'without a name'}"

    @property
    def weight_name(self) -> str:
        """The name of the column of weights; empty if it has none."""
        return (
            self.names[self.weight] if self.headed and self.weight is not None else ""
        )

    def text(self) -> str:
        """Return one line that says which columns are read, and which are left out."""
        weight = "1 for every edge"
        if self.weight is not None:
            weight = titled(self.names[self.weight])
        line = (
            f"source: {titled(self.names[self.source])}, "
            f"target: {titled(self.names[self.target])}, weight: {weight}"
        )
        left_out = [
            titled(name) + " (edges have no direction)" * is_reverse_cost(name)
            for i, name in enumerate(self.names)
            if i not in self.wanted
        ]
        return line + (f"; left out: {listed(left_out)}" if left_out else "")


def plain(name: str) -> str:
    """Return a column's name as the lists of known names have it."""
    name = name.strip().strip("\"'").strip().lstrip("#").casefold()
    name = _UNIT_IN_BRACKETS.sub("", _TYPE_BEHIND.sub("", name))
    return re.sub(r"[\s_\-.:]+", "", name)


def titled(name: str) -> str:
    """Return a column's name for messages."""
    return name if name.strip() else "(without a name)"


def listed(names: Iterable[str]) -> str:
    """Return names for a message, the first ones if they are many."""
    names = list(names)
    text = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return text + (f" and {more} more" if more > 0 else "")


def is_similarity(name: str) -> bool:
    """Return whether a column's name says that a larger value means nearer."""
    return plain(name) in SIMILARITIES


def ask_direction(where: str, weight_name: str) -> None:
    """Refuse weights named as a similarity, for a command without a direction.

    Raises ConfigError, which begins with `where` and names both options.
    """
    if is_similarity(weight_name):
        raise ConfigError(
            f"{where}: the weight is {weight_name}. Give --maximum if a larger value "
            "means nearer, or --minimum if a smaller value does."
        )


def is_reverse_cost(name: str) -> bool:
    """Return whether a column has pgRouting's costs of the other direction."""
    return plain(name).startswith(_REVERSE)


def is_ignored(name: str) -> bool:
    """Return whether a column is an id, a key, an index or another mark of edges."""
    word = plain(name)
    return word in _IGNORED or _IGNORED_PATTERN.fullmatch(word) is not None


def knows_ends(names: Sequence[str], surely: bool = False) -> bool:
    """Return whether some names are known for ends; `surely` for nothing else."""
    kinds = _KINDS_OF_PAIRS[:1] if surely else _KINDS_OF_PAIRS
    return bool(_ends_of(list(map(plain, names)), kinds))


def known_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the positions of the first pair of names that are known for ends."""
    return next(iter(_ends_of(list(map(plain, names)))), None)


def choose_columns(
    table: object, columns: Sequence[Column], picked: ColumnNames | None = None
) -> TableColumns:
    """Return the columns of the ends and the weight of a table that names them.

    It is an InputError if the rule finds no ends, two candidates for a role, a weight
    that does not hold numbers, or numbers of no known meaning and no weight.
    """
    picked = ColumnNames() if picked is None else picked
    names = tuple(column.name for column in columns)
    given = {
        role: position_of(table, names, f"{picked.option}{role}={name}", name)
        for role, name in picked.roles().items()
        if name
    }
    if len(set(given.values())) < len(given):
        raise ConfigError(
            f"{table}: one column is named for two roles. Name one for each."
        )
    source, target = _choose_ends(table, columns, given, picked.option)
    weight = choose_weight(
        table, columns, {source, target}, picked.weight, picked.option
    )
    weight_picked = picked.weight is not None
    return TableColumns(names, source, target, weight, weight_picked=weight_picked)


@contextmanager
def matrix_advised(path: object, is_square: bool) -> Iterator[None]:
    """Add the remedy for a matrix to an InputError of a square table of numbers."""
    try:
        yield
    except InputError as error:
        if is_square:
            error.remedy = (
                "The table looks like a matrix, with as many rows as columns. "
                f"{precomputed_advice(path)}."
            )
        raise


def precomputed_advice(path: object) -> str:
    """Return the remedy for a matrix; a sparse one would lose distances of 0."""
    return (
        f"If it holds distances: mndmst solve {path} --metric precomputed (or linkage, "
        "hdbscan; for correlations --from correlation, too)"
    )


def check_no_columns(table: object, picked: ColumnNames | None) -> None:
    """Raise ConfigError if columns are named of a file that is not a table."""
    if picked:
        raise ConfigError(
            f"--columns goes with tables of edges, and {table} is not a table. Leave "
            "it out."
        )


def choose_positions(
    table: object, columns: Sequence[Column], picked: ColumnNames | None = None
) -> TableColumns:
    """Return the columns of the ends and the weight of a text without names."""
    picked = ColumnNames() if picked is None else picked
    names = tuple(column.name for column in columns)
    count = len(names)
    if count < 2:
        raise InputError(
            f"{table}: its lines have one column, and an edge has two ends. Give lines "
            '"u v" or "u v w", or --format if it is another format.'
        )
    if count > 3 and (picked.source is None or picked.target is None):
        raise InputError(
            f"{table}: its lines have {count} columns without names, so that it may be "
            "a matrix, or the weight any of them. Say where the ends and the weight "
            "are: --columns source=1,target=2,weight=3."
        )
    given: dict[str, int | None] = {
        role: position_of(table, names, f"{picked.option}{role}={name}", name)
        if name
        else None
        for role, name in picked.roles().items()
        if name is not None
    }
    defaults = {"source": 0, "target": 1, "weight": 2 if count == 3 else None}
    assigned = {**defaults, **given}
    source, target, weight = assigned.values()
    if picked.weight is None and count > 3:
        rest = [c for i, c in enumerate(columns) if i not in (source, target)]
        numbers = [column.name for column in rest if column.kind == NUMBER]
        if numbers:
            raise InputError(
                f"{table}: numbers are in {counted(len(numbers), 'further column')}: "
                f"{listed(numbers)}. Say which is the weight: add weight="
                f"{numbers[0]} to --columns, or weight= for weight 1."
            )
    chosen = [position for position in assigned.values() if position is not None]
    if source is None or target is None or len(set(chosen)) < len(chosen):
        raise ConfigError(
            f"{table}: one column is named for two roles; without names the ends are "
            "columns 1 and 2, and the weight column 3."
        )
    if weight is not None:
        _check_numbers(table, columns[weight])
    return TableColumns(names, source, target, weight, headed=False)


def choose_weight(
    table: object,
    columns: Sequence[Column],
    taken: Iterable[int] = (),
    picked: str | None = None,
    option: str = OPTION,
) -> int | None:
    """Return the column of the weights; None if weights are 1.

    `taken` columns have another role. `picked` is the user's name; "" for weight 1.
    `option` precedes a name in messages; see `ColumnNames`.
    """
    if picked is not None:
        if not picked:
            return None
        names = [column.name for column in columns]
        position = position_of(table, names, f"{option}weight={picked}", picked)
        _check_numbers(table, columns[position], option)
        return position
    taken = set(taken)
    free = [
        i
        for i, column in enumerate(columns)
        if i not in taken and not is_ignored(column.name)
    ]
    known = [i for i in free if plain(columns[i].name) in WEIGHTS]
    numbers = [i for i in known if columns[i].kind == NUMBER]
    if len(numbers) > 1:
        names = [columns[i].name for i in numbers]
        _check_distinct(table, names)
        raise InputError(
            f"{table}: each of {listed(names)} may be the weight. Name one: "
            f"{named_weight(option, names[0])} (columns: {_listed_columns(columns)})."
        )
    if numbers:
        return numbers[0]
    if known:  # a reader reports the first row without a value
        _check_numbers(table, columns[known[0]], option)
        return known[0]
    others = [columns[i].name for i in free if columns[i].kind == NUMBER]
    if others:
        raise InputError(
            f"{table}: no column has a known name of a weight, and {listed(others)} "
            f"hold{'s' * (len(others) == 1)} numbers. Name the weight: "
            f"{named_weight(option, others[0])}, or {named_weight(option)} for weight "
            f"1 (columns: {_listed_columns(columns)})."
        )
    return None


def named_weight(option: str, name: str = "") -> str:
    """Return how a user names the weight: by the option, or as an argument."""
    return f"{option}weight={name if option else repr(name)}"


def _choose_ends(
    table: object, columns: Sequence[Column], given: dict[str, int], option: str
) -> tuple[int, int]:
    """Return the columns of the two ends, those first that the user has named."""
    if "source" in given and "target" in given:
        return given["source"], given["target"]
    words = [plain(column.name) for column in columns]
    if "weight" in given:
        words[given["weight"]] = ""
    pairs = _ends_of(words)
    position = given.get("source", given.get("target"))
    if position is not None:
        pairs = [pair for pair in pairs if position in pair]
    if len(pairs) == 1:
        first, second = pairs[0]
        if given.get("source") == second or given.get("target") == first:
            return second, first
        return first, second
    names = [column.name for column in columns]
    example = f"{option}source=A,target=B,weight=C"
    if not pairs:
        raise InputError(
            f"{table}: no two columns have known names of the ends of edges, such as "
            f"source and target. Name them: {example} (columns: "
            f"{_listed_columns(columns)})."
        )
    _check_distinct(table, [names[i] for i in sorted({i for p in pairs for i in p})])
    both = " or ".join(f"{names[u]} and {names[v]}" for u, v in pairs[:3])
    raise InputError(
        f"{table}: the ends may be {both}. Name them: "
        f"{option}source={names[pairs[0][0]]},target={names[pairs[0][1]]} (columns: "
        f"{_listed_columns(columns)})."
    )


def _ends_of(
    words: Sequence[str], kinds: Sequence[Sequence[tuple[str, str]]] = _KINDS_OF_PAIRS
) -> list[tuple[int, int]]:
    """Return the positions of all pairs of known names, of the most common kind."""
    positions: dict[str, list[int]] = {}
    for i, word in enumerate(words):
        positions.setdefault(word, []).append(i)
    for known in kinds:
        pairs = [
            pair
            for first, second in known
            for pair in product(positions.get(first, ()), positions.get(second, ()))
        ]
        if pairs:
            return list(dict.fromkeys(pairs))
    return []


def position_of(table: object, names: Sequence[str], option: str, name: str) -> int:
    """Return the column that a user names; `option` shows the name in messages."""
    wanted = name.strip().strip('"')
    exact = [i for i, known in enumerate(names) if known.strip() == wanted]
    matches = exact or [i for i, k in enumerate(names) if plain(k) == plain(wanted)]
    if len(matches) != 1:
        has = f"has no such column; it has {listed(map(titled, names))}"
        if matches:
            has = "has several columns of that name; rename all but one"
        raise ConfigError(f"{option}: {table} {has}.")
    return matches[0]


def _check_distinct(table: object, names: Sequence[str]) -> None:
    """Raise an InputError if two candidates share a name, so none can be named."""
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"{table}: several columns are named {titled(name)}. Rename all but "
                "one."
            )


def _check_numbers(table: object, column: Column, option: str = OPTION) -> None:
    if column.kind not in (NUMBER, EMPTY):
        raise InputError(
            f"{table}: column {titled(column.name)} is the weight, but does not hold "
            f"numbers. Name another with {named_weight(option, 'C')}, or "
            f"{named_weight(option)} for weight 1."
        )


def _listed_columns(columns: Sequence[Column]) -> str:
    return listed(
        titled(column.name) + (f" ({column.kind})" if column.kind != NUMBER else "")
        for column in columns
    )
