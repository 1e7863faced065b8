"""Numbers of requests and answers: which are accepted, and that all are JSON."""

import json
import math

import numpy as np
import pytest

from mndmst.host.errors import ConfigError
from mndmst.service.loaded_graph import heavier, lighter
from mndmst.service.protocol import (
    ACTIONS,
    QUERY,
    TABLE,
    UPLOAD,
    Request,
    read_request,
    to_bytes,
    to_number,
)

SOLVE = ACTIONS["solve"][1]
WRONG = (
    "NaN", "true", '"1"', '"NaN"', '"inf"', "[1]", "{}", "9" * 400, "-" + "9" * 400,
    str(1 << 64), str(-(1 << 63) - 1),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize(
    "bound",
    [10**17, 10**17 + 1, 2**53 + 1, 10**400, -(10**400), -(10**17) - 1, 2.5, math.inf],
)
def test_weights_are_compared_with_a_bound_of_any_size(
    dtype: type, bound: int | float
) -> None:
    numbers = [0, 2, 3, 2**53, 2**53 + 2, 10**17, 10**17 + 16]
    if dtype == np.uint64:
        weights = np.array(numbers, dtype)
    else:
        weights = np.array([*numbers, -(10**17), -(10**17) - 16], dtype)
    for each in (bound, -bound):
        exact = weights.tolist()
        assert lighter(weights, each).tolist() == [x < each for x in exact]
        assert heavier(weights, each).tolist() == [x > each for x in exact]


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize("name", ["below", "above", "threshold", "min_weight"])
def test_what_is_not_a_number(text: str, name: str) -> None:
    body = f'{{"graph": "g", "table": "labels", "{name}": {text}}}'.encode()
    with pytest.raises(ConfigError, match=rf"{name} is .* give a number, not NaN"):
        read_request("get", body, TABLE)


@pytest.mark.parametrize(
    "text", [*WRONG, "0", "-5", "1.0", "1.5", "1e3", '"Infinity"', str(1 << 63)]
)
@pytest.mark.parametrize("name", ["count", "min_size"])
def test_what_is_not_a_count(text: str, name: str) -> None:
    body = f'{{"graph": "g", "table": "clusters", "{name}": {text}}}'.encode()
    with pytest.raises(ConfigError, match=rf"{name} is .* give an integer from 1"):
        read_request("get", body, TABLE)


def test_more_digits_than_python_reads() -> None:
    with pytest.raises(ConfigError, match=r"solve: .*JSON"):
        read_request("solve", b'{"graph": "g", "below": ' + b"9" * 5000 + b"}", SOLVE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"Infinity"', math.inf), ('"-Infinity"', -math.inf), ("Infinity", math.inf),
        ("1e400", math.inf), ("-1e400", -math.inf), ("5e-324", 5e-324), ("1e-400", 0),
        (str((1 << 64) - 1), (1 << 64) - 1), (str(-(1 << 63)), -(1 << 63)), ("-0", 0),
    ],
)  # fmt: skip
def test_numbers(text: str, value: float) -> None:
    body = f'{{"graph": "g", "below": {text}}}'.encode()
    assert read_request("solve", body, SOLVE)["below"] == value


def test_answers_are_json() -> None:
    numbers = {"a": math.inf, "b": [-math.inf, 1.5], "c": {"d": math.nan}, "e": 2}
    text = to_bytes(numbers).decode()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(text, parse_constant=refuse)
    assert found == {
        "a": "Infinity",
        "b": ["-Infinity", 1.5],
        "c": {"d": "NaN"},
        "e": 2,
    }
    assert to_number(found["a"]) == math.inf
    assert math.isnan(to_number(found["c"]["d"]))
    assert to_number(7) == 7
    assert isinstance(to_number(7), int)


def test_the_types_of_requests_name_the_fields_of_all_tables() -> None:
    tables = [*(fields for _, fields in ACTIONS.values()), UPLOAD, TABLE, QUERY]
    named = {name for fields in tables for name in fields}
    assert {"action", *named} == set(Request.__annotations__)
