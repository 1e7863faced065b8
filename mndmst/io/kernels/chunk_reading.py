"""Read and verify stored chunks, and read arcs from them, without the interpreter."""

from typing import NamedTuple

import numpy as np

from ...kernels.arc_inspection import FINE, inspect_rows, make_keys
from ...kernels.intrinsics import (
    add_atomic,
    call_function,
    copy_memory,
    read_file,
    store_atomic,
)
from ...kernels.read_progress import note_arcs
from ...native.kernel import kernel

SUM_BYTES = 4  # of a checksum
LANES = 128
ROWS = 256  # words of a lane, whose weighted sum still fits 32 bits
MODULUS = np.uint64(65535)


class Chunks(NamedTuple):
    """Chunks of a dataset whose only filter is a checksum."""

    descriptor: int  # of the open file
    length: int  # entries of a chunk
    nbytes: int  # of a chunk, without the checksum
    begin: int  # the first entry of the first chunk
    offsets: np.ndarray  # int64 [chunks]: positions in the file


@kernel
def fletcher32(data):
    """Return the Fletcher-32 checksum (uint32) of words (uint16), as HDF5 computes it.

    HDF5 sums big-endian words. With little-endian ones every sum is 2^8 times as
    large, modulo 2^16 - 1; so it is put right once, at the end.
    """
    one, two, any_set = np.uint64(0), np.uint64(0), np.uint64(0)
    plain, weighted = np.empty(LANES, np.uint32), np.empty(LANES, np.uint32)
    done = 0
    while done + LANES <= len(data):
        rows = min(ROWS, (len(data) - done) // LANES)
        count = rows * LANES
        _sum_lanes(data[done : done + count], plain, weighted)
        two += np.uint64(count) * one
        for lane in range(LANES):
            one += np.uint64(plain[lane])
            two += np.uint64(LANES) * np.uint64(weighted[lane])
            two -= np.uint64(lane) * np.uint64(plain[lane])
        any_set |= one
        one, two = one % MODULUS, two % MODULUS
        done += count
    for word in data[done:]:
        one += np.uint64(word)
        two += one
    any_set |= one
    one, two = one % MODULUS, two % MODULUS
    if any_set == 0:
        return np.uint32(0)
    one, two = one * np.uint64(256) % MODULUS, two * np.uint64(256) % MODULUS
    # A sum that is not zero is never written as zero, but as the modulus
    one = one if one else MODULUS
    two = two if two else MODULUS
    return np.uint32(two << np.uint64(16) | one)


@kernel
def _sum_lanes(data, plain, weighted):
    """Sum up every lane of the data, a row of lanes after the other."""
    # The weighted sum has the first word of a lane as often as there are rows, and the
    # last one once: no word is multiplied
    plain[:] = 0
    weighted[:] = 0
    for begin in range(0, len(data), LANES):
        row = data[begin : begin + LANES]
        for lane in range(LANES):
            plain[lane] += np.uint32(row[lane])
            weighted[lane] += plain[lane]


@kernel
def read_chunks(chunks, begin, target):
    """Read entries from number `begin` on into `target` (uint8), and verify checksums.

    A chunk is summed while it is in the cache. Returns the entry after the last one
    read: before the end, its chunk is cut short or has a wrong checksum.
    """
    length, width = chunks.length, chunks.nbytes // chunks.length
    at, end = begin, begin + len(target) // width
    while at < end:
        number = (at - chunks.begin) // length
        first = chunks.begin + number * length
        stop = min(first + length, end)
        entries = target[(at - begin) * width : (stop - begin) * width]
        if stop - at == length:
            if not _read_chunk(chunks, number, entries):
                return at
        else:  # only a part of the chunk is wanted
            whole = np.empty(chunks.nbytes, np.uint8)
            if not _read_chunk(chunks, number, whole):
                return at
            copy_memory(entries, whole[(at - first) * width :], len(entries))
        at = stop
    return end


@kernel
def _read_chunk(chunks, number, target):
    """Return whether a chunk's checksum is right."""
    nbytes, offset = chunks.nbytes, chunks.offsets[number]
    if not _read_all(chunks.descriptor, offset, target, 0, nbytes):
        return False
    stored = np.empty(SUM_BYTES, np.uint8)
    if not _read_all(chunks.descriptor, offset + nbytes, stored, 0, SUM_BYTES):
        return False
    return fletcher32(target.view(np.uint16)) == stored.view(np.uint32)[0]


@kernel
def _read_all(descriptor, offset, target, begin, end):
    """Fill target[begin:end]; return whether the file has enough bytes."""
    while begin < end:
        done = read_file(descriptor, target, begin, end - begin, offset)
        if done <= 0:
            return False
        begin += done
        offset += done
    return True


@kernel
def move_ascending(numbers, begin, end, shift):
    """Add to the numbers in [begin, end); return whether they ascended."""
    wrong = False
    before = numbers[begin]
    for i in range(np.uint64(begin), np.uint64(end)):
        here = numbers[i]
        wrong |= here < before
        numbers[i] = here + shift
        before = here
    return not wrong


class StoredArcs(NamedTuple):
    """Arcs of open files, in pieces that threads take one after the other.

    A row of `columns` describes the ids or the weights of a part: the numbers of
    `Chunks`, whose entries are numbered as the arcs, and where their `offsets` begin.
    """

    columns: np.ndarray  # int64 [2 * parts, 5]
    offsets: np.ndarray  # int64: positions of all chunks in their files
    pieces: np.ndarray  # int64 [pieces, 3]: the part, the first arc, and the end
    taken: np.ndarray  # int64 [1]: pieces that threads have taken


# Statuses that follow those of `inspect_rows`.
BAD_IDS, BAD_WEIGHTS, DEVICE_FAILED = 4, 5, 6


@kernel
def read_arcs(stored, rows, check, words, most):
    """Read at most `most` pieces into rows (`Csr`), inspect them, note the progress.

    `words` are those of `ArcsRead`. Returns the status of `inspect_rows`, `BAD_IDS` or
    `BAD_WEIGHTS`; for a fault the piece, the vertex and the arc, or an arc whose chunk
    fails its checksum; and the sums of edges and balances, which are 0 if the check is
    not the whole one. After a fault no thread takes a piece, and all pieces before the
    faulty one are read.
    """
    num_vertices, rule, whole = check
    _, _, indices, bits = rows
    edges, balance = np.int64(0), np.uint64(0)
    for _ in range(most):
        piece = add_atomic(stored.taken, 0, 1)
        if piece >= len(stored.pieces):
            break
        arcs = stored.pieces[piece, 1], stored.pieces[piece, 2]
        ids, keys = indices[arcs[0] : arcs[1]], bits[arcs[0] : arcs[1]]
        vertex = np.int64(0)
        status, arc = _read_piece(
            stored, piece, ids.view(np.uint8), keys.view(np.uint8)
        )
        if status == FINE and (whole or not make_keys(keys, rule)):
            status, vertex, arc, more, part = inspect_rows(
                rows, arcs, num_vertices, rule
            )
            edges += more
            balance += part
        if status != FINE:
            store_atomic(stored.taken, 0, len(stored.pieces))
            return status, piece, vertex, arc, edges, balance
        note_arcs(words, arcs[0], arcs[1])
    return FINE, np.int64(0), np.int64(0), np.int64(0), edges, balance


class ArcTargets(NamedTuple):
    """The addresses of arrays of ids and of weights on a device."""

    ids: int
    weights: int
    id_bytes: int  # of an entry
    weight_bytes: int


@kernel
def copy_arcs(stored, driver, lanes, targets, samples, step):
    """Read all pieces into pinned memory, and copy them to arrays on a device.

    Of two lanes (`Lane`), one is read into while the other one is copied. `samples` are
    ids, of every arc whose number is a multiple of `step`.

    Returns a status, the piece, and an arc whose chunk fails its checksum; with
    `DEVICE_FAILED` the driver's status in place of an arc. See also `read_arcs`.
    """
    lane, other = lanes
    status, piece, arc = FINE, np.int64(0), np.int64(0)
    failed = call_function(driver.enter, driver.context, 0, 0, 0)
    while failed == 0 and status == FINE:
        piece = add_atomic(stored.taken, 0, 1)
        if piece >= len(stored.pieces):
            break
        failed = _wait_for_copies(driver, lane)
        if failed == 0:
            begin, end = stored.pieces[piece, 1], stored.pieces[piece, 2]
            middle = (end - begin) * targets.id_bytes
            last = middle + (end - begin) * targets.weight_bytes
            ids, weights = lane.memory[:middle], lane.memory[middle:last]
            status, arc = _read_piece(stored, piece, ids, weights)
            if status == FINE:
                _sample(ids.view(samples.dtype), begin, step, samples)
                address = targets.ids + begin * targets.id_bytes
                failed = _begin_copy(driver, lane, 0, middle, address)
            if status == FINE and failed == 0:
                address = targets.weights + begin * targets.weight_bytes
                failed = _begin_copy(driver, lane, middle, last, address)
        lane, other = other, lane
    for each in (lane, other):
        ended = _wait_for_copies(driver, each)
        failed = failed if failed else ended
    if failed:
        status, arc = DEVICE_FAILED, failed
    if status != FINE:
        store_atomic(stored.taken, 0, len(stored.pieces))
    return status, piece, arc


@kernel
def _begin_copy(driver, lane, begin, end, target):
    """Begin to copy memory[begin:end] of a lane to an address; see `Driver`."""
    source = np.int64(lane.memory.ctypes.data) + begin
    return call_function(driver.copy, target, source, end - begin, lane.stream)


@kernel
def _wait_for_copies(driver, lane):
    """Wait until the copies of a lane are done; see `Driver`."""
    return call_function(driver.wait, lane.stream, 0, 0, 0)


@kernel
def _read_piece(stored, piece, ids, weights):
    """Read a piece into two arrays of bytes; return a status, and a faulty arc."""
    column = 2 * stored.pieces[piece, 0]
    begin, end = stored.pieces[piece, 1], stored.pieces[piece, 2]
    done = read_chunks(_chunks(stored, column), begin, ids)
    if done < end:
        return BAD_IDS, np.int64(done)
    done = read_chunks(_chunks(stored, column + 1), begin, weights)
    if done < end:
        return BAD_WEIGHTS, np.int64(done)
    return FINE, np.int64(0)


@kernel
def _chunks(stored, column):
    facts = stored.columns[column]
    return Chunks(facts[0], facts[1], facts[2], facts[3], stored.offsets[facts[4] :])


@kernel
def _sample(ids, begin, step, samples):
    """Keep the sampled ids among those of the arcs from `begin` on."""
    first = -(-begin // step)
    for number in range(first, -(-(begin + len(ids)) // step)):
        samples[number] = ids[number * step - begin]
