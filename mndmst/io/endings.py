"""What the names of outputs end in, which says the format that is written."""

from pathlib import Path
from typing import NamedTuple

from ..host.errors import ConfigError


class Kind(NamedTuple):
    """What an output is written as.

    Attributes
    ----------
    endings : tuple of str
        Of the names that it may have; "" for a name without one.
    advice : str
        How to get it in other formats.
    """

    endings: tuple[str, ...]
    advice: str = ""


FOREST = Kind(
    (".h5", ".hdf5", ""), "mndmst convert makes .json, .parquet and others of a forest"
)
FOREST_OR_TABLE = Kind((*FOREST.endings, ".csv", ".tsv"), FOREST.advice)
LABELS = Kind((".h5", ".hdf5", ".csv", ".tsv", ""))
CLUSTERS = Kind((".h5", ".hdf5", ".csv", ""))
POINTS = Kind((".npy",))
RECORD = Kind((".json", ""))
PICTURE = Kind((".png", ".svg", ".pdf"))
PAGE = Kind((".html", *PICTURE.endings))


def check_ending(path: Path, kind: Kind) -> None:
    """Refuse a name that says another format than the output has.

    Raises
    ------
    ConfigError
        If it does, or says none where one is needed.
    """
    if path.suffix not in kind.endings:
        advice = f"; {kind.advice}" * bool(kind.advice)
        endings = ", ".join(filter(None, kind.endings))
        raise ConfigError(f"{path}: give a name in {endings}{advice}")
