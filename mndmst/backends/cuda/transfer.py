"""Copies between host and device through pinned pieces.

A copy from pageable memory runs at a fraction of the bus; filling pinned pieces
by several threads while the ones before are on their way keeps it busy.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import cupy
import cupyx
import numpy as np

PIECE_BYTES = 8 << 20
PIECES = 8

# Writes the bytes that begin at a place of some host data into a piece.
Fill = Callable[[np.ndarray, int], None]


class Transfer:
    """Pinned pieces and the threads that fill and empty them.

    One thread at a time may use it, with the device and the stream current.
    """

    def __init__(self) -> None:
        self._pieces = [
            cupyx.empty_pinned(PIECE_BYTES, np.uint8) for _ in range(PIECES)
        ]
        self._sent: list[cupy.cuda.Event | None] = [None] * PIECES
        self._threads = ThreadPoolExecutor(PIECES, "mndmst-transfer")

    def to_device(self, host: np.ndarray) -> cupy.ndarray:
        """Return a copy on the device of a contiguous host array."""
        host = np.ascontiguousarray(host)
        result = cupy.empty(host.shape, host.dtype)
        self.send(result, fill_from(host))
        cupy.cuda.get_current_stream().synchronize()
        return result

    def send(self, device: cupy.ndarray, fill: Fill) -> None:
        """Fill a contiguous device array; the current stream completes the copy."""
        target = device.view(np.uint8)
        stream = cupy.cuda.get_current_stream()
        bounds = _bounds(len(target))

        def filled(number: int) -> np.ndarray:
            low, high = bounds[number]
            event = self._sent[number % PIECES]
            if event is not None:
                event.synchronize()
            piece = self._pieces[number % PIECES][: high - low]
            fill(piece, low)
            return piece

        filling = [
            self._threads.submit(filled, i) for i in range(min(PIECES, len(bounds)))
        ]
        for number, (low, high) in enumerate(bounds):
            piece = filling[number].result()
            target[low:high].data.copy_from_host_async(
                piece.ctypes.data, high - low, stream
            )
            event = cupy.cuda.Event(disable_timing=True)
            event.record(stream)
            self._sent[number % PIECES] = event
            if number + PIECES < len(bounds):
                filling.append(self._threads.submit(filled, number + PIECES))

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
            event = cupy.cuda.Event(disable_timing=True)
            event.record(stream)
            emptying.append(self._threads.submit(empty, piece, low, event))
        for future in emptying:
            future.result()
        return result


def fill_from(host: np.ndarray) -> Fill:
    """Return what fills pieces from a contiguous host array."""
    source = host.view(np.uint8)

    def fill(piece: np.ndarray, low: int) -> None:
        np.copyto(piece, source[low : low + len(piece)])

    return fill


def _bounds(nbytes: int) -> list[tuple[int, int]]:
    return [
        (low, min(low + PIECE_BYTES, nbytes)) for low in range(0, nbytes, PIECE_BYTES)
    ]
