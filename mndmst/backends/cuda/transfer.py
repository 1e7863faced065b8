"""Copies between host and device through pinned pieces.

A copy from pageable memory runs at a fraction of the bus; filling pinned pieces
by several threads while the ones before are on their way keeps it busy.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import cupy
import numpy as np

from ...host.cores import core_count

PIECE_BYTES = 8 << 20
PIECES = 16
FILLING = 0.75  # of the cores: the thread that begins the copies must not wait

# Writes the bytes that begin at a place of some host data into a piece.
Fill = Callable[[np.ndarray, int], None]


class Transfer:
    """Pinned pieces and the threads that fill and empty them.

    One thread at a time may use it, with the device and the stream current, and only
    when the copies begun before are done.
    """

    def __init__(self) -> None:
        # cupyx.empty_pinned does the same, but cupyx takes long to import.
        memory = cupy.cuda.alloc_pinned_memory(PIECES * PIECE_BYTES)
        pieces = np.frombuffer(memory, np.uint8, PIECES * PIECE_BYTES)
        self._pieces = np.split(pieces, PIECES)
        cores = core_count()
        threads = min(PIECES, max(1, int(FILLING * cores)))
        self._threads = ThreadPoolExecutor(threads, "mndmst-transfer")

    def to_device(self, host: np.ndarray) -> cupy.ndarray:
        """Return a copy on the device of a contiguous host array."""
        host = np.ascontiguousarray(host)
        result = cupy.empty(host.shape, host.dtype)
        copy_next(self.filled([(host.nbytes, fill_from(host))]), result)
        cupy.cuda.get_current_stream().synchronize()
        return result

    def filled(self, sources: Iterable[tuple[int, Fill]]) -> Iterator[np.ndarray]:
        """Yield pinned pieces of the bytes of several sources, in order.

        Filling runs ahead of copying, from one source into the next. When the next
        piece is asked for, the copy of the one before must be on the current stream.
        """
        copied = [cupy.cuda.Event(disable_timing=True) for _ in range(PIECES)]

        def fill_piece(slot: int, fill: Fill, low: int, high: int) -> np.ndarray:
            copied[slot].synchronize()  # at once, if it was never recorded
            piece = self._pieces[slot][: high - low]
            fill(piece, low)
            return piece

        jobs = ((f, *bounds) for nbytes, f in sources for bounds in _bounds(nbytes))
        filling: deque[Future[np.ndarray]] = deque()
        for number, job in enumerate(jobs):
            slot = number % PIECES
            if len(filling) == PIECES:
                yield filling.popleft().result()
                copied[slot].record()
            filling.append(self._threads.submit(fill_piece, slot, *job))
        while filling:
            yield filling.popleft().result()

    def to_host(self, device: cupy.ndarray) -> np.ndarray:
        """Return a copy in host memory of a contiguous device array."""
        result = np.empty(device.shape, device.dtype)
        source, target = device.view(np.uint8), result.view(np.uint8)
        stream = cupy.cuda.get_current_stream()
        emptying: list[Future[None]] = []

        def empty(piece: np.ndarray, low: int, event: cupy.cuda.Event) -> None:
            event.synchronize()
            np.copyto(target[low : low + len(piece)], piece)

        for number, (low, high) in enumerate(_bounds(len(source))):
            if number >= PIECES:
                emptying[number - PIECES].result()
            piece = self._pieces[number % PIECES][: high - low]
            source[low:high].data.copy_to_host_async(
                piece.ctypes.data, high - low, stream
            )
            emptying.append(self._threads.submit(empty, piece, low, _event()))
        for future in emptying:
            future.result()
        return result


def copy_next(filled: Iterator[np.ndarray], device: cupy.ndarray) -> None:
    """Copy the next filled pieces to a contiguous array, on the current stream."""
    target = device.view(np.uint8)
    stream = cupy.cuda.get_current_stream()
    low = 0
    while low < len(target):
        piece = next(filled)
        target[low:].data.copy_from_host_async(piece.ctypes.data, len(piece), stream)
        low += len(piece)


def fill_from(host: np.ndarray) -> Fill:
    """Return a function that fills pieces from a contiguous host array."""
    source = host.view(np.uint8)

    def fill(piece: np.ndarray, low: int) -> None:
        np.copyto(piece, source[low : low + len(piece)])

    return fill


def _event() -> cupy.cuda.Event:
    """Return an event that marks the present end of the current stream."""
    event = cupy.cuda.Event(disable_timing=True)
    event.record()
    return event


def _bounds(nbytes: int) -> list[tuple[int, int]]:
    return [
        (low, min(low + PIECE_BYTES, nbytes)) for low in range(0, nbytes, PIECE_BYTES)
    ]
