"""The dialect of a table in text: which lines are comments, names of columns, or rows.

One rule for tables of edges and of points. `TableDialect.of` decides it once, from the
first lines of a file, and gives the reason where users need to know it:

1. A line that begins with # or % is a comment. It is refused if it has the form of a
   row, such as #python,#data,3 in a table of names; a row of numbers that is commented
   out is a comment.
2. The first line has the names of columns if `--columns` names them, or if a text in it
   is above a column of numbers.
3. Otherwise a comment above it has the names, if they are known or `--columns` names
   them: "#node1 node2 score", "# id x y".
4. Of a table of texts alone, the first line is an edge if its names recur below as
   ends. It has the names of columns if they are known. If both may be meant, it is
   refused with both remedies.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from ...host.errors import InputError
from .table_columns import NUMBER, known_ends, knows_ends, listed, plain
from .table_text import (
    BLANKS,
    MISSING,
    SEPARATORS,
    WHOLE,
    TextSample,
    kind_of_cells,
    split_line,
)

MARKS = "#%"  # letters that begin a comment
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_REAL = re.compile(r"[+-]?[0-9]+([.,][0-9]*)?([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class TableSubject:
    """The rows of a table, as the rule needs to know them."""

    row: str  # "an edge" or "a point", for messages
    is_number: Callable[[str, bytes], bool]  # of a field and a separator
    knows: Callable[[Sequence[str]], bool]  # whether some names are known
    # Whether a row may have no number, so that a header looks like a row
    texts: bool


@dataclass(frozen=True)
class TableDialect:
    """The separator of a text, the names of its columns, and its kinds of lines."""

    separator: bytes
    # Of all columns; positions from 1 in a text without names
    names: tuple[str, ...]
    kinds: tuple[str, ...]  # of the values in each column
    headed: bool  # whether the columns have names
    first_is_header: bool  # whether the first line has them, and not a comment
    reason: str  # one line that says why the first line is a row, or empty
    cells: list[list[str]]  # of the first rows that have all columns
    subject: TableSubject

    @classmethod
    def of(
        cls,
        path: object,
        comments: Sequence[bytes],
        first: bytes,
        rows: Sequence[bytes],
        picked: Sequence[str],
        subject: TableSubject,
    ) -> "TableDialect":
        """Decide the dialect from the first lines of a file.

        `first` follows the `comments`, and `rows` follow it. `picked` has the names of
        columns that the user gives. Raises InputError if two readings are possible.
        """
        check_not_matrix_market(path, comments[0] if comments else b"")
        number, is_number = len(comments) + 1, subject.is_number
        sample = TextSample.of(path, first, rows)
        separator = sample.separator
        above, names = _names_above(comments, sample, picked, subject)
        if names:
            sample, header, reason = sample.below(names), False, ""
        else:
            header, reason = _judge(path, number, sample, picked, subject)
        headed = header or bool(names)
        names, cells = sample.as_table(path, number, rows, headed)
        kinds = tuple(
            kind_of_cells((row[i] for row in cells), is_number, separator)
            for i in range(len(names))
        )
        dialect = cls(
            separator, tuple(names), kinds, headed, header, reason, cells, subject
        )
        for line, comment in enumerate(comments):
            if line != above:
                where = partial("{}: line {}".format, path, line + 1)
                dialect.check_comment(where, comment.decode(errors="replace"))
        return dialect

    def check_comment(self, where: Callable[[], str], line: str) -> None:
        """Raise InputError at `where` for a comment that has the form of a row."""
        if self.is_like_row(line):
            raise _like_row(where(), line, len(self.names))

    def is_like_row(self, line: str) -> bool:
        """Return whether a line is a comment and has the form of a row."""
        mark = line.lstrip(" \t\r")[:1]
        if not mark or mark not in MARKS:
            return False
        cells = split_line(line, self.separator)
        if len(cells) != len(self.names) or len(cells) < 2:
            return False
        if self.separator == BLANKS and cells[0] in tuple(MARKS):
            return False  # "# 1 2": words behind a mark
        if self.kinds[0] == NUMBER and self._fits(cells[0].lstrip(f" {MARKS}")):
            return False  # a row of numbers that is commented out
        return all(self._fits(cells[i]) for i in self._values)

    @cached_property
    def _values(self) -> list[int]:
        """The columns of numbers that tell a row from names of columns.

        Columns of ends are excluded if others remain: below numbers a name may follow.
        """
        numbers = [i for i, kind in enumerate(self.kinds) if i and kind == NUMBER]
        ends = (known_ends(self.names) or (0, 1)) if self.subject.texts else ()
        return [i for i in numbers if i not in ends] or numbers

    def _fits(self, cell: str) -> bool:
        is_number = self.subject.is_number(cell, self.separator)
        return is_number or cell.casefold() in MISSING


def check_not_matrix_market(path: object, line: bytes) -> None:
    """Refuse a text whose first line says Matrix Market: its sizes look like a row."""
    if line.lower().startswith(b"%%matrixmarket"):
        raise InputError(
            f"{path}: is a Matrix Market file, by its first line. If it is a graph: "
            f"mndmst partition {path} OUT --format mtx. Points and distances are read "
            "from .npy: numpy.save(name, scipy.io.mmread(file))."
        )


def check_comments_alone(path: object, comments: Sequence[bytes]) -> None:
    """Refuse a text of comments alone that have the form of rows: #python,#data,3."""
    for line, comment in enumerate(comments, 1):
        text = comment.decode(errors="replace")
        if text[:1] not in tuple(MARKS) or text[1:2].isspace():
            continue
        for separator in (*SEPARATORS, BLANKS):
            cells = split_line(text, separator)
            wide = len(cells) == 3 if separator == BLANKS else len(cells) > 1
            if wide and all(cells) and _REAL.fullmatch(cells[-1]):
                raise _like_row(f"{path}: line {line}", text, len(cells))


def _like_row(where: str, line: str, width: int) -> InputError:
    return InputError(
        f"{where} begins with {line.lstrip()[:1]} like a comment, but has {width} "
        "columns like a row. Put its first field in quotes, or take the line out."
    )


def _names_above(
    comments: Sequence[bytes],
    sample: TextSample,
    picked: Sequence[str],
    subject: TableSubject,
) -> tuple[int, list[str]]:
    """Return the index of the comment with the column names, and these; -1 for none."""
    first = sample.names
    texts = not any(subject.is_number(cell, sample.separator) for cell in first)
    if _above_numbers(sample, subject) or (
        texts and subject.knows(first) and not _recurring(sample)
    ):
        return -1, []
    for line in reversed(range(len(comments))):
        comment = comments[line]
        text = comment.decode(errors="replace").lstrip(f" {MARKS}")
        # A header of numpy.savetxt has blanks, whatever separates the columns
        for separator in dict.fromkeys((sample.separator, *SEPARATORS, BLANKS)):
            names = split_line(text, separator)
            if len(names) != len(first) or len(names) < 2:
                continue
            if any(subject.is_number(name, separator) for name in names):
                continue
            if _names_all(names, picked) if picked else subject.knows(names):
                return line, names
    return -1, []


def _names_all(names: Sequence[str], picked: Sequence[str]) -> bool:
    """Return whether all columns that a user gives are among some names."""
    return bool(picked) and {plain(n) for n in picked} <= {plain(n) for n in names}


def _judge(
    path: object,
    number: int,
    sample: TextSample,
    picked: Sequence[str],
    subject: TableSubject,
) -> tuple[bool, str]:
    """Return whether the first line has the names of columns, and why it has not."""
    names, _, separator = sample
    numeric = [subject.is_number(name, separator) for name in names]
    # Positions count from 1: "0" is a name, such as pandas gives to columns
    if _names_all(names, picked) and (not all(numeric) or "0" in picked):
        return True, ""
    if all(numeric):
        return not subject.texts and _is_pandas_header(path, sample, picked), ""
    if picked and all(map(WHOLE.fullmatch, picked)):
        return False, ""
    if has_index_header(names) or (
        any(numeric)
        and knows_ends(names, surely=True)
        and _above_numbers(sample, subject)
    ):
        return True, ""
    if any(numeric):
        if not _above_numbers(sample, subject):
            return False, ""
        texts = [n for n, known in zip(names, numeric, strict=True) if not known]
        raise InputError(
            f"{path}: line {number} is neither {subject.row} nor names of columns: "
            f"{listed(texts)} {'is' if len(texts) == 1 else 'are'} not a number, and "
            "the others are. Fix it, or begin it with # if it is a comment."
        )
    if not subject.texts or _above_numbers(sample, subject):
        return True, ""
    return _judge_texts(path, number, sample, subject)


def _judge_texts(
    path: object, number: int, sample: TextSample, subject: TableSubject
) -> tuple[bool, str]:
    """Return whether a first line of texts, above texts, has names of columns."""
    names, cells, _ = sample
    recurring = _recurring(sample)
    wide = len(names) > 2
    surely, known = knows_ends(names, surely=True), subject.knows(names)
    if wide and not (cells or known):
        raise InputError(
            f"{path}: line {number} is not {subject.row}, and none follows it. Fix it, "
            "or begin it with # if it is a comment."
        )
    if wide and (surely or (known and not recurring) or not (known or recurring)):
        return True, ""  # a third column of texts is not a weight
    if recurring and not surely:
        return False, f"line {number} is {subject.row}: {recurring} recurs below"
    shapes = {_shape(cell) for row in cells for cell in row[:2]}
    short = any(len(n) == 1 or _DIGITS.search(n) for n in names)
    alike = short and all(_shape(name) in shapes for name in names)
    if known and not recurring and not alike and (cells or surely):
        return True, ""
    if len(names) < 2:
        return True, ""
    line = " ".join(names[:2])
    why = f", and {recurring} recurs below" if recurring else ""
    raise InputError(
        f"{path}: line {number}, {line}, may be {subject.row} or the names of "
        f"columns{why}. Give --columns source=1,target=2 if it is {subject.row}, or "
        f"--columns source={names[0]},target={names[1]} for names."
    )


def _is_pandas_header(path: object, sample: TextSample, picked: Sequence[str]) -> bool:
    """Return whether a first line 0,1,2 has names that pandas gives to columns."""
    names, cells, separator = sample
    if names != [str(i) for i in range(len(names))] or picked:
        return False
    rows = [cell for row in cells for cell in row]
    if rows and not any(map(_INTEGER.fullmatch, rows)):
        return True
    if len(names) == 1 or not rows:
        return False
    first = separator.decode().join(names)
    positions = ",".join(str(i + 1) for i in range(len(names)))
    raise InputError(
        f"{path}: its first line {first} may be the names that pandas gives to "
        f"columns, or a point. Give --columns {','.join(names)} for names, or "
        f"--columns {positions} for a point."
    )


def has_index_header(names: Sequence[str]) -> bool:
    """Return whether a first line is that of a data frame with numbered columns.

    pandas writes ",0,1,2": the index has no name.
    """
    return names[0] == "" and list(names[1:]) == [str(i) for i in range(len(names) - 1)]


def _above_numbers(sample: TextSample, subject: TableSubject) -> bool:
    """Return whether a text in the first line is above a column of numbers."""
    width = len(sample.names)
    # R leaves out the name of the first column, which has the names of the rows
    skipped = all(len(row) == width + 1 for row in sample.cells)
    rows = [row[skipped:] for row in sample.cells]
    for i, name in enumerate(sample.names):
        below = [row[i] for row in rows if len(row) == width]
        there = [cell for cell in below if cell.casefold() not in MISSING]
        if subject.is_number(name, sample.separator) or not there:
            continue
        if all(subject.is_number(cell, sample.separator) for cell in there):
            return True
    return False


def _recurring(sample: TextSample) -> str:
    """Return a name in the first line that is an end of an edge below, or ""."""
    ends = known_ends(sample.names) or (0, 1)
    below = {row[i] for row in sample.cells for i in ends if i < len(row)}
    return next((sample.names[i] for i in ends if i < len(sample.names)
                 and sample.names[i] and sample.names[i] in below), "")  # fmt: skip


def _shape(text: str) -> str:
    """Return the form of a name: "gene12" and "gene7" are alike, as "A" and "B" are."""
    shape = _DIGITS.sub("0", text)
    if _DIGITS.search(text):
        return shape
    return _LETTERS.sub(lambda run: f"{len(run[0])}{run[0].isupper()}", shape)
