"""How text begins: comments and the first line, in letters of one byte."""

import codecs
from itertools import chain
from pathlib import Path

import numpy as np

from ...host.errors import InputError
from .files import unpacked_pieces

LONGEST_HEAD = 1 << 21
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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


def read_rows(path: Path, comments: bytes, place: int, most: int) -> list[bytes]:
    """Return the lines from a byte of a text on, without comments and empty lines.

    Parameters
    ----------
    most : int
        How many lines are wanted. No more than `LONGEST_HEAD` bytes are looked at.
    """
    text = bytearray()
    found: list[bytes] = []
    for piece in unpacked_pieces(path):
        text += piece
        found = [
            line
            for line in bytes(text[place:]).split(b"\n")
            if line.strip() and line.lstrip()[0] not in comments
        ]
        if len(found) > most or len(text) > LONGEST_HEAD:
            return found[: min(most, max(1, len(found) - 1))]  # the last may be cut
    return found[:most]


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
