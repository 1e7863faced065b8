"""Weights by an expression of columns: parsed here, computed by Arrow.

Numbers, names of columns, ``+ - * /``, comparisons, brackets, and the functions below.
Nothing else is accepted, and nothing is evaluated as Python: the text is only taken
apart by its grammar.
"""

import ast
import math
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..host.errors import ConfigError, InputError, MndmstError, optional
from ..io.edge_file import supported_weights
from .protocol import MOST_INTEGER

if TYPE_CHECKING:
    import pyarrow

    ArrowValue: TypeAlias = pyarrow.ChunkedArray | pyarrow.Scalar

MOST_CHARACTERS, MOST_NODES, DEEPEST = 1000, 200, 40
MOST_SIGNED = (1 << 63) - 1
# Functions of an expression, and Arrow's names of them.
OPERATORS: dict[type, str] = {
    ast.Add: "add_checked", ast.Sub: "subtract_checked",
    ast.Mult: "multiply_checked", ast.Div: "divide", ast.USub: "negate_checked",
    ast.Lt: "less", ast.LtE: "less_equal", ast.Gt: "greater",
    ast.GtE: "greater_equal", ast.Eq: "equal", ast.NotEq: "not_equal",
}  # fmt: skip
FUNCTIONS = {
    "abs": ("abs_checked", 1), "sqrt": ("sqrt", 1), "exp": ("exp", 1),
    "log": ("ln", 1), "floor": ("floor", 1), "ceil": ("ceil", 1),
    "round": ("round", 1), "power": ("power_checked", 2), "where": ("if_else", 3),
    "min": ("min_element_wise", 2), "max": ("max_element_wise", 2),
}  # fmt: skip


def columns_of(text: str) -> list[str]:
    """Return the columns that an expression names, in alphabetical order.

    Raises ConfigError if the text is not such an expression.
    """
    tree = _parsed(text)
    _check(tree, text, DEEPEST)
    nodes = list(ast.walk(tree))
    functions = {node.func for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    return sorted({name.id for name in names if name not in functions})


def evaluate(text: str, columns: Mapping[str, np.ndarray], length: int) -> np.ndarray:
    """Return the `length` weights that an expression gives.

    `columns` has the columns that `columns_of` names. Raises InputError if Arrow cannot
    compute it, or it gives no numbers.
    """
    compute = optional("pyarrow.compute", "serve")
    arrow = optional("pyarrow", "serve")
    tables = {name: arrow.array(column) for name, column in columns.items()}
    try:
        result = _value(_parsed(text), tables, compute)
        if isinstance(result, arrow.Scalar):
            result = arrow.array(np.full(length, result.as_py()))
    except MndmstError:
        raise
    except (arrow.ArrowException, TypeError, ValueError, ArithmeticError) as error:
        why = str(error).splitlines()[0]
        raise InputError(f"{text!r} cannot be computed: {why}") from error
    values = np.asarray(result.to_numpy(zero_copy_only=False))
    return supported_weights(repr(text), values)


def _parsed(text: str) -> ast.expr:
    if len(text) > MOST_CHARACTERS:
        raise ConfigError(f"an expression has at most {MOST_CHARACTERS} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problem = error.msg if isinstance(error, SyntaxError) else error
        raise ConfigError(
            f"{text!r} is not an expression of columns: {problem}. Write one such as "
            "2 * weight + 1."
        ) from error


def _check(node: ast.expr, text: str, depth: int) -> None:
    """Refuse all syntax but expressions of columns."""
    if depth == 0 or sum(1 for _ in ast.walk(node)) > MOST_NODES:
        raise ConfigError(f"{text!r} is too long an expression")
    if isinstance(node, ast.Constant):
        fine = type(node.value) in (int, float)
        if fine:
            _check_number(node.value)
    else:
        fine = isinstance(node, ast.Name) or _operation(node) != ""
    if not fine:
        raise ConfigError(
            f"{ast.unparse(node)!r} has no place in an expression; write numbers, "
            f"columns, + - * / and comparisons, and {', '.join(FUNCTIONS)}"
        )
    for child in _parts(node):
        _check(child, text, depth - 1)


def _check_number(value: object) -> None:
    """Refuse a number that no type of weights has."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError("a number of the expression is larger than any 64-bit float")
    if isinstance(value, int) and value > MOST_INTEGER:
        raise ConfigError(
            f"the integer {str(value)[:40]} of the expression has more than 64 bits; "
            "write it as a float"
        )


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that one is made of."""
    if isinstance(node, ast.Call):
        return list(node.args)
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return [node.operand] if isinstance(node, ast.UnaryOp) else []


def _operation(node: ast.expr) -> str:
    """Return Arrow's function for a node; empty if it may not be written."""
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        function, arguments = FUNCTIONS.get(name, ("", 0))
        return function if len(node.args) == arguments and not node.keywords else ""
    if isinstance(node, ast.Compare):
        return OPERATORS.get(type(node.ops[0]), "") if len(node.ops) == 1 else ""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return OPERATORS.get(type(node.op), "")
    return ""


def _value(
    node: ast.expr, columns: Mapping[str, "ArrowValue"], compute: ModuleType
) -> "ArrowValue":
    """Return the value of an expression that has been checked."""
    if isinstance(node, ast.Name):
        return columns[node.id]
    if isinstance(node, ast.Constant):
        arrow = optional("pyarrow", "serve")
        wide = isinstance(node.value, int) and node.value > MOST_SIGNED
        return arrow.scalar(node.value, arrow.uint64() if wide else None)
    name = _operation(node)
    parts = [_value(part, columns, compute) for part in _parts(node)]
    if name == "divide":  # of integers Arrow would give an integer
        parts[0] = compute.cast(parts[0], "float64")
    return getattr(compute, name)(*parts)
