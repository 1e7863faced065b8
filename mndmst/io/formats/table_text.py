"""The fields of lines: separators, quotes, numbers and decimal marks.

Tabs, semicolons, commas or runs of blanks separate columns. Fields may stand in double
quotes, and a quote in them is doubled. `split_row` splits every line of a table, of
edges or of points; `table_dialect` decides which lines are rows.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ...host.errors import InputError
from ...host.formatting import counted
from .table_columns import EMPTY, NUMBER, TEXT, listed

TAB, SEMICOLON, COMMA, BLANKS = b"\t", b";", b",", b" "
SEPARATORS = (TAB, SEMICOLON, COMMA)  # beside runs of blanks
# First lines that are looked at, beside a header.
SAMPLE_LINES = 200
NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?([0-9]+,[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?")
# The part of a line before a # that is outside quotes and behind a blank
_BEHIND = re.compile(r'((?:"[^"]*"|[^"])*?)[ \t]+#')
WHOLE = re.compile(r"[0-9]+")
_QUOTED = r'"(?:[^"]|"")*"'
# Words of other programs for a missing value.
MISSING = frozenset(("", "na", "nan", "null", "none", "n/a", "#n/a", "inf", "-inf"))


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


def without_comment(line: str, separator: bytes) -> str:
    """Return a line without a comment behind its last field, if that is a number.

    A # behind a blank begins the comment: "0.5 1.5 # c", but not "1,C#".
    """
    if "#" not in line:
        return line
    match = _BEHIND.match(line)
    if match is None:
        return line
    fields = split_line(match[1], separator)  # none where only blanks precede the #
    return match[1] if fields and is_number(fields[-1], separator) else line


def is_number(cell: str, separator: bytes) -> bool:
    """Return whether a field is a number, with a decimal comma between ; or tabs."""
    commas = separator in (SEMICOLON, TAB)
    return bool(NUMERAL.fullmatch(cell) or (commas and COMMA_NUMBER.fullmatch(cell)))


def find_separator(first: bytes, rows: Sequence[bytes]) -> bytes:
    """Return the separator of the columns of a text."""
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


class TextSample(NamedTuple):
    """The fields of a first line, and of lines below it."""

    names: list[str]
    cells: list[list[str]]
    separator: bytes

    @classmethod
    def of(cls, path: object, first: bytes, rows: Sequence[bytes]) -> "TextSample":
        """Split the first lines of a text; refuse ambiguous decimal commas."""
        separator = find_separator(first, rows)
        first, *rows = (
            without_comment(line.decode(errors="replace"), separator).encode()
            for line in (first, *rows)
        )
        _check_decimal_commas(path, first, rows, separator)
        cells = [split_line(row, separator) for row in rows]
        return cls(split_line(first, separator), cells, separator)

    def as_table(
        self, path: object, number: int, rows: Sequence[bytes], headed: bool
    ) -> tuple[list[str], list[list[str]]]:
        """Return the names of columns, and the lines that have all columns.

        Without a header the names are positions, and the first line is a row. A reader
        reports lines of another width, which it finds by their number.
        """
        names, cells = self.names, self.cells
        if not headed:
            names, cells = [str(i + 1) for i in range(len(names))], [names, *cells]
        elif cells and all(len(row) == len(names) + 1 for row in cells):
            names = _with_row_names(path, number, names, rows)
        return names, [row for row in cells if len(row) == len(names)]

    def below(self, names: list[str]) -> "TextSample":
        """Return the sample with other names above it: the first line is a row."""
        return TextSample(names, [self.names, *self.cells], self.separator)


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


def kind_of_cells(
    cells: Iterable[str], is_number: Callable[[str, bytes], bool], separator: bytes
) -> str:
    """Return the kind of the values in a column, of which some may be missing.

    A column with a number is one of numbers: a reader reports the line of another
    value, if the column is read.
    """
    there = [cell for cell in cells if cell.casefold() not in MISSING]
    if not there:
        return EMPTY
    return NUMBER if any(is_number(cell, separator) for cell in there) else TEXT


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


def _unquoted(field: str) -> str:
    if len(field) > 1 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field
