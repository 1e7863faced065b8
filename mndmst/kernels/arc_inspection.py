"""One pass over arcs as they are read: faults, keys, edges, and symmetry.

All loops process one block of arcs, which stays in the nearest cache. A column with the
tail of every arc in the block makes all of them vectorisable.
"""

from typing import NamedTuple, Protocol

import numpy as np

from ..graph.model import Csr
from ..graph.order import KeyRule, flip_bits
from ..native.kernel import kernel
from .binary_search import first_above
from .kruskal import HALF, LOW

FINE, BAD_ID, NOT_ASCENDING, NOT_A_NUMBER = range(4)
BLOCK = 2048
LANES = 8  # entries that one vector store writes


class ArcFacts(NamedTuple):
    """Facts found by one inspection of all arcs of some rows."""

    edges: int  # distinct edges to larger vertices
    balance: int  # modulo 2^64; the sum over all rows is zero, see `inspect_rows`


class ArcInspection(Protocol):
    """An inspection of arcs on a device, while threads read them from files."""

    def facts(self) -> ArcFacts | None:
        """Wait for the facts of all arcs; None after a fault or without inspection."""


class Check(NamedTuple):
    """Checks of arcs as they are read.

    If not `whole`, only weights are checked, because a device checks the ids.
    """

    num_vertices: int
    rule: KeyRule
    whole: bool


def mixed(low, high, key):
    """Return a hash of 64 bits of an edge, or of each edge of arrays.

    Kernels call it as `mix`. AVX2 multiplies numbers of 32 bits only. So the hash is a
    sum of multiples, most of them by such numbers, whose two halves are multiplied by
    each other. The upper half of a product depends on more bits, so the halves are
    swapped.
    """
    word = np.uint64(low) * np.uint64(0x9E3779B1)
    word += np.uint64(high) * np.uint64(0xC2B2AE3D27D4EB4F)
    word += np.uint64(key) * np.uint64(0xC2B2AE3D) + np.uint64(0x27D4EB2F165667C5)
    product = (word & LOW) * (word >> HALF)
    return word + (product << HALF | product >> HALF)


mix = kernel(mixed)


def inspect_few(rows: Csr, num_vertices: int, rule: KeyRule) -> ArcFacts | None:
    """Inspect all arcs of some rows by NumPy; see `inspect_rows`.

    So a machine without compiled kernels reads few arcs without compilation. Returns
    None if an arc is faulty; `inspect_rows` then locates it.
    """
    first, indptr, indices, bits = rows
    vertices = np.arange(first, first + len(indptr) - 1, dtype=np.uint64)
    tails, heads = np.repeat(vertices, np.diff(indptr)), indices.astype(np.uint64)
    same_row = tails[1:] == tails[:-1]
    falls = same_row & (heads[1:] < heads[:-1])
    not_numbers = bits & (rule.sign - rule.sign.dtype.type(1)) > rule.largest
    if (heads >= num_vertices).any() or falls.any() or not_numbers.any():
        return None
    flip_bits(bits, rule)
    repeats = same_row & (heads[1:] == heads[:-1]) & (heads[1:] > tails[1:])
    edges = np.count_nonzero(heads > tails) - np.count_nonzero(repeats)
    hashes = mixed(np.minimum(tails, heads), np.maximum(tails, heads), bits)
    up, down = hashes[heads > tails].sum(), hashes[heads < tails].sum()
    return ArcFacts(int(edges), (int(up) - int(down)) % (1 << 64))


@kernel
def inspect_rows(rows, arcs, num_vertices, rule):
    """Find the first faulty arc, turn weights into keys, and sum up hashes of arcs.

    The range `arcs` may begin and end inside rows. Weights become keys in place, except
    in a block with a fault.

    Returns the status (`FINE`, `BAD_ID`, `NOT_ASCENDING` or `NOT_A_NUMBER`), the row
    and the position of the first faulty arc, the number of distinct edges to larger
    vertices, and the balance: the sum over arcs of a hash of (ends, key), with opposite
    signs in the two directions. Over all rows of a symmetric graph the sum is zero;
    over those of another graph it is zero with a probability of about 2^-64.
    """
    first, indptr, indices, bits = rows
    tails = np.empty(1 + BLOCK + LANES, indices.dtype)  # from the arc before the block
    edges, balance = np.int64(0), np.uint64(0)
    begin, last = arcs
    row = first_above(indptr, begin) - 1
    bounds = indptr[: first_above(indptr, last - 1) + 1]
    while begin < last:
        end = min(begin + BLOCK, last)
        row = _fill_tails(bounds, row, first, begin, end, tails[1:])
        here = tails[1 : end - begin + 1]
        heads, words = indices[begin:end], bits[begin:end]
        low = begin if begin == arcs[0] else begin - 1
        tails_before = tails[low - begin + 1 : end - begin + 1]
        heads_before = indices[low:end]
        wrong, repeats = _compare(tails_before, heads_before)
        wrong += _count_wrong(heads, words, num_vertices, rule)
        if wrong:
            status, at = _first_wrong(
                tails_before, heads_before, bits[low:end], num_vertices, rule
            )
            return status, np.int64(tails_before[at]), low + at, edges, balance
        _to_keys(words, rule)
        upward, part = _sum_up(here, heads, words)
        edges += upward - repeats
        balance += part
        tails[0] = here[-1]
        begin = end
    return FINE, np.int64(0), np.int64(0), edges, balance


@kernel
def make_keys(bits, rule):
    """Turn weights into keys if none is NaN; return whether none is."""
    wrong = np.uint32(0)
    for i in range(len(bits)):
        wrong = np.uint32(wrong + np.uint32(_is_nan(bits[i], rule)))
    if wrong:
        return False
    _to_keys(bits, rule)
    return True


@kernel
def _fill_tails(indptr, row, first, begin, end, tails):
    """Write the tails of the arcs [begin, end); return the row of the last one.

    `row` is the row of the first arc, or an earlier one.
    """
    count = first_above(indptr[row + 1 :], end - 1)
    bounds = indptr[row : row + count + 1]
    for i in range(count):
        at, stop = max(bounds[i] - begin, 0), bounds[i + 1] - begin
        tail = tails.dtype.type(first + row + i)
        # The next row overwrites entries behind the row's end
        for lane in range(LANES):
            tails[at + lane] = tail
        at += LANES
        while at < stop:
            for lane in range(LANES):
                tails[at + lane] = tail
            at += LANES
    at = max(bounds[count] - begin, 0)
    tails[at : end - begin] = first + row + count
    return row + count


@kernel
def _compare(tails, heads):
    """Count descending arcs, and repeated arcs to larger vertices.

    An arc descends if its head is smaller than that of its predecessor in the row.
    """
    later, before = heads[1:], heads[:-1]
    here, above = tails[1:], tails[:-1]
    wrong, repeats = np.uint32(0), np.uint32(0)
    for i in range(len(later)):
        same = here[i] == above[i]
        wrong = np.uint32(wrong + np.uint32(same & (later[i] < before[i])))
        repeated = same & (later[i] == before[i]) & (later[i] > here[i])
        repeats = np.uint32(repeats + np.uint32(repeated))
    return np.int64(wrong), np.int64(repeats)


@kernel
def _count_wrong(heads, bits, num_vertices, rule):
    """Count ids that are out of range, and weights that are not numbers."""
    wrong = np.uint32(0)
    for i in range(len(heads)):
        far = np.uint64(heads[i]) >= np.uint64(num_vertices)
        wrong = np.uint32(wrong + np.uint32(far))
    for i in range(len(bits)):
        wrong = np.uint32(wrong + np.uint32(_is_nan(bits[i], rule)))
    return np.int64(wrong)


@kernel
def _is_nan(bits, rule):
    return (bits & (rule.sign - np.uint64(1))) > rule.largest


@kernel
def _first_wrong(tails, heads, bits, num_vertices, rule):
    """Return the first fault of a block, and its position."""
    for i in range(len(heads)):
        if np.uint64(heads[i]) >= np.uint64(num_vertices):
            return BAD_ID, i
        if i and tails[i] == tails[i - 1] and heads[i] < heads[i - 1]:
            return NOT_ASCENDING, i
        if _is_nan(bits[i], rule):
            return NOT_A_NUMBER, i
    return FINE, 0


@kernel
def _to_keys(bits, rule):
    for i in range(len(bits)):
        word = bits[i]
        change = rule.above if word > rule.sign else rule.below
        change = rule.at if word == rule.sign else change
        bits[i] = word ^ change


@kernel
def _sum_up(tails, heads, keys):
    """Return the number of arcs to larger vertices, and the sum of all hashes."""
    upward, balance = np.uint32(0), np.uint64(0)
    for i in range(len(heads)):
        upward = np.uint32(upward + np.uint32(heads[i] > tails[i]))
    # The direction is unpredictable, so the loop has no branch on it
    for i in range(len(heads)):
        head, tail = np.uint64(heads[i]), np.uint64(tails[i])
        low = head if head < tail else tail
        high = tail if head < tail else head
        down = np.uint64(0) - np.uint64(head < tail)
        no_loop = np.uint64(0) - np.uint64(head != tail)
        balance += ((mix(low, high, keys[i]) ^ down) - down) & no_loop
    return np.int64(upward), balance


@kernel
def add_to_buckets(indptr, indices, keys, first, buckets):
    """Add every arc's signed hash to the bucket its leading bits choose."""
    for row in range(len(indptr) - 1):
        tail = np.int64(first + row)
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(indices[arc])
            if head != tail:
                word = mix(min(tail, head), max(tail, head), keys[arc])
                bucket = mix(min(tail, head), max(tail, head), 0) % len(buckets)
                if head > tail:
                    buckets[bucket] += word
                else:
                    buckets[bucket] -= word


@kernel
def arcs_of_bucket(indptr, indices, first, count, bucket):
    """Return the rows and positions of the arcs in one of `count` buckets."""
    tails, arcs = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for row in range(len(indptr) - 1):
        tail = np.int64(first + row)
        for arc in range(indptr[row], indptr[row + 1]):
            head = np.int64(indices[arc])
            chosen = mix(min(tail, head), max(tail, head), 0) % count
            if head != tail and chosen == bucket:
                tails.append(tail)
                arcs.append(arc)
    return np.array(tails), np.array(arcs)
