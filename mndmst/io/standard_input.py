"""Standard input as a file: edges are read twice, and by several processes."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..host.errors import MndmstError
from .atomic_output import OwnFile
from .layout import writing

NAME = "standard input"
_PIECE = 1 << 20
# What packed files begin with
_PACKED = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"(\xb5/\xfd": ".zst"}


@contextmanager
def stored(out: Path, format: str | None) -> Iterator[Path]:
    """Copy standard input to a file beside an output, and remove it after the block.

    Parameters
    ----------
    out : Path
        The output, whose directory has to have room for the copy.
    format : str, optional
        What the edges are in; a text of edges by default. Packed ones are known by
        their first bytes.

    Yields
    ------
    Path
        Of the copy. Errors in the block name standard input in its place.

    Raises
    ------
    OutputError
        If the copy cannot be written.
    """
    source = sys.stdin.buffer
    first = source.read(_PIECE)
    packed = (suffix for mark, suffix in _PACKED.items() if first.startswith(mark))
    name = f"input-{secrets.token_hex(6)}.{format or 'txt'}{next(packed, '')}"
    place = Path(os.path.realpath(out))
    path = place.with_name(f"{place.name}.{name}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        own = OwnFile.make(path)
    try:
        with writing(path), path.open("wb") as copy:
            copy.write(first)
            shutil.copyfileobj(source, copy, _PIECE)
        yield path
    except MndmstError as error:
        raise type(error)(str(error).replace(str(path), NAME)) from error
    finally:
        own.remove()
