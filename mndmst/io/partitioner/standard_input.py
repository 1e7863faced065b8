"""Standard input as a file: edges are read twice, and by several processes.

The copy is in a directory beside the output, `NAME.input-work`, with an empty file
whose name is the token of the run (see `partition_run`). The run holds a lock on that
directory (`graph_lock`), so files that it finds there are of a killed run, and it
removes them.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...host.errors import MndmstError
from ..file_access import writing
from ..shards.graph_directory import new_token, no_new_folders
from .builders import LocalBuilders
from .graph_lock import locked
from .partition_run import make_work, read_token, remove_work

NAME = "standard input"
_PIECE = 1 << 20
# First bytes of packed files
_PACKED = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\0": ".xz", b"(\xb5/\xfd": ".zst"}


@contextmanager
def stored(out: Path, format: str | None) -> Iterator[Path]:
    """Copy standard input to a file beside an output, and remove it after the block."""
    # Packed input is known by its first bytes
    source = sys.stdin.buffer
    first = source.read(_PIECE)
    packed = (suffix for mark, suffix in _PACKED.items() if first.startswith(mark))
    place = Path(os.path.realpath(out))
    folder = place.with_name(f"{place.name}.input-work")
    with no_new_folders(place), _own_directory(folder, out) as work:
        path = work / f"input.{format or 'txt'}{next(packed, '')}"
        try:
            with writing(path), path.open("xb") as copy:
                copy.write(first)
                shutil.copyfileobj(source, copy, _PIECE)
            yield path
        except MndmstError as error:
            raise type(error)(str(error).replace(str(path), NAME)) from error


@contextmanager
def _own_directory(work: Path, out: Path) -> Iterator[Path]:
    """Make a directory for this run; remove it after the block."""
    with locked(LocalBuilders(), work, out):
        before, token = read_token(work), new_token()
        if before is not None:
            remove_work(work, before)
        make_work(work, token)
        try:
            yield work
        finally:
            remove_work(work, token)
