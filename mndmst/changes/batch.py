"""A batch of changes, and its net effect on each edge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..graph.order import weights_to_keys
from ..host.errors import InputError
from ..io.names import NameSource, shown_edge
from ..kernels.kruskal import HALF

DELETE, INSERT, SET = 0, 1, 2
OPERATIONS = {"delete": DELETE, "insert": INSERT, "set": SET}


@dataclass(frozen=True)
class Batch:
    """Changes of a graph, of which all are made or none.

    Changes of the same edge are made one after the other. A batch is refused if it
    inserts an edge that exists, deletes or weighs an edge that does not exist, or has a
    self-loop or a weight of NaN. Parallel edges are one edge: a deletion or a new
    weight removes all of them.
    """

    op: np.ndarray  # DELETE, INSERT and SET, shape (changes,), or one for all
    # integers, shape (changes,): ends, in any direction.
    src: np.ndarray
    dst: np.ndarray
    # numbers, shape (changes,), optional; ignored for deletions
    weight: np.ndarray | None = None
    source: str = "the batch"  # The origin of the changes, for errors
    # The number of each change in errors; by default its position.
    lines: Sequence[int] | None = None
    noun: str = "change"  # The noun for a change in the source
    names: NameSource | None = None  # Of the vertices, for errors

    def edge(self, pair: int) -> str:
        """Return the ends of an edge, both in a word, for errors."""
        low, high = pair >> int(HALF), pair & ((1 << int(HALF)) - 1)
        return shown_edge(low, high, self.names)

    def where(self, change: int) -> str:
        """Return the source and number of a change, for errors."""
        number = change if self.lines is None else self.lines[change]
        return f"{self.source}: {self.noun} {number}"


class NetChanges(NamedTuple):
    """The net change of each edge that a batch names, in the order of pairs."""

    # uint64: both ends in a word, the smaller one above; ascending, none twice.
    pair: np.ndarray
    # uint32 or uint64: the key of the final weight, if the edge exists afterwards
    key: np.ndarray
    # bool: whether the edge must exist before the batch, and exists afterwards
    before: np.ndarray
    after: np.ndarray
    change: np.ndarray  # int64: the first change of the batch that names the edge


def net_changes(
    batch: Batch, num_vertices: int, weight_dtype: np.dtype, maximum: bool = False
) -> NetChanges:
    """Return the net change of each edge. With `maximum` keys descend with weights.

    Raises InputError for the first change that is impossible in any graph with this
    number of vertices, such as two insertions of one edge.
    """
    src, dst = _ends(batch, batch.src), _ends(batch, batch.dst)
    op = np.asarray(batch.op, np.uint8)
    op = np.broadcast_to(op, len(src)) if op.ndim == 0 else op
    key = weights_to_keys(_weights(batch, op, weight_dtype), maximum)
    if not len(src) == len(dst) == len(op) == len(key):
        raise InputError(
            f"{batch.source}: has {len(op):,} operations, {len(src):,} sources, "
            f"{len(dst):,} targets and {len(key):,} weights. Give one of each for "
            "every change."
        )
    _check_ends(batch, src, dst, num_vertices)
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    pair = low.astype(np.uint64) << HALF | high.astype(np.uint64)
    order = np.argsort(pair, kind="stable")
    pair, op, key = pair[order], op[order], key[order]
    first = np.r_[True, pair[1:] != pair[:-1]][: len(pair)]
    _check_sequence(batch, order, first, op, pair)
    begin = np.flatnonzero(first)
    last = np.r_[begin[1:], len(pair)][: len(begin)] - 1
    before, after = op[begin] != INSERT, op[last] != DELETE
    return NetChanges(pair[begin], key[last], before, after, order[begin])


def _ends(batch: Batch, values: np.ndarray) -> np.ndarray:
    ends = np.atleast_1d(np.asarray(values))
    if len(ends) == 0:
        return np.empty(0, np.int64)
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise InputError(
            f"{batch.source}: ends have type {ends.dtype} and shape {ends.shape}. "
            "Give integers, of one dimension."
        )
    return ends


def _check_ends(
    batch: Batch, src: np.ndarray, dst: np.ndarray, num_vertices: int
) -> None:
    wrong = (src < 0) | (src >= num_vertices) | (dst < 0) | (dst >= num_vertices)
    wrong |= src == dst
    if not wrong.any():
        return
    change = int(wrong.argmax())
    ends = f"({src[change]}, {dst[change]})"
    reason = "is a self-loop, which no forest has"
    if src[change] == dst[change] and 0 <= src[change] < num_vertices:
        ends = shown_edge(int(src[change]), int(dst[change]), batch.names)
    elif src[change] != dst[change]:
        in_graph = 0 <= src[change] < num_vertices
        vertex = dst[change] if in_graph else src[change]
        reason = f"names vertex {vertex}, but ids run from 0 to {num_vertices - 1}"
        if num_vertices == 0:
            reason = f"names vertex {vertex}, but the graph has no vertices"
    raise InputError(f"{batch.where(change)}: {ends} {reason}. Leave it out.")


def _check_sequence(
    batch: Batch, order: np.ndarray, first: np.ndarray, op: np.ndarray, pair: np.ndarray
) -> None:
    """Refuse changes that earlier changes of the batch make impossible."""
    exists = op[:-1] != DELETE
    wrong = ~first[1:] & (exists == (op[1:] == INSERT))
    if wrong.any():
        positions = 1 + np.flatnonzero(wrong)
        at = int(positions[order[positions].argmin()])
        raise impossible(batch, int(order[at]), int(pair[at]), op[at] != INSERT)


def impossible(batch: Batch, change: int, pair: int, missing: bool) -> InputError:
    """Return the error for a change of a missing edge, or the insertion of another."""
    where, edge = batch.where(change), batch.edge(pair)
    if missing:
        return InputError(
            f"{where}: there is no edge {edge} to delete or to set. Leave the change "
            "out, or insert the edge."
        )
    return InputError(
        f"{where}: the edge {edge} is there already, and cannot be inserted. Set its "
        "weight instead."
    )


def _weights(batch: Batch, op: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return the weights of changes as a type; weights of deletions are arbitrary."""
    if batch.weight is None:
        if (op != DELETE).any():
            raise InputError(
                f"{batch.source}: has no weights. Give one for every edge that is "
                "inserted or set."
            )
        return np.zeros(len(op), dtype)
    given = np.atleast_1d(np.asarray(batch.weight))
    if given.dtype.kind not in "biuf" and len(given):
        raise InputError(
            f"{batch.source}: weights have type {given.dtype}. Give numbers."
        )
    read = op != DELETE if len(op) == len(given) else np.ones(len(given), np.bool_)
    used = np.where(read, given, np.zeros(1, given.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        converted = used.astype(dtype)
    wrong = used != used
    if dtype.kind == "f" and used.dtype.kind == "f":
        wrong |= np.isinf(converted) & ~np.isinf(used)
    elif dtype.kind == "f":
        wrong |= ~_exact_floats(used, converted)
    else:
        wrong |= ~_same_numbers(used, converted)
    if wrong.any():
        change = int(wrong.argmax())
        raise InputError(
            f"{batch.where(change)}: the weight {given[change]} "
            f"{_misfit(given[change], dtype)}. Give another."
        )
    return converted


def _misfit(weight: np.number, dtype: np.dtype) -> str:
    """Return why a weight cannot be one of the graph's weights."""
    if np.isnan(weight):
        return "has no place in an order"
    reason = f"does not fit {dtype}, the type of the graph's weights"
    if dtype.kind != "f" or weight.dtype.kind == "f":
        return reason
    return f"{reason}, which would round it to {dtype.type(weight):.17g}"


def _exact_floats(given: np.ndarray, floats: np.ndarray) -> np.ndarray:
    """Return a mask of the floats that equal the given integers exactly."""
    integers = given.astype(np.int8) if given.dtype.kind == "b" else given
    # The upper bound of the type is rounded up to a power of two.
    below = floats < float(np.iinfo(integers.dtype).max) + 1
    back = np.where(below, floats, 0).astype(integers.dtype)
    return below & (back == integers)


def _same_numbers(given: np.ndarray, integers: np.ndarray) -> np.ndarray:
    """Return a mask of the integers that equal the given numbers exactly."""
    if given.dtype.kind == "f":
        info = np.iinfo(integers.dtype)
        # Both bounds are exact in any type of floats; the upper one is not reached.
        inside = (given >= float(info.min)) & (given < float(info.max + 1))
        return inside & (integers.astype(given.dtype) == given)
    same_sign = (given < 0) == (integers < 0)
    return same_sign & (integers.astype(given.dtype) == given)
