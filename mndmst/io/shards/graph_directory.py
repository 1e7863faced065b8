"""The directory of a graph: names in its files, publishing, replacement.

docs/files.md describes the files. All datasets have Fletcher-32 checksums, and the
files use the HDF5 1.10 layout, whose metadata has checksums too: a flipped byte is an
error, not another graph. Texts have a fixed length, since HDF5 checksums no heap of
variable-length texts.

Files are written under temporary names that carry the token of one run, such as
`part-00000.h5.0123456789abcdef.tmp`, and get their names when all of them are there,
the index last. A graph that is replaced is removed first: its index is renamed to a
name with the token, then its parts are removed, then the index. So a directory that has
an index has a whole graph, and if a run is killed in between, the token names the run
that wrote a file.

Of earlier files, only files of the graph that is replaced are removed: its
index, and the parts that the index lists and whose headers name the same graph.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import h5py

from ...host.errors import OutputError
from ..edge_file import MAX_VERTICES
from ..file_access import (
    MALFORMED,
    count_attribute,
    flush_to_disk,
    open_hdf5,
    read_attribute,
    writing,
)
from ..output_kinds import INDEX_NAME

MADE_FROM = "made-from"
ORIGINAL_VERTICES = "original_vertices"
NAMES = "names"
FIRST_ID = "first_id"
MAXIMUM = "maximum"
GRAPH_FORMAT = "mndmst-graph"
SHARD_FORMAT = "mndmst-shard"
VERSION = 1
_ON_THE_WAY = re.compile(r"(part-\d{5,}|index)\.h5\.[0-9a-f]{16}\.(tmp|old)")


def part_name(part: int) -> str:
    """Return the file name of a part."""
    return f"part-{part:05d}.h5"


def part_of_name(name: str) -> int | None:
    """Return the number of the part with a file name; None for other names."""
    digits = name.removeprefix("part-").removesuffix(".h5")
    if digits.isdecimal() and name == part_name(int(digits)):
        return int(digits)
    return None


def read_first_id(file: h5py.File) -> int:
    """Return the id that a graph or a result keeps for vertex 0; 0 without one.

    Raises ValueError for another value than an integer up to 2^48.
    """
    first = count_attribute(file, FIRST_ID) if FIRST_ID in file.attrs else 0
    if first > MAX_VERTICES:
        raise ValueError(f"attribute {FIRST_ID} is beyond 2^48")
    return first


def new_token() -> str:
    """Return a random token that marks the files of one run."""
    return secrets.token_hex(8)


@dataclass(frozen=True)
class Destination:
    """A directory that a graph is written to."""

    path: Path
    overwrite: bool = False  # replace the graph that is there
    # Distinguishes the files of this run from others
    token: str = field(default_factory=new_token)
    # Of the graph, if a run with this token was killed while it named the files
    uuid: str | None = None

    def temporary(self, name: str) -> Path:
        """Return the path of a file until it gets its name."""
        return self.path / f"{name}.{self.token}.tmp"

    def held(self, name: str) -> Path:
        """Return the present path of a file of this run: temporary or final."""
        return self.path / name if self._is_named_by_run(name) else self.temporary(name)

    def is_finished(self, num_parts: int) -> bool:
        """Return whether a run with this token has given all files their names."""
        names = map(part_name, range(num_parts))
        if self.uuid is None or any(self.temporary(name).exists() for name in names):
            return False
        with suppress(*MALFORMED), open_hdf5(self.path / INDEX_NAME) as file:
            return bool(read_attribute(file, "graph-uuid") == self.uuid)
        return False

    def claim(self, num_parts: int) -> None:
        """Make the directory, or refuse one that holds something else."""
        self.check(num_parts)
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)

    def check(self, num_parts: int) -> None:
        """Refuse a directory that holds something else; change nothing."""
        path = self.path
        with writing(path):
            if path.exists() and not path.is_dir():
                raise OutputError(f"{path}: is a file; give a directory.")
            named = {name for name in self._names() if self._is_named_by_run(name)}
            present = {n for n in self._names() if not _ON_THE_WAY.fullmatch(n)}
        if present - named and not self.overwrite:
            raise OutputError(
                f"{path}: is not empty. Give another directory, or --overwrite (in "
                "Python overwrite=True) to replace the graph in it."
            )
        replaced = self._graph_in(path / INDEX_NAME) | self._graph_in(self._aside)
        # There may be far more parts than files: how many is not looked at yet.
        in_the_way = sorted(
            name
            for name in present - named - replaced
            if name == INDEX_NAME or part_of_name(name) in range(num_parts)
        )
        if in_the_way:
            raise OutputError(
                f"{path / in_the_way[0]}: is in the way, and does not prove to be of "
                f"the graph that {INDEX_NAME} describes, so it is not replaced. Move "
                "it away, or give another directory."
            )

    def publish(self, names: list[str]) -> None:
        """Remove the graph that was there; give files their names, the index last."""
        path, index = self.path, self.path / INDEX_NAME
        with writing(path):
            waiting = [name for name in names if self.temporary(name).exists()]
            for name in waiting:
                flush_to_disk(self.temporary(name))
            if self._graph_in(index) and self.overwrite:
                index.rename(self._aside)
            for old in self._graph_in(self._aside) - {INDEX_NAME}:
                (path / old).unlink(missing_ok=True)
            self._aside.unlink(missing_ok=True)
            for name in waiting:
                if os.path.lexists(path / name):
                    raise OutputError(
                        f"{path / name}: has appeared while the graph was made, and is "
                        "not replaced. Move it away, and make the graph again."
                    )
                self.temporary(name).rename(path / name)
            flush_to_disk(path)

    def abandon(self) -> None:
        """Remove the files of an ended run; an older graph gets its index back."""
        with suppress(OSError):
            for name in self._names():
                if name.endswith(f".{self.token}.tmp") and _ON_THE_WAY.fullmatch(name):
                    (self.path / name).unlink()
            index = self.path / INDEX_NAME
            if self._aside.exists() and not os.path.lexists(index):
                self._aside.rename(index)
            for name in self._names():
                if self._is_named_by_run(name):
                    (self.path / name).unlink()

    @property
    def _aside(self) -> Path:
        """Where the index of the graph lies that is being removed."""
        return self.path / f"{INDEX_NAME}.{self.token}.old"

    def _names(self) -> list[str]:
        return [p.name for p in self.path.iterdir()] if self.path.is_dir() else []

    def _is_named_by_run(self, name: str) -> bool:
        """Return whether a part got its name from a run that ended before the index."""
        if self.uuid is None or (self.path / INDEX_NAME).exists():
            return False
        return not self._aside.exists() and _is_part(self.path / name, self.uuid)

    def _graph_in(self, index: Path) -> set[str]:
        """Return the names of the files of the graph that an index describes."""
        if index.is_symlink():
            return set()
        with suppress(*MALFORMED), open_hdf5(index) as file:
            if read_attribute(file, "format") == GRAPH_FORMAT:
                uuid = read_attribute(file, "graph-uuid")
                listed = {Path(name.decode()).name for name in file["parts"][:]}
                parts = {n for n in listed if _is_part(self.path / n, uuid)}
                return {INDEX_NAME} | parts
        return set()


@contextmanager
def no_new_folders(path: Path) -> Iterator[None]:
    """Remove the folders that a block has made for a path, if it raises an error."""
    # A folder that was there before stays: an empty one may have settings of the system
    made = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    try:
        yield
    except Exception:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        raise


def remove_shards(path: Path) -> None:
    """Remove all shards in a directory, even unfinished, and it, if it is empty."""
    for file in list(path.iterdir()):
        is_shard = file.name == INDEX_NAME or part_of_name(file.name) is not None
        if is_shard or _ON_THE_WAY.fullmatch(file.name):
            file.unlink()
    with suppress(OSError):
        path.rmdir()


def _is_part(path: Path, uuid: object) -> bool:
    """Return whether a file is a part of a graph, and not a link."""
    if path.is_symlink() or not path.is_file():
        return False
    with suppress(*MALFORMED), open_hdf5(path) as file:
        kind, stored = (read_attribute(file, name) for name in ("format", "graph-uuid"))
        return bool(kind == SHARD_FORMAT and stored == uuid)
    return False
