"""Expressions of columns give what NumPy gives, and nothing else is accepted."""

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the service needs pyarrow")

from mndmst.host.errors import ConfigError, InputError
from mndmst.service.expression import columns_of, evaluate

A = np.array([1, 2, 3, 40], np.int32)
B = np.array([0.5, 0.25, 4.0, 8.0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ("a + b * 2", A + B * 2),
        ("a / 2", A / 2),
        ("-a - (b - 1)", -A - (B - 1)),
        ("where(a >= 3, b, 0.0)", np.where(A >= 3, B, 0.0)),
        ("max(a, b) + min(a, b)", np.maximum(A, B) + np.minimum(A, B)),
        ("sqrt(b) + exp(log(b)) + abs(-b)", np.sqrt(B) + np.exp(np.log(B)) + B),
        ("floor(b) + ceil(b) + round(b)", np.floor(B) + np.ceil(B) + np.round(B)),
        ("power(b, 2)", B**2),
        ("a < b", A < B),
        ("3", np.full(4, 3)),
    ],
)
def test_values(text: str, expected: np.ndarray) -> None:
    columns = {name: {"a": A, "b": B}[name] for name in columns_of(text)}
    np.testing.assert_array_equal(evaluate(text, columns, 4), expected)


@pytest.mark.parametrize(
    "text",
    [
        "", "a b", "a.b", "a[0]", "a(1)", "__import__('os')", "lambda: a", "a ** 2",
        "a if b else a", "'text'", "True", "None", "a and b", "not a", "1 < a < 3",
        "abs(a, b)", "abs(*a)", "max(a, b=1)", "[a]", "{a}", "f'{a}'", "(a := 1)",
        "a; b", "a\nb", "1" * 30, "(" * 500, "a+" * 400 + "a", "-" * 300 + "a", "1j",
        "await a", "a @ b", "a << 1", "~a", "x" * 1001, "\0",
    ],
)  # fmt: skip
def test_what_is_no_expression_of_columns(text: str) -> None:
    with pytest.raises(ConfigError):
        columns_of(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e300", 1e300),
        ("min(b, 1.7e308)", B),
        ("1e300 * 1e-300", 1.0),
        ("9223372036854775808", 1 << 63),
        ("18446744073709551615", (1 << 64) - 1),
        ("-1e300 * b", -1e300 * B),
        ("0.1e-320 * 0", 0.0),
        ("b * 0 + 1e308", np.full(4, 1e308)),
    ],
)
def test_large_numbers(text: str, value: object) -> None:
    columns = dict.fromkeys(columns_of(text), B)
    found = evaluate(text, columns, 4)
    np.testing.assert_array_equal(found, np.broadcast_to(value, 4))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1e309 * a", "larger than any 64-bit float"),
        ("18446744073709551616", "has more than 64 bits; write it as a float"),
        ("a + " + "9" * 900, "has more than 64 bits"),
        ("a *", r"'a \*' is not an expression of columns: invalid syntax\. Write"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        columns_of(text)


@pytest.mark.parametrize("text", ["a * 2000000000", "abs(a - 2147483647 - 3) * a * a"])
def test_overflow_is_an_error(text: str) -> None:
    large = np.full(4, np.iinfo(np.int64).max // 2)
    with pytest.raises(InputError, match="overflow"):
        evaluate(text, {"a": large}, 4)


def test_types_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="cannot be computed"):
        evaluate("where(a, a, a)", {"a": A}, 4)
