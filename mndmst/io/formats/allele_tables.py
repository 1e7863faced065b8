"""Tables of alleles, as chewBBACA, GrapeTree and ReporTree have them.

A row is a sample, whose name is in the first column, and each other column a locus; the
first line names the loci. In the matrix of such a table

- an allele that is a whole number from 1 on is this number; `INF-12` (newly inferred),
  `*12` and `12.0` are 12;
- an allele that is another text, such as a hash or a base, is a number from 2^52 on, a
  digest of the text that is the same in every table;
- a missing allele is 0: an empty field, 0, negative numbers, `-`, `?` with any text
  behind it, NA and its like, and the classes of chewBBACA without an allele (LNF, ASM).

A table has alleles of one kind. A text among numbers is an error, because it may be a
mark that is unknown here, or the column may not be a locus. Columns of sequence types,
and columns whose names begin with #, as GrapeTree has them, are left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...host.errors import InputError
from ...host.formatting import counted
from ...host.memory import FREE_MEMORY
from ...host.memory_costs import ALLELE_TEXT_BYTES
from ..memory_limit import check_room
from .edge_text import check_letters, check_line_ends
from .packed_files import unpacked_pieces
from .point_columns import is_id
from .table_columns import OPTION, TEXT, listed, plain, position_of, titled
from .table_text import BLANKS, MISSING, SEPARATORS, split_line, split_row
from .typed_tables import ParquetTable

if TYPE_CHECKING:
    import pyarrow

LEAST_TEXT = 1 << 52  # texts are numbers from here to 2^53, which float64 has exactly
_NUMBER = re.compile(r"(?:INF-)?\*?([0-9]+)(?:\.0)?")
_ABSENT = re.compile(
    r"\?.*|-[0-9.]*|\.|n|missing|p?lnf|niph(em)?|plot[35]?|lotsc|asm|alm|pama",
    re.IGNORECASE | re.DOTALL,
)
_FRACTION = re.compile(r"[+-]?[0-9]*\.[0-9]+(e[+-]?[0-9]+)?", re.IGNORECASE)
_WORDS = MISSING - {"inf", "-inf"}
# Names of columns that are not loci, as `plain` returns them
_NO_LOCI = frozenset(("", "st", "stid", "cgst", "clonalcomplex"))
# Names of the column of samples, as `plain` returns them, beside ids
_SAMPLES = frozenset(
    ("", "file", "name", "sample", "strain", "isolate", "genome", "st", "pos")
)
# Marks of missing alleles that the note names
_NOTED_MARKS = 6
_BOM = "\ufeff"


class AlleleTable(NamedTuple):
    """The alleles of samples at loci."""

    alleles: np.ndarray  # float64 [samples, loci]; see above
    samples: list[str]
    id_name: str  # of the column of samples
    loci: tuple[str, ...]
    note: str  # one line that says how it is read


class _Numbers(dict[str, float]):
    """The number of each distinct text of the fields, computed at its first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: dict[int, str] = {}

    def __missing__(self, cell: str) -> float:
        self[cell] = number = float(self._number(cell))
        if len(self).bit_count() == 1:  # each field may have its own hash
            room = 2 * ALLELE_TEXT_BYTES * len(self)
            check_room(FREE_MEMORY, self._path, room, "the list of its alleles")
        return number

    def _number(self, cell: str) -> int:
        match = _NUMBER.fullmatch(cell)
        if match and int(match[1]) < LEAST_TEXT:
            return int(match[1])
        if cell.casefold() in _WORDS or _ABSENT.fullmatch(cell):
            return 0
        digest = int.from_bytes(blake2b(cell.encode(), digest_size=8).digest(), "big")
        number = digest % LEAST_TEXT
        while self._texts.setdefault(number, cell) != cell:  # two texts of one digest
            number = (number + 1) % LEAST_TEXT
        return LEAST_TEXT + number


class _Loci(NamedTuple):
    """The columns of a table of alleles."""

    names: tuple[str, ...]
    columns: list[int]  # of the loci
    left_out: list[str]

    @classmethod
    def of(cls, path: Path, names: Sequence[str], picked: Sequence[str]) -> "_Loci":
        """Choose the loci among named columns; InputError if two have one name.

        `names` has the name of each column but that of the samples, and `picked` the
        loci that the user names.
        """
        if picked:
            columns = [position_of(path, names, OPTION + name, name) for name in picked]
        else:
            columns = [
                i
                for i, name in enumerate(names)
                if not name.startswith("#") and plain(name) not in _NO_LOCI
            ]
        loci = tuple(names[i] for i in columns)
        if not loci:
            raise InputError(f"{path}: has no column of a locus beside the samples.")
        twice = [name for name, count in Counter(loci).items() if count > 1]
        if twice:
            raise InputError(
                f"{path}: two columns are named {titled(twice[0][:60])}. Give each "
                "locus its own name, in a line above the samples."
            )
        kept = set(columns)
        left_out = [name for i, name in enumerate(names) if i not in kept]
        return cls(loci, columns, left_out)


class _Reading:
    """The rows of a table so far, the kind of its alleles, and its missing marks."""

    def __init__(self, path: Path, loci: _Loci, count: int) -> None:
        nbytes = 8 * count * len(loci.names)
        check_room(FREE_MEMORY, path, nbytes, "its alleles")
        self.path, self.loci = path, loci
        self.alleles = np.empty((count, len(loci.names)))
        self.samples: list[str] = []
        self._marks: Counter[str] = Counter()
        self._numbers = _Numbers(path)
        self._texts: bool | None = None  # whether alleles are texts; None: not known

    def add(self, where: Callable[[], str], sample: str, cells: Sequence[str]) -> None:
        """Take a row; `where` names it in messages."""
        row = self.alleles[len(self.samples)]
        row[:] = list(map(self._numbers.__getitem__, cells))
        if not sample:
            raise InputError(f"{where()} has no name of a sample. Give it one.")
        self.samples.append(sample)
        absent = np.flatnonzero(row == 0)
        self._marks.update(cells[i] for i in absent.tolist())
        texts = row >= LEAST_TEXT
        if self._texts is None and len(absent) < len(row):
            self._texts = bool(2 * texts.sum() > len(row) - len(absent))
            given = [cells[i] for i in np.flatnonzero(texts).tolist()]
            fraction = next(filter(_FRACTION.fullmatch, given), None)
            if self._texts and fraction is not None:
                raise InputError(
                    f"{where()} has {fraction[:40]}, and an allele is a whole number "
                    "or a text. Give another metric."
                )
        if texts.any() and not self._texts:
            i = int(texts.argmax())
            raise InputError(
                f'{where()} has "{cells[i][:40]}" at '
                f"{titled(self.loci.names[i][:60])}, and other alleles are numbers. "
                "Write - for a missing allele; if the column is not a locus, name the "
                "loci by --columns."
            )

    def table(self, id_name: str) -> AlleleTable:
        """Return the table; InputError if two samples have one name."""
        twice = [name for name, count in Counter(self.samples).items() if count > 1]
        if twice:
            raise InputError(
                f"{self.path}: two rows are named {titled(twice[0][:60])}. Give each "
                "sample its own name."
            )
        loci = self.loci
        note = f"alleles of {counted(len(self.samples), 'sample')} at "
        note += "1 locus" if len(loci.names) == 1 else f"{len(loci.names):,} loci"
        if self._texts:
            note += ", as texts"
        missing = sum(self._marks.values())
        note += f"; {missing:,} missing"
        if missing:
            marks = [
                f"{mark[:20] or 'empty'} {count:,}"
                for mark, count in self._marks.most_common(_NOTED_MARKS)
            ]
            more = ", ..." if len(self._marks) > _NOTED_MARKS else ""
            note += f" ({', '.join(marks)}{more})"
        if loci.left_out:
            note += f"; left out: {listed(map(titled, loci.left_out))}"
        return AlleleTable(self.alleles, self.samples, id_name, loci.names, note)


def read_allele_text(path: Path, picked: Sequence[str] = ()) -> AlleleTable:
    """Read alleles from a text; InputError names the line and the locus.

    `picked` are the loci; by default all columns that may be one.
    """
    lines = _lines(path)
    first = next(lines, None)
    second = next(lines, None)
    if first is None or second is None:
        raise InputError(f"{path}: holds no samples below the names of loci.")
    check_letters(path, first[1].encode())
    separator = next((mark for mark in SEPARATORS if mark.decode() in first[1]), BLANKS)
    header = split_line(first[1], separator)
    # R names no column of samples
    corner = len(split_line(second[1], separator)) != len(header) + 1
    id_name, names = (header[0], header[1:]) if corner else ("", header)
    loci = _Loci.of(path, names, picked)
    if not picked:
        _check_header(path, id_name, [names[i] for i in loci.columns])
    count = sum(1 for _ in _lines(path)) - 1
    reading = _Reading(path, loci, count)
    columns = [i + 1 for i in loci.columns]
    whole = columns == list(range(1, len(names) + 1))
    for k, (number, line) in enumerate(_lines(path)):
        if k == 0:
            continue

        def where(number: int = number) -> str:
            return f"{path}: line {number}"

        if line.startswith("#"):
            raise InputError(
                f"{where()} begins with #, so it may be a comment or a sample. Leave "
                "it out, or give the sample another name."
            )
        cells = split_row(line, separator, len(names) + 1, where)
        fields = cells[1:] if whole else [cells[i] for i in columns]
        reading.add(where, cells[0], fields)
    return reading.table(id_name.lstrip("#") or "name")


def read_typed_alleles(table: ParquetTable, picked: Sequence[str] = ()) -> AlleleTable:
    """Read alleles from a Parquet or Arrow file; `picked` as in `read_allele_text`."""
    path, columns, count = table.path, table.columns(), sum(table.group_rows)
    named = [i for i, c in enumerate(columns) if c.name.startswith("__index_level_")]
    if not named and (columns[0].kind == TEXT or is_id(columns[0].name)):
        named = [0]
    if not named:
        raise InputError(
            f"{path}: column {titled(columns[0].name)} has no names of samples. Put a "
            "column of texts first."
        )
    others = [i for i in range(len(columns)) if i != named[0]]
    loci = _Loci.of(path, [columns[i].name for i in others], picked)
    reading = _Reading(path, loci, count)
    for first, batch in table.rows(
        0, count, [named[0], *(others[i] for i in loci.columns)]
    ):
        samples, *values = (_texts(column) for column in batch.columns)
        for k, row in enumerate(zip(*values, strict=True)):

            def where(number: int = first + k) -> str:
                return f"{path}: row {number} (from 0)"

            reading.add(where, samples[k], row)
    name = columns[named[0]].name
    return reading.table("name" if name.startswith("__") else name.lstrip("#"))


def _texts(column: "pyarrow.Array") -> list[str]:
    """Return the values of an Arrow column as the fields of a table in text."""
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines, which are not empty, with their numbers from 1 on.

    Comments, which begin with ##, are left out.
    """
    rest, number = b"", 0
    for piece in chain(unpacked_pieces(path, FREE_MEMORY), (b"\n",)):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number += 1
            check_line_ends(path, line)
            text = line.decode("utf-8", "replace").rstrip("\r")
            if number == 1:
                text = text.removeprefix(_BOM)
            if text.strip() and not text.startswith("##"):
                yield number, text


def _check_header(path: Path, id_name: str, names: Sequence[str]) -> None:
    """Refuse a first line that has, or may have, alleles in place of names of loci.

    Ascending numbers may be positions of SNPs, which name loci.
    """
    numbers = [_NUMBER.fullmatch(name) for name in names]
    absent = [_ABSENT.fullmatch(name) is not None for name in names]
    if not all(number or gone for number, gone in zip(numbers, absent, strict=True)):
        return
    positions = [int(number[1]) for number in numbers if number]
    ascend = all(a < b for a, b in pairwise(positions))
    if any(absent) or not ascend:
        raise InputError(
            f"{path}: its first line has alleles. Put a line with the names of the "
            "loci above it."
        )
    if not (id_name.startswith("#") or plain(id_name) in _SAMPLES or is_id(id_name)):
        raise InputError(
            f"{path}: its first line may name loci by numbers, or be the sample "
            f"{titled(id_name[:60])}. Begin it with # if it names loci; else put a "
            "line with their names above it."
        )
