"""Options of `mndmst partition`."""

import os
from dataclasses import dataclass
from pathlib import Path

from ...host.errors import ConfigError
from ..edges import MAX_VERTICES


@dataclass(frozen=True)
class Options:
    """Options of `mndmst partition`.

    Attributes
    ----------
    out : Path
        Directory to make.
    parts : int
    memory : int
        Bytes that each process may hold.
    symmetrize : bool
        Accept a file of a format with both directions that lists edges in one only.
    reorder : str
        One of `renumber.ORDERS`.
    overwrite, compress : bool
        As in `Destination` and `ShardWriter`.
    restart : bool
        Continue where a run that was killed has ended, if there is one; a graph that
        the same run has finished stays.
    quiet : bool
        Write nothing to standard error.
    num_vertices : int, optional
        How many vertices there are; by default what the file says, or one more than
        its largest id.
    compact_ids : bool
        Make a graph of the vertices that occur, in the order of their ids.
    """

    out: Path
    parts: int = 1
    memory: int = 1 << 30
    symmetrize: bool = False
    reorder: str = "none"
    overwrite: bool = False
    compress: bool = False
    restart: bool = False
    quiet: bool = False
    num_vertices: int | None = None
    compact_ids: bool = False

    @property
    def place(self) -> Path:
        """The output without links in its path."""
        return Path(os.path.realpath(self.out))

    @property
    def work(self) -> Path:
        """The directory for intermediate files."""
        return self.place.with_name(f"{self.place.name}.partition-work")

    def check(self) -> None:
        """Raise ConfigError for an invalid option."""
        if self.parts < 1:
            raise ConfigError(f"--parts {self.parts}: give 1 or more")
        if not self.place.name:
            raise ConfigError(f"{self.out}: give a directory below it.")
        if not 0 <= (self.num_vertices or 0) <= MAX_VERTICES:
            raise ConfigError(
                f"--num-vertices {self.num_vertices}: give a number from 0 to 2^48."
            )
