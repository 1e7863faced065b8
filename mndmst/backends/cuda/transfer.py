"""Copies between host and device through pinned pieces.

A copy from pageable memory uses a fraction of the bus's bandwidth. Several threads that
fill pinned pieces while earlier pieces are copied use all of it.
"""

import ctypes
import mmap
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from weakref import finalize

import cupy
import numpy as np

from ...graph.arc_files import Driver, Lane, OpenArcs
from ...host.cores import core_count

PIECE_BYTES = 4 << 20
# A thread takes longer to wake than to empty a piece of fewer bytes.
LEAST_PIECE_BYTES = 256 << 10
# A copy of at most this many bytes from or to pageable memory takes less time than to
# pin pieces.
SMALL = 64 << 20
PIECES = 32
HUGE_PAGE, PAGE = 2 << 20, 4 << 10
PORTABLE = 1  # pinned for all devices (cudaHostRegisterPortable)
# Fraction of the cores that fill pieces: the thread that begins the copies needs one.
FILLING = 0.75

# Fills a piece with host data from a byte offset on.
Fill = Callable[[np.ndarray, int], None]


class Transfer:
    """Pinned pieces and the threads that fill and empty them.

    One thread at a time may use it, with the device and the stream current, and only
    when the copies begun before are done.
    """

    def __init__(self) -> None:
        self._pieces = [PinnedPiece() for _ in range(PIECES)]
        self._count = min(PIECES // 2, max(1, int(FILLING * core_count())))
        self._threads = ThreadPoolExecutor(self._count, "mndmst-transfer")

    def pin(self) -> None:
        """Pin all pieces, in 0.1 s; each thread pins two."""
        device = cupy.cuda.Device()

        def pin_pair(number: int) -> None:
            with device:
                for piece in self._pieces[2 * number : 2 * number + 2]:
                    piece.memory(PIECE_BYTES)

        list(self._threads.map(pin_pair, range(self._count)))

    def to_device(self, host: np.ndarray) -> cupy.ndarray:
        """Return a copy on the device of a contiguous host array."""
        host = np.ascontiguousarray(host)
        result = cupy.empty(host.shape, host.dtype)
        if self._is_cheaper_without(host.nbytes):
            result.set(host)
            return result
        copy_next(self.filled([(host.nbytes, fill_from(host))]), result)
        cupy.cuda.get_current_stream().synchronize()
        return result

    def _is_cheaper_without(self, nbytes: int) -> bool:
        """Return whether a copy takes less time than to wake threads or pin pieces."""
        most = LEAST_PIECE_BYTES if self._pieces[0].pinned else SMALL
        return nbytes <= most

    def filled(self, sources: Iterable[tuple[int, Fill]]) -> Iterator[np.ndarray]:
        """Yield pinned pieces of the bytes of several sources, in order.

        Filling runs ahead of copying, from one source into the next. When the next
        piece is asked for, the copy of the one before must be on the current stream.
        """
        copied = [cupy.cuda.Event(disable_timing=True) for _ in range(PIECES)]

        def fill_piece(slot: int, fill: Fill, low: int, high: int) -> np.ndarray:
            copied[slot].synchronize()  # at once, if it was never recorded
            piece = self._pieces[slot].memory(PIECE_BYTES)[: high - low]
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

    def read(self, arcs: OpenArcs, ends: cupy.ndarray, keys: cupy.ndarray) -> None:
        """Fill arrays on the device with arcs of files.

        Threads read them into pinned memory without the interpreter; each of them has
        two pieces, and copies one while it reads into the other.
        """
        cupy.cuda.get_current_stream().synchronize()  # `ends` and `keys` may be in use
        nbytes = arcs.piece_bytes
        pieces = [piece.memory(nbytes) for piece in self._pieces[: 2 * self._count]]
        streams = [cupy.cuda.Stream(non_blocking=True) for _ in pieces]
        lanes = [Lane(piece, s.ptr) for piece, s in zip(pieces, streams, strict=True)]
        pairs = list(zip(lanes[::2], lanes[1::2], strict=True))
        failed = arcs.copy(_driver(), pairs, ends.data.ptr, keys.data.ptr)
        if failed:
            raise cupy.cuda.runtime.CUDARuntimeError(failed)

    def to_host(self, device: cupy.ndarray) -> np.ndarray:
        """Return a copy in host memory of a contiguous device array."""
        return self.all_to_host(device)[0]

    def all_to_host(self, *arrays: cupy.ndarray) -> list[np.ndarray]:
        """Return copies in host memory of contiguous device arrays; see `fill`."""
        results = [np.empty(array.shape, array.dtype) for array in arrays]
        self.fill(arrays, results)
        return results

    def fill(
        self, arrays: Sequence[cupy.ndarray], results: Sequence[np.ndarray]
    ) -> None:
        """Copy contiguous device arrays to contiguous host arrays.

        All threads empty pieces of all arrays, also where the arrays are small.
        """
        nbytes = sum(array.nbytes for array in arrays)
        if self._is_cheaper_without(nbytes):
            for array, result in zip(arrays, results, strict=True):
                array.get(out=result)
            return
        share = -(-nbytes // self._count // PAGE) * PAGE
        size = min(PIECE_BYTES, max(share, LEAST_PIECE_BYTES))
        pieces = [
            (array.view(np.uint8)[low:high], result.view(np.uint8)[low:high])
            for array, result in zip(arrays, results, strict=True)
            for low, high in _bounds(result.nbytes, size)
        ]
        stream = cupy.cuda.get_current_stream()
        emptying: list[Future[None]] = []

        def empty(
            piece: np.ndarray, target: np.ndarray, event: cupy.cuda.Event
        ) -> None:
            event.synchronize()
            np.copyto(target, piece)

        for number, (source, target) in enumerate(pieces):
            if number >= PIECES:
                emptying[number - PIECES].result()
            piece = self._pieces[number % PIECES].memory(PIECE_BYTES)[: len(target)]
            source.data.copy_to_host_async(piece.ctypes.data, len(piece), stream)
            emptying.append(self._threads.submit(empty, piece, target, _event()))
        for future in emptying:
            future.result()


class PinnedPiece:
    """Pinned memory, taken on first use: pinning runs at 2 GB/s.

    The calling thread touches huge pages, which are then pinned five times as fast as
    memory that the driver allocates. Where that fails, the driver allocates.
    """

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)
        self._taking = Lock()

    @property
    def pinned(self) -> bool:
        """Whether the piece has memory."""
        return len(self._memory) > 0

    def memory(self, nbytes: int) -> np.ndarray:
        """Return at least some bytes; no copy may be using the piece."""
        with self._taking:
            if len(self._memory) < nbytes:
                self._memory = _pinned(nbytes)
        return self._memory


def _pinned(nbytes: int) -> np.ndarray:
    nbytes = -(-nbytes // HUGE_PAGE) * HUGE_PAGE
    runtime = cupy.cuda.runtime
    try:
        pages = mmap.mmap(-1, nbytes + HUGE_PAGE)
        pages.madvise(mmap.MADV_HUGEPAGE)
        memory = np.frombuffer(pages, np.uint8)
        begin = -memory.ctypes.data % HUGE_PAGE
        memory = memory[begin : begin + nbytes]
        memory[::PAGE] = 0
        runtime.hostRegister(memory.ctypes.data, nbytes, PORTABLE)
    except (AttributeError, OSError, runtime.CUDARuntimeError):
        # cupyx.empty_pinned does the same, but cupyx takes long to import.
        return np.frombuffer(cupy.cuda.alloc_pinned_memory(nbytes), np.uint8, nbytes)
    finalize(memory, runtime.hostUnregister, memory.ctypes.data).atexit = False
    return memory


def _driver() -> Driver:
    """Return the driver of the current device."""
    library, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    library.cuCtxGetCurrent(ctypes.byref(context))

    def address(name: str) -> int:
        return ctypes.cast(library[name], ctypes.c_void_p).value or 0

    return Driver(
        address("cuCtxSetCurrent"),
        address("cuMemcpyHtoDAsync_v2"),
        address("cuStreamSynchronize"),
        context.value or 0,
    )


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


def _bounds(nbytes: int, piece: int = PIECE_BYTES) -> list[tuple[int, int]]:
    return [(low, min(low + piece, nbytes)) for low in range(0, nbytes, piece)]
