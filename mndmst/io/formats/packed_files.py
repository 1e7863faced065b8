"""Bytes of input files of all formats, packed or not, in pieces of bounded size."""

import gzip
import importlib
import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from ...host.errors import InputError, optional
from ...host.memory import Budget
from .. import memory_limit
from ..file_access import State, opened, state_of, unreadable

PIECE_BYTES = 1 << 20
# zstandard unpacks all that it is given, up to 2^15 times as much.
ZSTD_BYTES = 1 << 9
LEAST_XZ, MOST_XZ = 1 << 20, 1 << 34
COMPRESSIONS = (".gz", ".xz", ".zst")
# Errors of NumPy, SciPy and zipfile on arrays that are damaged or of another kind
ARRAY_ERRORS = (
    ValueError, TypeError, OSError, EOFError, KeyError, IndexError, SyntaxError,
    NotImplementedError, RuntimeError, OverflowError, MemoryError,
    tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip


def unpacked_suffix(path: Path) -> str:
    """Return the suffix of a file's format, without that of compression."""
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def import_extra(*modules: str) -> ModuleType:
    """Import modules of an optional package and return the package."""
    for module in modules:
        optional(module, "formats", "This format needs")
    return importlib.import_module(modules[0].partition(".")[0])


def import_scipy() -> ModuleType:
    """Return SciPy with `scipy.io` and `scipy.sparse`; see `import_extra`."""
    return import_extra("scipy.io", "scipy.sparse")


def read_bytes(path: Path, budget: Budget, copies: int = 1) -> bytearray:
    """Return a file's contents, unpacked, if `copies` times as much fits in memory."""
    # A growing array has an eighth to spare
    room = 8 * memory_limit.room(budget) // (9 * copies)
    contents = bytearray()
    with readable(path):
        size = state_of(path)[1] if path.suffix not in COMPRESSIONS else 0
    if size <= room:
        size = 0
        for piece in unpacked_pieces(path, budget):
            size += len(piece)
            if size <= room:
                contents += piece
            elif size > memory_limit.FAR * room:
                break
            else:  # goes on only to say how much there is
                contents.clear()
    if size > room:
        least = " at least" if size > memory_limit.FAR * room else ""
        needed = 9 * copies * size // 8
        raise memory_limit.exceeded(budget, path, needed, "its content", least)
    return contents


def read_text(path: Path, budget: Budget, copies: int) -> str:
    """Return a file's contents in UTF-8 as text; see `read_bytes`."""
    try:
        return read_bytes(path, budget, copies).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise not_utf8(path, error) from error


def not_utf8(path: Path, error: UnicodeDecodeError) -> InputError:
    """Return the error for a text in another encoding."""
    return InputError(
        f"{path}: is not UTF-8 ({error.reason} at byte {error.start}). Save it as "
        "UTF-8."
    )


def unpacked_pieces(
    path: Path, budget: Budget, state: State | None = None
) -> Iterator[bytes]:
    """Yield a file's contents, unpacked if its name ends in .gz, .xz or .zst.

    A piece has about `PIECE_BYTES` at most. The file must be in `state`; see `opened`.
    """
    with readable(path), opened(path, state) as file:
        match path.suffix:
            case ".gz":
                yield from _ungzip(file)
            case ".xz":
                yield from _unxz(path, file, budget)
            case ".zst":
                yield from _unzstd(path, file, budget)
            case _:
                yield from _read(file)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Convert errors of reading or unpacking a file into an InputError."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: damaged or cut short ({error}). Copy or download it again."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _read(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece


def _ungzip(file: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as unpacked:
        yield from _read(unpacked)


def _unxz(path: Path, file: BinaryIO, budget: Budget) -> Iterator[bytes]:
    """Yield the contents of an .xz file; EOFError if a stream is cut short."""
    packed = file.read(PIECE_BYTES)
    while packed:
        stream = _xz_stream(path, packed, budget)
        while not stream.eof:
            if stream.needs_input and not packed:
                packed = file.read(PIECE_BYTES)
                if not packed:
                    raise EOFError("it ends inside a stream")
            piece = stream.decompress(packed, PIECE_BYTES)
            packed = b""
            if piece:
                yield piece
        # Streams may be followed by zeros, in fours
        packed = (stream.unused_data or file.read(PIECE_BYTES)).lstrip(b"\0")


def _xz_stream(path: Path, packed: bytes, budget: Budget) -> lzma.LZMADecompressor:
    """Return a decoder; refuse a stream that needs more memory than is allowed."""
    room, enough = memory_limit.room(budget), LEAST_XZ
    while enough < MOST_XZ:
        try:
            lzma.LZMADecompressor(memlimit=enough).decompress(packed, 1)
            break
        except lzma.LZMAError as error:
            if "limit" not in str(error):
                raise
            enough *= 2
    if enough > max(room, LEAST_XZ):
        raise memory_limit.exceeded(budget, path, enough, "to unpack it")
    return lzma.LZMADecompressor(memlimit=enough)


def _unzstd(path: Path, file: BinaryIO, budget: Budget) -> Iterator[bytes]:
    """Yield the contents of a .zst file; EOFError if a frame is cut short."""
    zstandard = import_extra("zstandard")
    packed = memoryview(file.read(PIECE_BYTES))
    try:
        while packed:
            frame = zstandard.ZstdDecompressor().decompressobj()
            window = zstandard.get_frame_parameters(packed).window_size
            memory_limit.check_room(budget, path, window, "to unpack it")
            piece = bytearray()
            while not frame.eof:
                if not packed:
                    raise EOFError("it ends inside a frame")
                piece += frame.decompress(packed[:ZSTD_BYTES])
                packed = packed[ZSTD_BYTES:] or memoryview(file.read(PIECE_BYTES))
                while len(piece) >= PIECE_BYTES:
                    yield bytes(piece[:PIECE_BYTES])
                    del piece[:PIECE_BYTES]
            yield bytes(piece)
            packed = memoryview(frame.unused_data + packed)
    except zstandard.ZstdError as error:
        raise EOFError(error) from error
