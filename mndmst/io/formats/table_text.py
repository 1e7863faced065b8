"""The layout of a table in text: separator, header, kinds of columns, decimal mark.

The layout is decided from the first lines of a file. Tabs, semicolons, commas or runs
of blanks separate columns. Fields may stand in double quotes, and a quote in them is
doubled. `split_row` splits every line of a table, of edges or of points.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...host.errors import InputError
from ...host.formatting import counted
from .table_columns import (
    EMPTY,
    NUMBER,
    TEXT,
    Column,
    ColumnNames,
    TableColumns,
    choose_columns,
    choose_positions,
    knows_ends,
    listed,
    plain,
)

TAB, SEMICOLON, COMMA, BLANKS = b"\t", b";", b",", b" "
# First lines that are looked at, beside a header.
SAMPLE_LINES = 200
NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[0-9]+")
_QUOTED = r'"(?:[^"]|"")*"'
# Words of other programs for a missing value.
MISSING = frozenset(("", "na", "nan", "null", "none", "n/a", "#n/a", "inf", "-inf"))

_CONVERT = (
    "convert it with SciPy: scipy.sparse.save_npz(file, scipy.sparse.csr_array(matrix))"
)


@dataclass(frozen=True)
class TextLayout:
    """The rules by which the lines of a text are read as edges."""

    columns: TableColumns
    separator: bytes = BLANKS  # `TAB`, `SEMICOLON`, `COMMA` or `BLANKS`
    mark: str = "."  # the decimal mark, "." or ","
    # The first end that is not a whole number, if the ends are text
    text_ends: str | None = None
    # Whether the first line names the columns, and is not an edge
    first_is_header: bool = False
    # Whether commas, semicolons and blanks may separate columns in any mixture
    mixed: bool = False
    # Letters that begin a comment; empty lines are passed over, too
    comments: str = "#%"
    prefix: str = ""  # the letter every edge begins with, if any
    base: int = 0  # the number of the first vertex

    @classmethod
    def of_list(
        cls,
        weighted: bool = True,
        comments: str = "#%",
        prefix: str = "",
        base: int = 0,
    ) -> "TextLayout":
        """Return the rules of a format whose lines are `u v` or `u v w`."""
        columns = TableColumns(
            ("u", "v", "w")[: 2 + weighted], 0, 1, 2 if weighted else None, headed=False
        )
        return cls(columns, comments=comments, prefix=prefix, base=base)

    @property
    def in_order(self) -> bool:
        """Whether all columns are read, in their order, as NumPy reads numbers."""
        all_columns = list(range(len(self.columns.names)))
        return self.columns.wanted == all_columns and self.mark == "."

    def form(self) -> str:
        """Return how a line of a list looks, for messages."""
        weighted = self.columns.weight is not None
        words = " ".join(filter(None, (self.prefix, "u v", "w" * weighted)))
        number = " and a number w" * weighted
        first = ", like the first line" * self.mixed
        return f'"{words}" with whole numbers u and v{number}{first}'

    def note(self) -> str:
        """Return one line that says how the text is read."""
        columns = self.columns
        marks = "; decimal commas" if self.mark == "," else ""
        if columns.headed or marks or columns.wanted != [0, 1, 2]:
            return columns.text() + marks
        return ""


def _patterns(separator: bytes) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a field, and of a line whose quotes enclose whole fields."""
    if separator == BLANKS:
        field = rf"{_QUOTED}(?=[ \t\r\n]|\Z)|[^ \t\r\n]+"
        whole = rf'(?:{_QUOTED}|[^" \t\r][^ \t\r]*)(?:[ \t\r]+|\Z)'
        return re.compile(field), re.compile(rf"[ \t\r]*(?:{whole})*")
    mark = separator.decode()
    blanks = "[ \r]*" if separator == TAB else "[ \t\r]*"
    quoted = rf"{blanks}{_QUOTED}{blanks}"
    field = rf"(?:\A|{mark})({quoted}(?={mark}|\Z)|[^{mark}]*)"
    whole = rf'(?:{quoted}|{blanks}(?:[^" \t\r{mark}][^{mark}]*)?)'
    return re.compile(field), re.compile(rf"{whole}(?:{mark}{whole})*")


_PATTERNS = {mark: _patterns(mark) for mark in (TAB, SEMICOLON, COMMA, BLANKS)}


def split_line(line: bytes | str, separator: bytes) -> list[str]:
    """Return the fields of a line, without blanks and quotes around them."""
    text = line if isinstance(line, str) else line.decode(errors="replace")
    if separator != BLANKS and '"' not in text:
        return [field.strip(" \r\n\t") for field in text.split(separator.decode())]
    fields = _PATTERNS[separator][0].findall(text)
    return [_unquoted(field.strip(" \r\n\t")) for field in fields]


def has_width(line: str, separator: bytes, width: int) -> bool:
    """Return whether a line has a number of fields, and quotes enclose whole ones."""
    if '"' in line:
        whole = _PATTERNS[separator][1].fullmatch(line) is not None
        return whole and len(split_line(line, separator)) == width
    if separator == BLANKS:
        return len(line.split()) == width
    return line.count(separator.decode()) == width - 1


def split_row(
    line: str, separator: bytes, width: int, where: Callable[[], str]
) -> list[str]:
    """Return the fields of a row; InputError at `where` for its quotes or its width."""
    cells = split_line(line, separator)
    if '"' in line and not _PATTERNS[separator][1].fullmatch(line):
        if line.count('"') % 2:
            raise InputError(
                f"{where()} has a quote that the line does not close. Write each row "
                "in one line, and double the quotes in a field."
            )
        raise InputError(
            f"{where()} has a quoted field that goes on behind its quote. Double the "
            "quotes in a field."
        )
    if len(cells) != width:
        raise InputError(
            f"{where()} has {counted(len(cells), 'column')}, not {width} as the lines "
            "before. Fix it."
        )
    return cells


def is_number(cell: str, separator: bytes) -> bool:
    """Return whether a field is a number, with a decimal comma between ; or tabs."""
    commas = separator in (SEMICOLON, TAB)
    return bool(NUMERAL.fullmatch(cell) or (commas and COMMA_NUMBER.fullmatch(cell)))


def has_index_header(names: Sequence[str]) -> bool:
    """Return whether a first line is that of a data frame with numbered columns.

    pandas writes ",0,1,2": the index has no name.
    """
    return names[0] == "" and list(names[1:]) == [str(i) for i in range(len(names) - 1)]


def find_separator(first: bytes, rows: Sequence[bytes]) -> bytes:
    """Return which separator the columns of a text have."""
    bare = re.compile(rb'"[^"]*"')
    lines = [bare.sub(b"", line) for line in (first, *rows[:1])]
    for separator in (TAB, SEMICOLON, COMMA):
        if all(separator in line.strip(b"\r\n ") for line in lines):
            return separator
        # Lines of numbers alone may have different separators
        cells = split_line(first, separator)
        if len(cells) > 1 and all(is_number(cell, separator) for cell in cells):
            return separator
    return BLANKS


def read_layout(
    path: object,
    number: int,
    first: bytes,
    rows: Sequence[bytes],
    picked: ColumnNames,
    above: bytes = b"",
) -> TextLayout:
    """Decide how a text is read as edges, from its first lines.

    `first` is the first line that is not a comment, line `number` of the file; up to
    `SAMPLE_LINES` rows follow it. The comment `above` it may name the columns.
    """
    sample = TextSample.of(path, first, rows)
    separator = sample.separator
    names_above = _names_above(above, sample, picked)
    headed = names_above or _is_header(path, number, sample, picked)
    if names_above:
        sample = TextSample(names_above, [sample.names, *sample.cells], separator)
    table = sample.as_table(path, number, rows, bool(headed))
    cells, columns = table.cells, table.columns(table.is_number)
    if not picked:
        _check_matrix(path, table, bool(headed), len(rows) < SAMPLE_LINES)
    if headed:
        chosen = choose_columns(path, columns, picked)
    else:
        _check_integer_header(path, cells, separator, picked)
        chosen = choose_positions(path, columns, picked)
    mark = "."
    if chosen.weight is not None:
        words = (row[chosen.weight] for row in cells)
        where = f"{path}: {chosen.name('weight')}"
        mark = "," if has_decimal_commas(where, words, separator) else "."
    text_end = _text_end(cells, chosen)
    named_below = bool(headed) and not names_above
    layout = TextLayout(chosen, separator, mark, text_end, named_below)
    return replace(layout, mixed=layout.in_order and not headed)


class TextSample(NamedTuple):
    """The fields of a first line, and of lines below it."""

    names: list[str]
    cells: list[list[str]]
    separator: bytes

    @classmethod
    def of(cls, path: object, first: bytes, rows: Sequence[bytes]) -> "TextSample":
        """Split the first lines of a text; refuse ambiguous decimal commas."""
        separator = find_separator(first, rows)
        _check_decimal_commas(path, first, rows, separator)
        cells = [split_line(row, separator) for row in rows]
        return cls(split_line(first, separator), cells, separator)

    def as_table(
        self, path: object, number: int, rows: Sequence[bytes], headed: bool
    ) -> "TextSample":
        """Return the names of columns, and the lines that have all columns.

        Without a header the names are positions, and the first line is a row. A reader
        reports lines of another width, which it finds by their number.
        """
        names, cells = self.names, self.cells
        if not headed:
            names, cells = [str(i + 1) for i in range(len(names))], [names, *cells]
        elif cells and all(len(row) == len(names) + 1 for row in cells):
            names = _with_row_names(path, number, names, rows)
        cells = [row for row in cells if len(row) == len(names)]
        return TextSample(names, cells, self.separator)

    def columns(self, is_number: Callable[[str], bool]) -> list[Column]:
        """Return the names of columns and the kinds of their values."""
        return [
            Column(name, _kind_of((row[i] for row in self.cells), is_number))
            for i, name in enumerate(self.names)
        ]

    def is_number(self, cell: str) -> bool:
        """Return whether a field is a number."""
        return is_number(cell, self.separator)


def _names_above(above: bytes, sample: TextSample, picked: ColumnNames) -> list[str]:
    """Return the names of columns in a comment above the first line, or none.

    STRING and NumPy write them so: "#node1 node2 score".
    """
    names = split_line(above.lstrip(b"#% "), sample.separator)
    given = picked.given()
    known = {plain(name) for name in names}
    numbers = any(is_number(name, sample.separator) for name in names)
    if len(names) != len(sample.names) or numbers or knows_ends(sample.names):
        return []
    if given and not all(plain(name) in known for name in given):
        return []
    return names if given or knows_ends(names) else []


def _is_header(
    path: object, number: int, sample: TextSample, picked: ColumnNames
) -> bool:
    """Return whether the first line has the names of the columns."""
    names, cells, separator = sample
    numeric = [is_number(name, separator) for name in names]
    known = {plain(name) for name in names}
    given = picked.given()
    if given and all(plain(name) in known for name in given):
        # Positions count from 1: "0" is a name, such as pandas gives to columns
        return not all(numeric) or "0" in given
    if all(numeric) or (given and all(map(WHOLE.fullmatch, given))):
        return False
    if not any(numeric) or has_index_header(names) or knows_ends(names, surely=True):
        if not cells and not knows_ends(names):
            raise InputError(
                f"{path}: line {number} is not an edge, and none follows it. Fix it, "
                "or begin it with # if the graph has no edges."
            )
        return True
    if _text_below(numeric, sample):
        return False
    raise InputError(
        f"{path}: line {number} is neither an edge nor names of columns, which "
        "are not numbers. Fix it, or begin it with # if it is a comment."
    )


def _text_below(numeric: list[bool], sample: TextSample) -> bool:
    """Return whether the lines below have text where the first line has it."""
    places = [i for i, number in enumerate(numeric) if not number]
    return bool(sample.cells) and all(
        any(
            i < len(row) and not is_number(row[i], sample.separator)
            for row in sample.cells
        )
        for i in places
    )


def _with_row_names(
    path: object, number: int, names: list[str], rows: Sequence[bytes]
) -> list[str]:
    """Return the names of columns, a first one without a name for R's row names."""
    if all(row.lstrip().startswith(b'"') for row in rows):
        return ["", *names]
    raise InputError(
        f"{path}: line {number} names {len(names)} columns, and the lines below have "
        f"{len(names) + 1}. Give each column a name."
    )


def _kind_of(cells: Iterable[str], is_number: Callable[[str], bool]) -> str:
    """Return the kind of the values in a column, of which some may be missing.

    A column with a number is one of numbers: a reader reports the line of another
    value, if the column is read.
    """
    there = [cell for cell in cells if cell.casefold() not in MISSING]
    if not there:
        return EMPTY
    return NUMBER if any(map(is_number, there)) else TEXT


def _check_decimal_commas(
    path: object, first: bytes, rows: Sequence[bytes], separator: bytes
) -> None:
    """Refuse decimal commas between commas or blanks, where they are ambiguous."""
    if separator in (SEMICOLON, TAB):
        return
    for line in (first, *rows):
        words = split_line(line, BLANKS)
        quoted = separator == COMMA and any(
            COMMA_NUMBER.fullmatch(cell) for cell in split_line(line, COMMA)
        )
        between = len(words) > 1 and all(is_number(word, TAB) for word in words)
        between &= b'"' not in line
        if quoted or (between and any(map(COMMA_NUMBER.fullmatch, words))):
            text = line[:60].decode(errors="replace").strip()
            raise InputError(
                f"{path}: the line '{text}' has decimal commas between "
                f"{'commas' if quoted else 'blanks'}. Separate columns by semicolons "
                "or tabs, or write decimal points."
            )


def _check_matrix(path: object, table: TextSample, headed: bool, whole: bool) -> None:
    """Refuse a square matrix of numbers; `whole` says that the sample is all lines."""
    names, cells = table.names, table.cells
    first = [row[0] for row in cells]
    named = headed and first == names[1 : len(first) + 1]
    skipped = int(named or (headed and not names[0]))
    width, size = len(names) - skipped, len(cells)
    if size < 3 or width < size or (whole and width > size):
        return
    words = [[cell.replace(",", ".") for cell in row[skipped:]] for row in cells]
    try:
        rows = [
            [0.0 if word.casefold() in MISSING else float(word) for word in row[:size]]
            for row in words
        ]
    except ValueError:
        return
    what = ""
    if named:
        what = "looks like a matrix: its rows have the names of its columns"
    elif not (headed and knows_ends(names, surely=True)) and all(
        rows[i][i] == 0 and rows[i][:i] == [row[i] for row in rows[:i]]
        for i in range(size)
    ):
        what = "is a square symmetric matrix with zeros on its diagonal"
    elif headed:
        try:
            choose_columns(path, table.columns(table.is_number))
        except InputError as error:
            raise InputError(
                f"{error} The table looks like a matrix, with as many rows as columns; "
                f"if it is one, {_CONVERT}."
            ) from error
    if what:
        source, target, weight = names[skipped : skipped + 3]
        raise InputError(
            f"{path}: {what}, not a list of edges; {_CONVERT}; or give --columns "
            f"source={source},target={target},weight={weight} if its lines are edges."
        )


def _check_integer_header(
    path: object, cells: list[list[str]], separator: bytes, picked: ColumnNames
) -> None:
    """Refuse a first line 0,1,2 above weights with fractions: names, or an edge."""
    if picked or separator == BLANKS or cells[0] != ["0", "1", "2"] or len(cells) < 2:
        return
    if not any(WHOLE.fullmatch(row[2]) for row in cells[1:]):
        line = separator.decode().join(cells[0])
        raise InputError(
            f"{path}: its first line {line} may be the names that pandas gives to "
            "columns, or the edge 0-1 of weight 2. Give --columns source=0,target=1,"
            "weight=2 for names, or --columns source=1,target=2,weight=3 for an edge."
        )


def has_decimal_commas(where: str, words: Iterable[str], separator: bytes) -> bool:
    """Return whether numbers have decimal commas; `where` names the table or column."""
    if separator not in (SEMICOLON, TAB):
        return False
    words = list(words)
    commas = [word for word in words if COMMA_NUMBER.fullmatch(word)]
    points = [word for word in words if "." in word]
    if commas and points:
        raise InputError(
            f"{where} has decimal commas and decimal points "
            f"({listed([commas[0], points[0]])}). Write all with one of them."
        )
    return bool(commas)


def like_comment(where: str, mark: str, width: int) -> InputError:
    """Return the error for a comment that looks like a row."""
    return InputError(
        f"{where} begins with {mark} like a comment, but has {width} columns like a "
        "row. Put its first field in quotes, or take the line out."
    )


def _text_end(cells: list[list[str]], columns: TableColumns) -> str | None:
    """Return the first end that is a text, if there is one; None for whole numbers."""
    for row in cells:
        for i in (columns.source, columns.target):
            missing = row[i].casefold() in MISSING
            if not missing and not WHOLE.fullmatch(row[i]):
                return row[i]
    return None


def _unquoted(field: str) -> str:
    if len(field) > 1 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field
