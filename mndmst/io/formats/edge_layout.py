"""The layout of the edges in a text: columns, decimal mark, kind of ends.

`read_layout` decides it from the first lines of a file. `table_dialect` says which
lines are rows, and `table_columns` which columns have the ends and the weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...host.errors import InputError
from .table_columns import (
    LEAST_MATRIX,
    Column,
    ColumnNames,
    TableColumns,
    choose_columns,
    choose_positions,
    knows_ends,
    matrix_advised,
    precomputed_advice,
    titled,
)
from .table_dialect import MARKS, TableDialect, TableSubject
from .table_text import (
    BLANKS,
    MISSING,
    SAMPLE_LINES,
    WHOLE,
    has_decimal_commas,
    is_number,
)

EDGES = TableSubject("an edge", is_number, knows_ends, texts=True)


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
    comments: str = MARKS
    # Of a table, whose comments must not look like rows; None in formats of lists
    dialect: TableDialect | None = None
    prefix: str = ""  # the letter every edge begins with, if any
    base: int = 0  # the number of the first vertex

    @classmethod
    def of_list(
        cls,
        weighted: bool = True,
        comments: str = MARKS,
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
        """Return the form of a line of a list in words, for messages."""
        weighted = self.columns.weight is not None
        words = " ".join(filter(None, (self.prefix, "u v", "w" * weighted)))
        number = " and a number w" * weighted
        first = ", like the first line" * self.mixed
        return f'"{words}" with whole numbers u and v{number}{first}'

    def note(self) -> str:
        """Return one line that says how the text is read."""
        columns, notes = self.columns, []
        if columns.headed or self.mark == "," or columns.wanted != [0, 1, 2]:
            notes.append(columns.text())
        if self.mark == ",":
            notes.append("decimal commas")
        if self.dialect is not None and self.dialect.reason:
            notes.append(self.dialect.reason)
        return "; ".join(notes)


def read_layout(
    path: object,
    comments: Sequence[bytes],
    first: bytes,
    rows: Sequence[bytes],
    picked: ColumnNames,
) -> TextLayout:
    """Decide how a text is read as edges, from its first lines.

    `first` is the first line behind the `comments`; up to `SAMPLE_LINES` rows follow
    it.
    """
    dialect = TableDialect.of(path, comments, first, rows, picked.given(), EDGES)
    columns = list(map(Column, dialect.names, dialect.kinds))
    cells, separator = dialect.cells, dialect.separator
    is_square = not picked and _is_square(path, dialect, len(rows) < SAMPLE_LINES)
    if dialect.headed:
        with matrix_advised(path, is_square):
            chosen = choose_columns(path, columns, picked)
    else:
        _check_integer_header(path, cells, separator, picked)
        chosen = choose_positions(path, columns, picked)
    mark = "."
    if chosen.weight is not None:
        words = (row[chosen.weight] for row in cells)
        where = f"{path}: {chosen.name('weight')}"
        mark = "," if has_decimal_commas(where, words, separator) else "."
    layout = TextLayout(
        chosen,
        separator,
        mark,
        _text_end(cells, chosen),
        dialect.first_is_header,
        dialect=dialect,
    )
    numbers = layout.in_order and layout.text_ends is None
    return replace(layout, mixed=numbers and not dialect.headed)


def _is_square(path: object, dialect: TableDialect, whole: bool) -> bool:
    """Return whether a table may be a square matrix of numbers.

    `whole` says that the sample is all lines. Raises InputError if it certainly is a
    matrix.
    """
    names, cells, headed = list(dialect.names), dialect.cells, dialect.headed
    first = [row[0] for row in cells]
    named = headed and first == names[1 : len(first) + 1]
    skipped = int(named or (headed and not names[0]))
    width, size = len(names) - skipped, len(cells)
    if size < LEAST_MATRIX or width < size or (whole and width > size):
        return False
    words = [[cell.replace(",", ".") for cell in row[skipped:]] for row in cells]
    try:
        rows = [
            [0.0 if word.casefold() in MISSING else float(word) for word in row[:size]]
            for row in words
        ]
    except ValueError:
        return False
    what = ""
    if named:
        what = "looks like a matrix: its rows have the names of its columns"
    elif not (headed and knows_ends(names, surely=True)) and all(
        rows[i][i] == 0 and rows[i][:i] == [row[i] for row in rows[:i]]
        for i in range(size)
    ):
        what = "is a square symmetric matrix with zeros on its diagonal"
    if what:
        source, target, weight = names[skipped : skipped + 3]
        raise InputError(
            f"{path}: {what}, not a list of edges. {precomputed_advice(path)}; if its "
            f"lines are edges, give --columns source={titled(source)},"
            f"target={titled(target)},weight={titled(weight)}."
        )
    return True


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


def _text_end(cells: list[list[str]], columns: TableColumns) -> str | None:
    """Return the first end that is a text, if there is one; None for whole numbers."""
    for row in cells:
        for i in (columns.source, columns.target):
            missing = row[i].casefold() in MISSING
            if not missing and not WHOLE.fullmatch(row[i]):
                return row[i]
    return None
