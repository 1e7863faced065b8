"""Batches of changes, as clients send them."""

from typing import Any

import numpy as np

from ..changes.batch import OPERATIONS, Batch
from ..host.errors import InputError
from .uploads import Uploads

# The fields of a request, in the order in which their changes are made
KINDS = {"delete": "delete", "set_weights": "set", "insert": "insert"}


def read_batch(fields: dict[str, Any], uploads: Uploads) -> Batch:
    """Return the changes that a client has sent to this rank.

    Parameters
    ----------
    fields : dict
        Names of uploads, by the kind of change.

    Raises
    ------
    InputError
        If they have not come, or there are none.
    """
    parts: list[tuple[int, np.ndarray, np.ndarray, np.ndarray | None]] = []
    for field, operation in KINDS.items():
        if field not in fields:
            continue
        columns = uploads.take(fields[field]) or {}
        wanted = ["src", "dst"] + ["weight"] * (operation != "delete")
        if list(columns) != wanted:
            raise InputError(
                f"{field}: no upload {fields[field]} of {', '.join(wanted)} has come"
            )
        ends = columns["src"], columns["dst"]
        parts.append((OPERATIONS[operation], *ends, columns.get("weight")))
    if not parts:
        raise InputError(f"no changes: give {', '.join(KINDS)} or some of them")
    kinds = {weight.dtype for *_, weight in parts if weight is not None}
    if len(kinds) > 1:
        names = " and ".join(sorted(kind.name for kind in kinds))
        raise InputError(f"the weights have types {names}; give one for all")
    dtype = kinds.pop() if kinds else np.dtype(np.int32)
    op = [np.full(len(src), number, np.uint8) for number, src, *_ in parts]
    weights = [np.zeros(len(s), dtype) if w is None else w for _, s, _, w in parts]
    src, dst = [part[1] for part in parts], [part[2] for part in parts]
    joined = np.concatenate
    return Batch(joined(op), joined(src), joined(dst), joined(weights))
