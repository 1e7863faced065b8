"""What the formats share: compressed files, the heads of texts, optional packages."""

import codecs
import gzip
import importlib
import lzma
import zlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...errors import InputError
from ...extras import optional

PIECE_BYTES = 1 << 20
LONGEST_HEAD = 1 << 24
COMPRESSIONS = (".gz", ".xz", ".zst")
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_bytes(path: Path) -> bytes:
    """Return a file's contents; see `unpacked_pieces`."""
    return b"".join(unpacked_pieces(path))


def unpacked_pieces(path: Path) -> Iterator[bytes]:
    """Yield a file's contents, unpacked if its name ends in .gz, .xz or .zst.

    Yields
    ------
    bytes
        As many as unpacking `PIECE_BYTES` or so gives.

    Raises
    ------
    InputError
        If it cannot be read or is cut short.
    MissingExtraError
        For .zst without the package zstandard.
    """
    try:
        with _OPEN.get(path.suffix, Path.open)(path, "rb") as file:
            if path.suffix == ".zst":
                yield from _unzstd(file)
            else:
                while piece := file.read(PIECE_BYTES):
                    yield piece
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"{path}: damaged or cut short ({error}). Copy or download it again."
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


_OPEN: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """Yield what the frames of a .zst file hold; EOFError if the last is cut short."""
    zstandard = import_extra("zstandard")
    packed = file.read(PIECE_BYTES)
    try:
        while packed:
            frame = zstandard.ZstdDecompressor().decompressobj()
            while not frame.eof:
                yield frame.decompress(packed)
                packed = frame.unused_data or file.read(PIECE_BYTES)
                if not (packed or frame.eof):
                    raise EOFError("it ends inside a frame")
    except zstandard.ZstdError as error:
        raise EOFError(error) from error


def read_head(
    path: Path, comments: bytes, place: int = 0
) -> tuple[list[bytes], bytes, int]:
    """Return the lines of comment a text begins with, the line after, and its place.

    The mark of UTF-8 that some programs put first is passed over.

    Parameters
    ----------
    path : Path
    comments : bytes
        What such a line begins with. Empty lines are passed over with them.
    place : int
        Where to begin.

    Raises
    ------
    InputError
        If there are more than `LONGEST_HEAD` bytes of them, if the text has two or
        four bytes a letter, or see `unpacked_pieces`.
    """
    found: list[bytes] = []
    text = b""
    for piece in chain(unpacked_pieces(path), (b"\n",)):
        text += piece
        while (stop := text.find(b"\n", place)) >= 0:
            if place == 0 and text.startswith(codecs.BOM_UTF8):
                place = len(codecs.BOM_UTF8)
            line = text[place:stop]
            check_letters(path, text if text.startswith(_WIDE_MARKS) else line)
            if line.strip() and line.lstrip()[0] not in comments:
                return found, line, place
            found.append(line.strip())
            place = stop + 1
        if len(text) > LONGEST_HEAD:
            raise InputError(
                f"{path}: has no edge in its first {LONGEST_HEAD} bytes; it is no text "
                "of edges. Name its format."
            )
    return found, b"", place


def check_letters(path: Path, text: bytes) -> None:
    """Refuse text of two or four bytes a letter, as some programs save it.

    Raises
    ------
    InputError
        If it is.
    """
    if text.startswith(_WIDE_MARKS) or b"\0" in text:
        raise InputError(
            f"{path}: is text in UTF-16 or UTF-32, or no text. Save it as UTF-8, or "
            "name its format."
        )


def line_of(text: np.ndarray, at: int) -> int:
    """Return the line, from 1, that has the byte at a position of a text."""
    return 1 + int(np.count_nonzero(text[:at] == ord("\n")))


def import_extra(*modules: str) -> Any:
    """Import modules of an optional package and return the package.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    for module in modules:
        optional(module, "formats", "This format needs")
    return importlib.import_module(modules[0].partition(".")[0])


def import_scipy() -> Any:
    """Return SciPy with `scipy.io` and `scipy.sparse`; see `import_extra`."""
    return import_extra("scipy.io", "scipy.sparse")
