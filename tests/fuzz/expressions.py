"""Expressions of columns, which clients of a service send."""

import numpy as np

from mndmst.host.errors import MndmstError
from mndmst.service.expression import columns_of, evaluate

from .inputs import check_refusal

COLUMNS = {
    "weight": np.array([3, -1, 2**62], np.int64),
    "length": np.array([0.5, np.inf, 0.0]),
    "lanes": np.array([1, 2, 255], np.uint8),
    "wide": np.array([0, 2**63, 2**64 - 1], np.uint64),
}


def one_input(data: bytes) -> None:
    """Compute weights, one an edge, or refuse the expression."""
    text = data.decode(errors="replace")
    try:
        names = columns_of(text)
        if all(name in COLUMNS for name in names):
            weights = evaluate(text, {name: COLUMNS[name] for name in names}, 3)
            assert weights.shape == (3,) and weights.dtype.kind in "iuf"
    except MndmstError as error:
        check_refusal(error, "")


def seeds() -> list[bytes]:
    """Return an expression for each kind of syntax."""
    texts = (
        "length / lanes", "where(weight < 2, 1.5, -length)", "abs(weight) * 2 + 1",
        "power(length, 2) - sqrt(lanes)", "min(wide, max(weight, 1e3))",
        "round(exp(log(length)))", "floor(length) == ceil(length)", "0x10 + 1_000",
    )  # fmt: skip
    return [text.encode() for text in texts]
